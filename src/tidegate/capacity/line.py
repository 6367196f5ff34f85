"""Linear regression with exponentially decaying weights and a prior towards a line through the origin.

Ordinary least squares on a minute of constant CPU has no slope, or an arbitrary one. Daedalus' released code avoids
this by accident: its first batch is fitted through the origin, and that fit decays as 1 / batches. Here it is explicit.
For n points with means x̄, ȳ and centred moments Sxx, Sxy, and the slope through the origin b₀ = Σxy / Σx²,

    slope = (Sxy + m v b₀) / (Sxx + m v),    line(x) = ȳ + slope (x - x̄)

The prior counts as m points with variance v: with constant CPU the line passes through the origin, and with CPU that
has varied by much more than √v it is ordinary least squares.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FadingLine:
    """`half_life` is in the units of `time`; 0 disables the decay.

    >>> line = FadingLine(points=0)
    >>> for x in (0.2, 0.4, 0.6): line.update(0, x, 100 * x - 5)
    >>> round(line.at(1.0), 6)
    95.0
    >>> flat = FadingLine()
    >>> for _ in range(60): flat.update(0, 0.5, 40)
    >>> flat.at(1.0)  # 40 / 0.5: through the origin
    80.0
    """

    half_life: float = 0.0
    #: m and v of the prior
    points: float = 5.0
    variance: float = 0.0025
    #: sum of weights, weighted means, and weighted centred moments
    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    time: float = 0.0

    def update(self, time: float, x: float, y: float) -> None:
        if self.half_life > 0 and self.weight > 0:
            decay = 0.5 ** (max(0.0, time - self.time) / self.half_life)
            self.weight, self.xx, self.xy = self.weight * decay, self.xx * decay, self.xy * decay
        self.time = time
        self.weight += 1
        deviation = x - self.x
        self.x += deviation / self.weight
        self.y += (y - self.y) / self.weight
        self.xx += deviation * (x - self.x)
        self.xy += deviation * (y - self.y)

    def at(self, x: float) -> float | None:
        """None before the first point with x > 0."""
        squares = self.xx + self.weight * self.x**2
        if squares <= 0:
            return None
        through_origin = (self.xy + self.weight * self.x * self.y) / squares
        prior = self.points * self.variance
        spread = self.xx + prior
        slope = (self.xy + prior * through_origin) / spread if spread > 0 else through_origin
        return self.y + slope * (x - self.x)
