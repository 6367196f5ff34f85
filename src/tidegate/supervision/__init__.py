"""What keeps a live loop going: calls that are waited for only so long, and sinks that run beside it."""
