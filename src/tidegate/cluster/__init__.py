"""Spark sessions on an embedded or an existing cluster, executors and their processes, CPU quotas."""
