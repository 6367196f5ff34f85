"""Counter-based random numbers: draw *d* of record *i* depends only on *i*, *d* and the seed.

SplitMix64 (Steele, Lea, Flood 2014) over a counter. All functions are vectorised.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]
#: start of event time for all records, in epoch seconds: 2015-07-15T00:00:00Z, as in Apache Beam
START = 1_436_918_400
#: increment of the counter
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(x: Numbers) -> Numbers:
    """SplitMix64's finaliser: every bit of the result depends on every bit of x.

    >>> int(mix(np.array([0x9E3779B97F4A7C15], dtype=np.uint64))[0]) == 0xE220A8397B1DCDAF  # first output for seed 0
    True
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def zipf(size: int, exponent: float) -> npt.NDArray[np.float64]:
    """Cumulative distribution of Zipf's law by rank. A uniform number selects the first rank whose share exceeds it.

    >>> [round(float(share), 3) for share in zipf(3, 1.0)]  # 1, 1/2 and 1/3 of 11/6
    [0.545, 0.818, 1.0]
    """
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    shares: npt.NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    shares[-1] = 1.0  # despite rounding
    return shares


class Draws:
    """The draws of an array of records, up to `width` per record."""

    def __init__(self, records: npt.NDArray[np.int64], seed: int, width: int = 16) -> None:
        mixed = mix(np.array([seed % 2**64], dtype=np.uint64))[0]
        self._base = GOLDEN * (records.astype(np.uint64) * np.uint64(width)) + mixed

    def bits(self, draw: int) -> Numbers:
        return mix(self._base + np.uint64(int(GOLDEN) * draw % 2**64))

    def below(self, draw: int, bound: int | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Uniform integers in `[0, bound)`, bound < 2**32."""
        high = self.bits(draw) >> np.uint64(32)
        return ((high * np.asarray(bound).astype(np.uint64)) >> np.uint64(32)).astype(np.int64)

    def unit(self, draw: int) -> npt.NDArray[np.float64]:
        """Uniform in `[0, 1)`."""
        return (self.bits(draw) >> np.uint64(11)).astype(np.float64) * 2.0**-53
