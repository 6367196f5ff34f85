"""Settings of the engine with isolated operators: outages, checkpoints, retention and measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Times are in seconds and rounded up to whole steps."""

    #: how long a rescale stops the query: to more workers, and to fewer or the same number
    outage_up: float = 30.0
    outage_down: float = 30.0
    #: whether the query resumes from a savepoint after a rescale, or else from the last checkpoint
    savepoint: bool = True
    checkpoint: float = 10.0
    #: time until a failure is detected, and from then until the query runs again
    detection: float = 0.0
    restart: float = 30.0
    #: size of the input queue of an operator, in seconds of the input rate of its workers
    buffer: float = 0.5
    #: how long unread records are kept; None means for ever
    retention: float | None = None
    #: time that records wait in windows, and the latency without any queue
    window: float = 0.0
    floor: float = 0.2
    #: minimum CPU share of workers while the query is stopped, and for how many seconds after
    busy_restart: float = 0.0
    busy_restart_time: float = 0.0
    #: how long after a rescale there are no metrics of operators and backlog, for an autoscaler that would be asleep
    asleep: float = 0.0
    #: relative standard deviation of measurements, and of the speed of workers from step to step
    noise: float = 0.02
    work_noise: float = 0.0
    step: float = 1.0

    def __post_init__(self) -> None:
        for name in ("step", "checkpoint"):
            if not 0 < getattr(self, name) < math.inf:
                raise InvalidInput(f"operator settings: need {name} > 0 s, got {getattr(self, name)}")
        for name in (
            "outage_up",
            "outage_down",
            "detection",
            "restart",
            "buffer",
            "window",
            "floor",
            "noise",
            "asleep",
        ):
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidInput(f"operator settings: need {name} >= 0, got {getattr(self, name)}")
