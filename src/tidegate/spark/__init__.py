"""A running Spark query as an engine: progress reports, executor metrics, and scaling of executors."""
