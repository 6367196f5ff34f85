"""The cost model of a micro-batch as a candidate, after the simulator's (`sim.batch_model`).

    batch time = fixed + overhead * W + cost * records * X        W waves, X = 1 / effective slots

The capacity is the rate at which batches last as long as they take to fill. With a limit of L records per trigger of T
seconds, batches at capacity have L records and are `L / rate` long. Without a limit they last T, so that

    rate = speed / X - loss * W / X        speed = (T - fixed) / (T * cost),  loss = overhead / (T * cost)

and from rates alone a fixed time cannot be told from slower slots: `fixed` is then a part of `speed`. Without
partitions W is 1 and X is 1 / slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tidegate.capacity.shapes import bounded_least_squares
from tidegate.core import check, parameter
from tidegate.planner.measurement import Array, Measurement, columns
from tidegate.planner.memory_effect import MemoryEffect
from tidegate.planner.tasks import Tasks


@dataclass(frozen=True, slots=True)
class LimitedBatches:
    """Capacity with a limit per trigger; never more than `limit / trigger`."""

    tasks: Tasks
    trigger: float
    limit: float
    fixed: float
    overhead: float
    cost: float
    memory: MemoryEffect

    def predict(self, slots: float, memory: float) -> float:
        waves, effective = _waves(self.tasks, int(slots))
        duration = self.fixed + self.overhead * waves + self.cost * self.limit / effective
        return self.limit / max(self.trigger, duration / self.memory.factor(memory))


@dataclass(frozen=True, slots=True)
class UnlimitedBatches:
    """Capacity without a limit; 0 where the overhead of the waves alone takes a whole trigger interval."""

    tasks: Tasks
    speed: float
    loss: float
    memory: MemoryEffect

    def predict(self, slots: float, memory: float) -> float:
        waves, effective = _waves(self.tasks, int(slots))
        return max(0.0, (self.speed - self.loss * waves) * effective) * self.memory.factor(memory)


@dataclass(frozen=True, slots=True)
class MicroBatchCandidate:
    """Non-decreasing in slots, up to one slot per partition.

    >>> model = MicroBatchCandidate(Tasks(partitions=12), trigger=10.0)
    >>> fit = model.fit([Measurement(s, 512, 1000.0 * s - 20.0 * 12) for s in (2, 3, 4)])  # 12 tasks of 20 records/s
    >>> round(fit.predict(6, 512), 6), round(fit.predict(11, 512), 6), round(fit.predict(99, 512), 6)
    (5760.0, 5760.0, 11760.0)
    """

    tasks: Tasks = field(default_factory=Tasks)
    trigger: float = parameter(10.0, "s", "interval between triggers", above=0)
    limit: float = parameter(0.0, "records", "limit per trigger; 0: none", least=0)
    name: str = "micro-batch"

    def __post_init__(self) -> None:
        check(self, f"model {self.name}")

    def fit(self, measurements: Sequence[Measurement]) -> LimitedBatches | UnlimitedBatches:
        fit = self._limited if self.limit else self._unlimited
        memory, rate = columns(measurements, purpose=f"model {self.name}")[1:]
        base = fit(measurements, MemoryEffect())
        predicted = np.array([base.predict(m.slots, m.memory) for m in measurements])
        return fit(measurements, MemoryEffect.fit(memory, rate / np.maximum(predicted, 1e-9 * rate)))

    def _limited(self, measurements: Sequence[Measurement], memory: MemoryEffect) -> LimitedBatches:
        waves, effective = self._layout(measurements)
        durations = np.array([self.limit / m.rate * memory.factor(m.memory) for m in measurements])
        terms = np.column_stack([self.limit / effective, waves, np.ones_like(waves)]) / durations[:, None]
        cost, overhead, fixed = bounded_least_squares(terms, np.ones_like(waves))
        return LimitedBatches(self.tasks, self.trigger, self.limit, fixed, overhead, cost, memory)

    def _unlimited(self, measurements: Sequence[Measurement], memory: MemoryEffect) -> UnlimitedBatches:
        waves, effective = self._layout(measurements)
        rates = np.array([m.rate / memory.factor(m.memory) for m in measurements])
        terms = np.column_stack([effective, -waves * effective]) / rates[:, None]
        speed, loss = bounded_least_squares(terms, np.ones_like(waves))
        return UnlimitedBatches(self.tasks, speed, loss, memory)

    def _layout(self, measurements: Sequence[Measurement]) -> tuple[Array, Array]:
        waves, effective = zip(*(_waves(self.tasks, m.slots) for m in measurements), strict=True)
        return np.array(waves, dtype=float), np.array(effective, dtype=float)


def _waves(tasks: Tasks, slots: int) -> tuple[float, float]:
    """Waves per batch and effective slots."""
    return (1.0 if tasks.partitions is None else -(-tasks.partitions // slots)), tasks.effective(slots)
