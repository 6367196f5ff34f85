"""What a query needs beyond a constant rate: for the peak of a trace, to recover from a failure, and what it costs."""
