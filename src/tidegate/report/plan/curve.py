"""The numbers of the capacity curve: where it is drawn, what average and laws say there, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tidegate.planner.averaging import AveragedCapacity, Interval
from tidegate.planner.measurement import Measurement
from tidegate.report.plan.page import PlanPage

#: laws of a smaller weight are not drawn
NOTABLE = 0.05
#: numbers of slots at which the curve is known, apart from those that are of interest
POINTS = 64
#: both axes are logarithmic if the chart ends at so many times the measured slots
FAR = 3.0
#: room beyond the last number of slots that is of interest
ROOM = 1.25


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement, with the ends of its interval where they are known. `used` is whether the curve is for it: it has
    the same memory, and does not contradict all others.
    """

    slots: int
    rate: float
    low: float
    high: float
    memory: float
    used: bool


@dataclass(frozen=True, slots=True)
class CapacityCurve:
    """`laws` are medians by the name of the law, the heaviest first."""

    slots: tuple[int, ...]
    average: tuple[Interval, ...]
    laws: Mapping[str, tuple[float, ...]]
    points: tuple[Point, ...]

    @property
    def far(self) -> bool:
        """Whether what is asked is far from what was measured."""
        return self.slots[-1] > FAR * max(point.slots for point in self.points)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and highest rate worth drawing: wide bands are cut, so that measurements are not squeezed."""
        lowest, highest = (f(p for point in self.points for p in (point.low, point.high)) for f in (min, max))
        first, last = self.average[0], self.average[-1]
        return (
            max(min(lowest, first.low), min(lowest, first.median) / 3),
            min(max(highest, last.high), 2 * max(highest, last.median)),
        )

    def at(self, slots: int) -> Interval:
        return self.average[self.slots.index(slots)]


def curve(shown: PlanPage) -> CapacityCurve:
    capacity, slots = shown.capacity, _grid(shown)
    return CapacityCurve(
        slots,
        tuple(capacity.interval(number, shown.memory) for number in slots),
        {name: _law(capacity.under(name), slots, shown.memory) for name in notable(capacity)},
        tuple(_points(shown)),
    )


def notable(capacity: AveragedCapacity) -> tuple[str, ...]:
    """The laws that are drawn."""
    return tuple(weight.law for weight in capacity.weights if weight.weight >= NOTABLE)


def _law(law: AveragedCapacity, slots: tuple[int, ...], memory: float | None) -> tuple[float, ...]:
    return tuple(law.quantile(number, 0.5, memory) for number in slots)


def _grid(shown: PlanPage) -> tuple[int, ...]:
    """In equal ratios; a staircase of waves has both sides of its steps."""
    measured = {point.slots for point in _points(shown)}
    first, last = min(measured), _last(shown)
    grid = {round(number) for number in np.geomspace(first, last, POINTS)} | measured | _steps(shown, first, last)
    asked = {number for number in (shown.slots, shown.answer.reach) if number and first <= number <= last}
    return tuple(sorted(grid | asked | {first, last}))


def _last(shown: PlanPage) -> int:
    """The number of slots at which the chart ends: a little beyond what is needed, as far as that is known."""
    interval, capacity = shown.answer.interval, shown.capacity
    needed = next((bound for bound in (interval.high, interval.median, interval.low) if bound is not None), None)
    if needed is None:
        needed = int(min(shown.rules.farthest * capacity.largest, capacity.tasks.most))
    return math.ceil(ROOM * max(needed, shown.slots or 0, capacity.largest, *(p.slots for p in _points(shown))))


def _steps(shown: PlanPage, first: int, last: int) -> set[int]:
    """Where one wave less is enough, and the number before."""
    partitions = shown.capacity.tasks.partitions
    if partitions is None:
        return set()
    # beyond as many steps as the curve has points they are too small to be seen
    enough = {math.ceil(partitions / waves) for waves in range(1, POINTS)}
    return {number for step in enough for number in (step - 1, step) if first <= number <= last}


def _points(shown: PlanPage) -> Iterator[Point]:
    """Those of the exploration, which have intervals, then others that the capacity was learnt from."""
    others = [*shown.capacity.measurements, *shown.capacity.left_out]
    for probe in shown.exploration.probes:
        if probe.rate is None:
            continue
        measurement = Measurement(probe.slots, probe.memory, probe.rate)
        if measurement in others:
            others.remove(measurement)
        low, high = (probe.rate if end is None else end for end in (probe.low, probe.high))
        yield Point(probe.slots, probe.rate, low, high, probe.memory, _used(measurement, shown))
    for m in others:
        yield Point(m.slots, m.rate, m.rate, m.rate, m.memory, _used(m, shown))


def _used(measurement: Measurement, shown: PlanPage) -> bool:
    return measurement not in shown.capacity.left_out and math.isclose(measurement.memory, shown.at_memory)
