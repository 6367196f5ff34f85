"""Profiling runs: what a job can take in and how long records take, for policies that must know first."""
