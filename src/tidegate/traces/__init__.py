"""A user's raw event logs as a workload: records per second, counted by a Spark batch job."""

from tidegate.traces.job import check, trace
from tidegate.traces.request import Request, Span
from tidegate.traces.result import Trace
from tidegate.traces.session import Machine, batch_session, interruptible

__all__ = ["Machine", "Request", "Span", "Trace", "batch_session", "check", "interruptible", "trace"]
