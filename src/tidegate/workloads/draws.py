"""Java's random numbers, so that the patterns of generators written in Java are reproduced exactly."""

from __future__ import annotations

MASK = (1 << 48) - 1
MULTIPLIER = 0x5DEECE66D


class JavaRandom:
    """`java.util.Random`: a 48-bit linear congruential generator, as specified in its API documentation.

    >>> draws = JavaRandom(42)
    >>> draws.double(), draws.double()
    (0.7275636800328681, 0.6832234717598454)
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ MULTIPLIER) & MASK

    def double(self) -> float:
        """`nextDouble`: uniform in [0, 1), 53 bits from two steps."""
        return float(((self._bits(26) << 27) + self._bits(27)) / (1 << 53))

    def _bits(self, count: int) -> int:
        self._state = (self._state * MULTIPLIER + 0xB) & MASK
        return self._state >> (48 - count)
