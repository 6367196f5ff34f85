"""Paths held against what came: who of several missed by how much, lately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.forecast.quantiles import EACH, LEADS, REACH, leads_before
from tidegate.forecast.values import Array

#: values over which errors count: half an hour of 15 s
KEPT = 120


@dataclass(slots=True)
class Judge:
    """The errors of several paths at the same leads.

    >>> judge = Judge.of(2)
    >>> for value in (1.0, 1.0): judge.update(value, np.array([[1.25] * 60, [2.0] * 60]))
    >>> judge.weights(power=1).tolist()  # errors 0.25 and 1.0: one to four
    [0.8, 0.2]
    >>> judge.ratio()  # 2 * 0.25 / (0.25 + 1.0)
    0.4
    """

    seen: int
    #: the last paths at the leads: step, path, lead
    paths: Array
    #: of each of the last values: what each path lost
    losses: Array
    #: of each of the last values: sum of the first path's shares of the errors of all, and how many
    shares: Array

    @classmethod
    def of(cls, count: int) -> Judge:
        return cls(0, np.zeros((REACH, count, len(LEADS))), np.zeros((KEPT, count)), np.zeros((KEPT, 2)))

    def update(self, value: float, paths: Array) -> None:
        """A value, and the paths that were drawn after it, `REACH` steps long."""
        self.seen += 1
        due = leads_before(self.seen)
        if due:
            errors = np.abs(value - self.paths[(self.seen - LEADS[:due]) % REACH, :, EACH[:due]])
            usual = np.add.reduce(errors, axis=1) / errors.shape[1]
            wrong = usual > 0
            usual[~wrong] = 1.0  # where nobody erred nobody has a share
            row = self.seen % KEPT
            self.losses[row] = np.add.reduce(errors / np.sqrt(usual)[:, None], axis=0)
            shares = errors[:, 0] / usual / errors.shape[1]
            self.shares[row] = np.add.reduce(shares), np.count_nonzero(wrong)
        self.paths[self.seen % REACH] = paths[:, LEADS - 1]

    def weights(self, power: float, part: slice = slice(None)) -> Array:
        """(least loss / loss) ** power of the paths in `part`, to sum to one."""
        losses = np.add.reduce(self.losses[:, part], axis=0)
        # one that never missed gets all there is, and not more than a number can hold
        floor = max(float(np.minimum.reduce(losses)), 1e-9 * float(np.maximum.reduce(losses)))
        raw = (floor / np.maximum(losses, floor)) ** power if floor else np.ones(len(losses))
        return np.asarray(raw / np.add.reduce(raw))

    def ratio(self) -> float:
        """The first path's share of the errors, times the number of paths; 1 before there are any."""
        total, count = np.add.reduce(self.shares, axis=0).tolist()
        return total / count * self.losses.shape[1] if count else 1.0
