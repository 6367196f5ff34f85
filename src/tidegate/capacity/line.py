"""A straight line through points that fade, held by a prior where they do not say enough.

Textbook least squares on one minute of constant CPU has no slope, or a wild one. Daedalus' released code has an
accident instead (its first batch is a line through the origin, which is forgotten as 1/batches); here it is a rule.
With n points of means x̄, ȳ and moments Sxx, Sxy about them, and b₀ = Σxy / Σx² the slope through the origin,

    slope = (Sxy + m v b₀) / (Sxx + m v),    line(x) = ȳ + slope (x - x̄)

so that m points of variance v speak for the origin: with flat CPU the line goes through it, with CPU that has moved
much more than √v it is least squares.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FadingLine:
    """`half_life` is in the units of `time`; 0 never forgets.

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
    #: m of the prior, and the variance v
    points: float = 5.0
    variance: float = 0.0025
    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    time: float = 0.0

    def update(self, time: float, x: float, y: float) -> None:
        if self.half_life > 0 and self.weight > 0:
            kept = 0.5 ** (max(0.0, time - self.time) / self.half_life)
            self.weight, self.xx, self.xy = self.weight * kept, self.xx * kept, self.xy * kept
        self.time = time
        self.weight += 1
        away = x - self.x
        self.x += away / self.weight
        self.y += (y - self.y) / self.weight
        self.xx += away * (x - self.x)
        self.xy += away * (y - self.y)

    def at(self, x: float) -> float | None:
        """None before there is a point with x > 0: nothing to draw a line through."""
        squares = self.xx + self.weight * self.x**2
        if squares <= 0:
            return None
        through_origin = (self.xy + self.weight * self.x * self.y) / squares
        prior = self.points * self.variance
        spread = self.xx + prior
        slope = (self.xy + prior * through_origin) / spread if spread > 0 else through_origin
        return self.y + slope * (x - self.x)
