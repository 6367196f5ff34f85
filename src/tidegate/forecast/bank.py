"""Several autoregressions over one history: the flexible members of the chooser."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.forecast.autoregression import KEPT
from tidegate.forecast.recipe import Past, Recipe
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
    _values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    _seen: int = 0
    _models: list[tuple[float, ...]] = field(default_factory=list, repr=False)
    #: the values that pasts were made of, and these by grain and differencing; follows from the values
    memo: tuple[Array, dict[tuple[float, bool], Past]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._models = [() for _ in self.recipes]

    def learn(self, value: float) -> None:
        self._values = np.concatenate((self._values[1 - KEPT :], (value,)))
        self._seen += 1
        turns = steps_in(60.0, self.step) if self._seen > YOUNG else 1
        for k in range(self._seen % turns, len(self.recipes), turns):
            self._models[k] = self.recipes[k].fit_to(self._past(self.recipes[k]))

    def paths(self, horizon: int) -> Array:
        """A row for each recipe."""
        pairs = zip(self.recipes, self._models, strict=True)
        return np.stack([recipe.path_from(self._past(recipe), model, horizon) for recipe, model in pairs])

    def _past(self, recipe: Recipe) -> Past:
        """Recipes of one grain share it."""
        if self.memo is None or self.memo[0] is not self._values:
            self.memo = self._values, {}
        made, kind = self.memo[1], (recipe.grain, recipe.differenced)
        if kind not in made:
            made[kind] = recipe.past(self._values, self.step)
        return made[kind]
