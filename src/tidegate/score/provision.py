"""Executors against the oracle's: how many worker-seconds were too many, and how many were missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput
from tidegate.score.trace import Array, RunTrace


@dataclass(frozen=True, slots=True)
class Provision:
    """Worker-seconds above and below the oracle's executors. They do not make up for each other."""

    over: float
    under: float


def provision(trial: RunTrace, oracle: Array) -> Provision:
    """From tick to tick with what was seen at the first; `oracle` has a number of executors for each tick."""
    spare = (trial.executors - on_ticks(trial, oracle))[:-1]
    seconds = np.diff(trial.times)
    over, under = np.maximum(spare, 0) * seconds, np.maximum(-spare, 0) * seconds
    return Provision(float(over.sum()), float(under.sum()))


def on_ticks(trial: RunTrace, oracle: Array) -> Array:
    """The oracle's executors, if there is one number for each tick."""
    if len(oracle) != len(trial.times):
        raise InvalidInput(f"need one number of the oracle for each tick, got {len(oracle)} for {len(trial.times)}")
    return oracle
