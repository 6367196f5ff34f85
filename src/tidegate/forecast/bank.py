"""Several autoregressions over one history: the flexible members of the chooser."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tidegate.forecast.autoregression import KEPT
from tidegate.forecast.recipe import Recipe
from tidegate.forecast.values import Array, steps_in

#: values up to which all are fitted at every one: in a short history each value teaches much, and fits are cheap
YOUNG = 60
#: Found by rolling forecasts of all named workloads (docs/forecasts.md). Fine grains know a wave after some minutes,
#: coarse ones see through noise; models of changes follow what has no level to return to.
RECIPES = (
    Recipe(order=0, differenced=True),
    Recipe(order=5, differenced=True),
    Recipe(order=8, differenced=True),
    Recipe(order=12, grain=15, differenced=True),
    Recipe(order=16, grain=15, differenced=True),
    Recipe(order=30, grain=15),
    Recipe(order=3, grain=300),
)


@dataclass(slots=True)
class Bank:
    """Recipes are fitted anew once a minute, by turns, so that no step has to wait for all; at first at every value.

    >>> bank = Bank(step=15)
    >>> for k in range(80): bank.learn(100.0 + k)
    >>> bank.paths(60).shape
    (7, 60)
    """

    step: float
    recipes: tuple[Recipe, ...] = RECIPES
    _values: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)
    _seen: int = 0
    _models: list[tuple[float, ...]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._models = [() for _ in self.recipes]

    def learn(self, value: float) -> None:
        self._values.append(value)
        self._seen += 1
        turns = steps_in(60.0, self.step) if self._seen > YOUNG else 1
        values = np.array(self._values)
        for k in range(self._seen % turns, len(self.recipes), turns):
            self._models[k] = self.recipes[k].fit(values, self.step)

    def paths(self, horizon: int) -> Array:
        """A row for each recipe."""
        values = np.array(self._values)
        pairs = zip(self.recipes, self._models, strict=True)
        return np.stack([recipe.path(values, model, self.step, horizon) for recipe, model in pairs])
