"""Where a query's records come from: the embedded source, and Kafka topics."""
