"""Spark itself: sessions on an embedded or a given cluster, its executors and their processes, CPU quotas."""
