"""Tidegate: the executors a Spark streaming query needs, and no more."""

__version__ = "0.1.0"
