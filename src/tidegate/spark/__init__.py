"""A running Spark query as an engine: what its reports and its executors say, and how its executors are changed."""
