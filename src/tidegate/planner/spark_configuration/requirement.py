"""What a configuration is planned for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import InvalidInput
from tidegate.planner.spark_configuration.memory import Provider

_POSITIVE = ("rate", "capacity", "slo", "least_rate")
_WHOLE = ("slots", "cores", "source_partitions", "state_partitions", "peak_slots")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A rate in records/s and the slots that are planned for it.

    >>> Requirement(rate=1e5, slots=0)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: Spark configuration: need a whole number of slots >= 1, got 0
    """

    rate: float
    slots: int
    #: lower bound of what the slots can do; the rate if it is not known
    capacity: float | None = None
    #: latency of a record, at most
    slo: float | None = None
    #: of an executor; those of the testbed if not given
    cores: int | None = None
    #: of the source, if they are what they are; they are planned if not given
    source_partitions: int | None = None
    #: of state, if they are fixed or a trial has chosen them; they are planned if not given
    state_partitions: int | None = None
    #: the lowest rate to which the query is scaled in
    least_rate: float | None = None
    #: slots at the peak that the query may grow to; by `growth` of the rules if not given
    peak_slots: int | None = None
    #: heap that was enough in the run, bytes
    heap: float = 0.0
    #: where the query of the run had its state
    provider: Provider = Provider.ROCKSDB

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"Spark configuration: need a finite {name} > 0, got {value:g}")
        for name in _WHOLE:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value != int(value) or value < 1):
                raise InvalidInput(f"Spark configuration: need a whole number of {name} >= 1, got {value}")
        if not (math.isfinite(self.heap) and self.heap >= 0):
            raise InvalidInput(f"Spark configuration: need a finite heap >= 0 bytes, got {self.heap:g}")
