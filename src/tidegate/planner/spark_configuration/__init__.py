"""What slots mean on Spark: executors, memory, partitions, limit and trigger, from figures of a small run."""
