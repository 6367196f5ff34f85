"""Is the streamed result right? Sinks that keep what the check needs, fingerprints, revisions of updated rows."""
