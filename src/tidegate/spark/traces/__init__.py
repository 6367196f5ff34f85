"""A user's raw event logs as a workload: records per second, counted by a Spark batch job."""

from tidegate.spark.traces.job import check, trace
from tidegate.spark.traces.request import Request, Span
from tidegate.spark.traces.result import Trace
from tidegate.spark.traces.session import Machine, batch_session, interruptible

__all__ = ["Machine", "Request", "Span", "Trace", "batch_session", "check", "interruptible", "trace"]
