"""Spark as an engine: sessions, observations, executors, the embedded source, and attaching to a user's own query."""

from tidegate.spark.attach import Attachment, attach

__all__ = ["Attachment", "attach"]
