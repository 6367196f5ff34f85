"""Sources of a query's records: the embedded source and Kafka topics."""
