"""Recent errors of competing paths, and the weights that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.forecast.quantiles import LEAD_INDICES, LEADS, MAX_LEAD, scorable_leads
from tidegate.forecast.values import Array

#: values over which losses are summed: half an hour of 15 s steps
VALUES_KEPT = 120


@dataclass(slots=True)
class ErrorTracker:
    """Errors of several paths at the same leads.

    >>> tracker = ErrorTracker.of(2)
    >>> for value in (1.0, 1.0): tracker.update(value, np.array([[1.25] * 60, [2.0] * 60]))
    >>> tracker.weights(power=1).tolist()  # errors 0.25 and 1.0: four to one
    [0.8, 0.2]
    >>> tracker.ratio()  # 2 * 0.25 / (0.25 + 1.0)
    0.4
    """

    seen: int
    #: ring buffer of the latest paths at the leads: step, path, lead
    paths: Array
    #: loss of each path at each of the last values
    losses: Array
    #: for each of the last values: the first path's share of the total error, summed over leads, and the lead count
    shares: Array

    @classmethod
    def of(cls, count: int) -> ErrorTracker:
        """A tracker of `count` paths."""
        return cls(
            0, np.zeros((MAX_LEAD, count, len(LEADS))), np.zeros((VALUES_KEPT, count)), np.zeros((VALUES_KEPT, 2))
        )

    def update(self, value: float, paths: Array) -> None:
        """Score a value, then store the paths of `MAX_LEAD` steps that were forecast after it."""
        self.seen += 1
        leads = scorable_leads(self.seen)
        if leads:
            errors = np.abs(value - self.paths[(self.seen - LEADS[:leads]) % MAX_LEAD, :, LEAD_INDICES[:leads]])
            mean_error = np.add.reduce(errors, axis=1) / errors.shape[1]
            nonzero = mean_error > 0
            mean_error[~nonzero] = 1.0  # all errors are 0 there: avoid 0 / 0
            row = self.seen % VALUES_KEPT
            self.losses[row] = np.add.reduce(errors / np.sqrt(mean_error)[:, None], axis=0)
            shares = errors[:, 0] / mean_error / errors.shape[1]
            self.shares[row] = np.add.reduce(shares), np.count_nonzero(nonzero)
        self.paths[self.seen % MAX_LEAD] = paths[:, LEADS - 1]

    def weights(self, power: float, part: slice = slice(None)) -> Array:
        """(least loss / loss) ** power of the paths in `part`, normalised to sum to one."""
        losses = np.add.reduce(self.losses[:, part], axis=0)
        # a path without any loss takes all the weight; the floor keeps the ratio finite
        floor = max(float(np.minimum.reduce(losses)), 1e-9 * float(np.maximum.reduce(losses)))
        raw = (floor / np.maximum(losses, floor)) ** power if floor else np.ones(len(losses))
        return np.asarray(raw / np.add.reduce(raw))

    def ratio(self) -> float:
        """The first path's mean error relative to the mean of all paths; 1 before any error is known."""
        total, count = np.add.reduce(self.shares, axis=0).tolist()
        return total / count * self.losses.shape[1] if count else 1.0
