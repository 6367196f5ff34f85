"""Types, protocols and errors that every room shares; stdlib only."""

from tidegate.core.errors import (
    EnvironmentMissing,
    InvalidInput,
    InvalidLimits,
    QueryEnded,
    QueryFailed,
    TidegateError,
    UnknownName,
)
from tidegate.core.model import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    Limits,
    Observation,
    OperatorSample,
    Step,
    Tick,
    hold,
)
from tidegate.core.ports import Clock, Engine, Guard, Policy, Workload

__all__ = [
    "Batch",
    "Clock",
    "Decision",
    "Engine",
    "EnvironmentMissing",
    "Event",
    "ExecutorSample",
    "Guard",
    "InvalidInput",
    "InvalidLimits",
    "Limits",
    "Observation",
    "OperatorSample",
    "Policy",
    "QueryEnded",
    "QueryFailed",
    "Step",
    "Tick",
    "TidegateError",
    "UnknownName",
    "Workload",
    "hold",
]
