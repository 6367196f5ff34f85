"""Verification of streamed results: sinks that keep what is needed, fingerprints, and revisions of updated rows."""
