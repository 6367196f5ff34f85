"""Workload traces from raw event logs: records per second, counted by a Spark batch job.

The package itself imports no Spark. `job.build_trace` counts, in a session from `session.batch_session`.
"""

from tidegate.traces.request import Request, Span
from tidegate.traces.result import Trace

__all__ = ["Request", "Span", "Trace"]
