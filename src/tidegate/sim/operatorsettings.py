"""How an engine of isolated operators stops, starts, keeps and measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Times are seconds, and count in whole steps."""

    #: how long a rescale to more workers, or to fewer or as many, stops the query
    outage_up: float = 30.0
    outage_down: float = 30.0
    #: whether a rescale goes on from a savepoint, else from the last checkpoint
    savepoint: bool = True
    checkpoint: float = 10.0
    #: of a failure: until it is noticed, and from then until the query runs again
    detection: float = 0.0
    restart: float = 30.0
    #: what fits into the queue before an operator, in seconds of what its workers take in
    buffer: float = 0.5
    #: how long records that no source has read are kept; None: for ever
    retention: float | None = None
    #: time that records wait in windows before they come out, and what they need without any queue
    window: float = 0.0
    floor: float = 0.2
    #: CPU share that workers show at least while the query stands and for some seconds after
    busy_restart: float = 0.0
    busy_restart_time: float = 0.0
    #: how long from a rescale on nothing is told of operators and backlog: who sleeps until then would not see it
    asleep: float = 0.0
    #: relative error (standard deviation) of what is measured, and of the workers' pace from step to step
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
