"""Paths held against what came: who of several missed by how much, lately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.forecast.quantiles import LEADS, REACH
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
        due = np.flatnonzero(self.seen > LEADS)
        if due.size:
            errors = np.abs(value - self.paths[(self.seen - LEADS[due]) % REACH, :, due])
            usual = errors.mean(axis=1, keepdims=True)
            row = self.seen % KEPT
            self.losses[row] = (errors / np.sqrt(np.where(usual > 0, usual, 1.0))).sum(axis=0)
            wrong = usual[:, 0] > 0
            shares = errors[wrong, 0] / usual[wrong, 0] / len(self.losses[row])
            self.shares[row] = float(shares.sum()), float(shares.size)
        self.paths[self.seen % REACH] = paths[:, LEADS - 1]

    def weights(self, power: float, part: slice = slice(None)) -> Array:
        """(least loss / loss) ** power of the paths in `part`, to sum to one."""
        losses = self.losses[:, part].sum(axis=0)
        # one that never missed gets all there is, and not more than a number can hold
        floor = max(float(losses.min()), 1e-9 * float(losses.max()))
        raw = (floor / np.maximum(losses, floor)) ** power if floor else np.ones(len(losses))
        return np.asarray(raw / raw.sum())

    def ratio(self) -> float:
        """The first path's share of the errors, times the number of paths; 1 before there are any."""
        total, count = self.shares.sum(axis=0)
        return float(total / count) * self.losses.shape[1] if count else 1.0
