"""StreamBed's three models (DEBS'24, equations 6 to 8): a transform of slots and of memory, by ordinary least squares.

    a * g(memory) + b * g(slots) + c = rate        g = identity, logarithm or square root

The paper's logarithm is `LOGARITHM`; the released code takes log(1 + x), which is `LOG1P`. Rates are in their natural
scale, so large rates weigh most. With a single amount of memory its term is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tidegate.planner.measurement import Array, Measurement, columns

Transform = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class LeastSquaresFit:
    """Monotone in slots, increasing or decreasing as the sign of the coefficient `slots` says."""

    transform: Transform
    slots: float
    intercept: float
    memory: float

    def predict(self, slots: float, memory: float) -> float:
        slot_term, memory_term = self.transform(np.array([slots, memory], dtype=float))
        return float(self.slots * slot_term + self.memory * memory_term + self.intercept)


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """
    >>> points = [Measurement(s, m, 100.0 * s + 2.0 * m - 50.0) for s in (2, 8) for m in (1, 4)]
    >>> fit = LINEAR.fit(points)
    >>> round(fit.slots, 6), round(fit.memory, 6), round(fit.intercept, 6), round(fit.predict(100, 4), 6)
    (100.0, 2.0, -50.0, 9958.0)
    """

    name: str
    transform: Transform

    def fit(self, measurements: Sequence[Measurement]) -> LeastSquaresFit:
        """With fewer distinct points than coefficients: of all exact fits, the one with the smallest coefficients."""
        slots, memory, rate = columns(measurements, purpose=f"model {self.name}")
        terms = [self.transform(slots), np.ones_like(slots)]
        with_memory = len(set(memory.tolist())) > 1
        if with_memory:
            terms.append(self.transform(memory))
        coefficients = np.linalg.lstsq(np.column_stack(terms), rate, rcond=None)[0].tolist()
        return LeastSquaresFit(self.transform, *coefficients, *([] if with_memory else [0.0]))


def _identity(x: Array) -> Array:
    return x


LINEAR = LeastSquares("linear", _identity)
LOGARITHM = LeastSquares("logarithm", np.log)
LOG1P = LeastSquares("log1p", np.log1p)
SQUARE_ROOT = LeastSquares("square root", np.sqrt)

#: the candidates of the paper, and of the released code
PAPER = (LINEAR, LOGARITHM, SQUARE_ROOT)
RELEASED = (LINEAR, LOG1P, SQUARE_ROOT)
