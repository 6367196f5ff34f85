"""Any workload, made uneven."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tidegate.core import InvalidInput
from tidegate.workloads.draws import JavaRandom
from tidegate.workloads.shape import Array, Change, Index, Shape

#: most stretches of one factor: a day in seconds; longer runs have longer ones
MOST = 86_400


@dataclass(frozen=True)
class Noisy(Shape):
    """The rate of `of`, times a factor that is drawn anew for every second from `1 - share` to `1 + share`.

    The same seed gives the same noise. The integral stays exact: factors are constant within their second.

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
        if self.duration != self.of.duration:
            raise InvalidInput(f"workload noisy: lasts {self.duration} s, what it is made of {self.of.duration} s")
        Shape.__post_init__(self)

    def lowest(self) -> float:
        return self.of.lowest() * (1 - self.share)

    def highest(self) -> float:
        return self.of.highest()

    @cached_property
    def _factors(self) -> Array:
        draws = JavaRandom(self.seed)
        count = min(max(round(self.duration), 1), MOST)
        return np.array([1 + self.share * (2 * draws.double() - 1) for _ in range(count)])

    @cached_property
    def _edges(self) -> Array:
        return np.arange(len(self._factors) + 1) * self.duration / len(self._factors)

    @cached_property
    def _calm(self) -> Array:
        """What the pattern without noise has offered at the edges."""
        return self.of.integrals(self._edges)

    @cached_property
    def _sums(self) -> Array:
        return np.concatenate(([0.0], np.cumsum(self._factors * np.diff(self._calm))))

    def _second(self, times: Array) -> Index:
        found = np.searchsorted(self._edges, times, side="right") - 1
        return np.minimum(found, len(self._factors) - 1)

    def _rates(self, times: Array) -> Array:
        return np.asarray(self.of.rates(times) * self._factors[self._second(times)])

    def _integrals(self, times: Array) -> Array:
        k = self._second(times)
        inside = self._sums[k] + self._factors[k] * (self.of.integrals(times) - self._calm[k])
        return np.asarray(np.minimum(inside, self._sums[k + 1]))

    def _times(self, amounts: Array) -> Array:
        k = np.maximum(np.searchsorted(self._sums, amounts, side="left") - 1, 0)
        factors = np.maximum(self._factors[k], np.finfo(float).tiny)
        calm = np.clip(self._calm[k] + (amounts - self._sums[k]) / factors, self._calm[k], self._calm[k + 1])
        return np.clip(self.of._times(calm), self._edges[k], self._edges[k + 1])

    def _resized(self, duration: float, change: Change) -> Self:
        return type(self)(duration, self.of._resized(duration, change), self.seed, self.share)
