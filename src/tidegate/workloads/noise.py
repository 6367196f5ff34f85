"""A workload with random noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tidegate.core import InvalidInput
from tidegate.workloads.draws import JavaRandom
from tidegate.workloads.shape import Array, Index, RateChange, Shape

#: largest number of noise factors: one per second of a day; in longer workloads each factor lasts longer
MAX_FACTORS = 86_400


@dataclass(frozen=True)
class Noisy(Shape):
    """The rate of `of`, multiplied by a random factor between `1 - share` and `1 + share` for each second.

    The same seed gives the same noise. The integral stays exact, because each factor is constant within its second.

    >>> from tidegate.workloads import Constant
    >>> noisy = Constant(duration=3, level=100).noisy(seed=42, share=0.1)
    >>> [round(noisy.rate(second), 2) for second in range(3)], noisy.total(3)  # 104.55 + 103.66 + 96.18
    ([104.55, 103.66, 96.17], 304)
    """

    of: Shape
    seed: int
    share: float
    kind: ClassVar[str] = "noisy"

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InvalidInput(f"workload {self.of.kind}: need 0 <= noise <= 1, a share of the rate, got {self.share}")
        if not isinstance(self.seed, int):
            raise InvalidInput(f"workload noisy: need a whole number as seed, got {self.seed}")
        if self.duration != self.of.duration:
            raise InvalidInput(
                f"workload noisy: its duration is {self.duration} s, that of its pattern {self.of.duration} s"
            )
        Shape.__post_init__(self)

    def lowest(self) -> float:
        return self.of.lowest() * (1 - self.share)

    def highest(self) -> float:
        return self.of.highest()

    @cached_property
    def _factors(self) -> Array:
        draws = JavaRandom(self.seed)
        count = min(max(round(self.duration), 1), MAX_FACTORS)
        return np.array([1 + self.share * (2 * draws.double() - 1) for _ in range(count)])

    @cached_property
    def _edges(self) -> Array:
        return np.arange(len(self._factors) + 1) * self.duration / len(self._factors)

    @cached_property
    def _pattern_sums(self) -> Array:
        """The integral of the pattern without noise at the edges."""
        return self.of.integrals(self._edges)

    @cached_property
    def _sums(self) -> Array:
        return np.concatenate(([0.0], np.cumsum(self._factors * np.diff(self._pattern_sums))))

    def _second(self, times: Array) -> Index:
        index = np.searchsorted(self._edges, times, side="right") - 1
        return np.minimum(index, len(self._factors) - 1)

    def _rates(self, times: Array) -> Array:
        return np.asarray(self.of.rates(times) * self._factors[self._second(times)])

    def _integrals(self, times: Array) -> Array:
        k = self._second(times)
        inside = self._sums[k] + self._factors[k] * (self.of.integrals(times) - self._pattern_sums[k])
        return np.asarray(np.minimum(inside, self._sums[k + 1]))

    def _times(self, amounts: Array) -> Array:
        k = np.maximum(np.searchsorted(self._sums, amounts, side="left") - 1, 0)
        factors = np.maximum(self._factors[k], np.finfo(float).tiny)
        low, high = self._pattern_sums[k], self._pattern_sums[k + 1]
        pattern_amounts = np.clip(low + (amounts - self._sums[k]) / factors, low, high)
        return np.clip(self.of._times(pattern_amounts), self._edges[k], self._edges[k + 1])

    def _resized(self, duration: float, change: RateChange) -> Self:
        return type(self)(duration, self.of._resized(duration, change), self.seed, self.share)
