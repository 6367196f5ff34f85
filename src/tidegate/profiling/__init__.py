"""Profiling runs: throughput and latency of a job, for policies that need a profile in advance."""
