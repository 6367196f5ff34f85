"""Capacity as an average over laws, weighted by how well each predicted the measurements, with intervals.

A single winner hides the doubt that matters most: fitted to the same measurements, StreamBed's models differ by a
factor of five at the target. Here every law (`laws`), with every shape, is weighted by its evidence (`evidence`), and a
prediction is the mixture of what they say. It contains the disagreement between laws, the uncertainty of shape, level
and memory, and the noise, which is estimated as well. No random numbers are involved.

All predictions are non-decreasing in slots, at every probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidegate.core import UnknownName
from tidegate.planner.evidence import Beliefs, Evidence, Unevenness
from tidegate.planner.laws import LAWS, Ends, Law
from tidegate.planner.measurement import Measurement, columns
from tidegate.planner.mixture import Mixture
from tidegate.planner.outliers import contradictions
from tidegate.planner.posterior import LawPosterior, normalised, posterior
from tidegate.planner.tasks import Tasks

#: probability of all intervals
LEVEL = 0.90


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the bounds that it is within with a probability of 90 %."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class SlotsInterval:
    """Like `Interval`; None is more than any number of slots in question."""

    low: int | None
    median: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class LawWeight:
    law: str
    weight: float


@dataclass(frozen=True, slots=True)
class AveragedCapacity:
    """Made by `average`. Where `memory` is None, it is the largest that was measured.

    >>> capacity = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])
    >>> capacity.weights[0].law, round(capacity.weights[0].weight, 2)
    ('proportional', 0.93)
    >>> interval = capacity.interval(64)
    >>> 60_000 < interval.low < interval.median < interval.high < 66_000
    True
    >>> capacity.slots_for(64_000, level=0.5), capacity.slots_for(64_000, level=0.95)
    (65, 67)
    """

    measurements: tuple[Measurement, ...]
    #: contradict all others (`outliers`)
    left_out: tuple[Measurement, ...]
    tasks: Tasks
    beliefs: Beliefs
    laws: tuple[Law, ...]
    _ends: Ends
    _freedom: float
    _posteriors: tuple[LawPosterior, ...]

    @property
    def largest(self) -> int:
        """The largest measured number of slots."""
        return max(m.slots for m in self.measurements)

    @property
    def memory(self) -> float:
        return max(m.memory for m in self.measurements)

    @property
    def weights(self) -> tuple[LawWeight, ...]:
        """Of each law, the heaviest first."""
        names = dict.fromkeys(law.name for law in self.laws)
        sums = {
            name: math.fsum(float(p.weights.sum()) for p in self._posteriors if p.law.name == name) for name in names
        }
        return tuple(
            LawWeight(name, round(weight, 4)) for name, weight in sorted(sums.items(), key=lambda pair: -pair[1])
        )

    @property
    def noise(self) -> float:
        """Relative standard deviation of a measurement around the laws, unevenness included."""
        return math.sqrt(math.fsum(float(p.weights @ p.scatter) for p in self._posteriors))

    def probability(self, slots: int, rate: float, memory: float | None = None) -> float:
        """That the capacity is at least `rate`."""
        return self._holds(self.tasks.effective(slots), rate, memory)

    def quantile(self, slots: int, level: float, memory: float | None = None) -> float:
        """The rate that the capacity is below with a probability of `level`."""
        return math.exp(self._mixture(self.tasks.effective(slots), memory).quantile(level))

    def interval(self, slots: int, memory: float | None = None) -> Interval:
        mixture = self._mixture(self.tasks.effective(slots), memory)
        return Interval(*(math.exp(mixture.quantile(level)) for level in ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)))

    def slots_for(self, rate: float, level: float, memory: float | None = None, most: float = math.inf) -> int | None:
        """The smallest number of slots that holds `rate` with a probability of `level`; None beyond `most`."""
        most = min(most, self.tasks.most, 1e9)
        return _smallest(lambda slots: self.probability(slots, rate, memory) >= level, int(most))

    def effective_for(self, rate: float, level: float, memory: float | None = None, most: float = 1e9) -> int | None:
        """Like `slots_for`, had the stages as many tasks as wanted."""
        return _smallest(lambda effective: self._holds(float(effective), rate, memory) >= level, int(most))

    def slots_interval(self, rate: float, memory: float | None = None, most: float = math.inf) -> SlotsInterval:
        """The smallest number of slots that holds `rate`."""
        levels = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
        return SlotsInterval(*(self.slots_for(rate, level, memory, most) for level in levels))

    def outcomes(self, slots: int, levels: Sequence[float], memory: float | None = None) -> list[float]:
        """Quantiles of what another measurement would be."""
        mixture = self._mixture(self.tasks.effective(slots), memory)
        scatter = np.concatenate([p.scatter for p in self._posteriors])
        measured = replace(mixture, scales=np.sqrt(mixture.scales**2 + scatter))
        return [math.exp(measured.quantile(level)) for level in levels]

    def under(self, law: str) -> AveragedCapacity:
        """As if only one of the laws could be true; raises `UnknownName` for a law without any weight.

        >>> capacity = average([Measurement(s, 512, 1000.0 * s) for s in (1, 2, 4, 8, 16, 32)])
        >>> capacity.under("usl").quantile(1000, 0.05) < 0.8 * capacity.quantile(1000, 0.05)
        True
        """
        posteriors = [p for p in self._posteriors if p.law.name == law]
        if not posteriors:
            raise UnknownName("law", law, {p.law.name for p in self._posteriors})
        total = math.fsum(float(p.weights.sum()) for p in posteriors)
        alone = tuple(replace(p, weights=p.weights / total) for p in posteriors)
        return replace(self, laws=tuple(p.law for p in posteriors), _posteriors=alone)

    def with_measurement(self, measurement: Measurement) -> AveragedCapacity:
        return average([*self.measurements, *self.left_out, measurement], self.tasks, self.beliefs, self.laws)

    def _holds(self, effective: float, rate: float, memory: float | None) -> float:
        return self._mixture(effective, memory).above(math.log(rate))

    def _mixture(self, effective: float, memory: float | None) -> Mixture:
        """Of the logarithm of capacity."""
        terms = np.array([1.0, 0.0 if memory is None else math.log2(memory / self.memory)])
        at = np.array([effective])
        curves = [p.law.curve(p.shapes, at, self._ends)[:, 0] + p.coefficients @ terms for p in self._posteriors]
        scales = [np.sqrt(terms @ p.covariances @ terms) for p in self._posteriors]
        weights = np.concatenate([p.weights for p in self._posteriors])
        return Mixture(np.concatenate(curves), np.concatenate(scales), weights, self._freedom)


def average(
    measurements: Sequence[Measurement],
    tasks: Tasks | None = None,
    beliefs: Beliefs | None = None,
    laws: Sequence[Law] = LAWS,
) -> AveragedCapacity:
    """Learn from at least one measurement. With few, or with slots close together, intervals are as wide as they must.

    >>> average([Measurement(8, 512, 1000.0)]).interval(512).high > 20 * 1000
    True
    """
    columns(measurements, purpose="averaged capacity")
    tasks, beliefs = tasks or Tasks(), beliefs or Beliefs()
    outliers = contradictions(measurements)
    consistent = [m for k, m in enumerate(measurements) if k not in outliers]
    slots, memory, rate = columns(consistent)
    effective = np.array([tasks.effective(m.slots) for m in consistent])
    ends = Ends.of(effective)
    reference = np.log2(memory / memory.max())
    evidences = [
        Evidence.of(np.log(rate), slots, reference, beliefs, Unevenness(*believed)) for believed in beliefs.unevenness
    ]
    return AveragedCapacity(
        measurements=tuple(consistent),
        left_out=tuple(measurements[k] for k in outliers),
        tasks=tasks,
        beliefs=beliefs,
        laws=tuple(laws),
        _ends=ends,
        _freedom=evidences[0].freedom,
        _posteriors=normalised([posterior(law, ends, effective, evidences) for law in laws]),
    )


def _smallest(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 to `most` for which `holds`, which must not become false again."""
    low, high = 0, 1
    while not holds(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
