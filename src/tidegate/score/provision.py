"""Over- and under-provisioning compared with the oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidegate.core import InvalidInput
from tidegate.score.trace import Array, RunTrace


@dataclass(frozen=True, slots=True)
class Provision:
    """Worker-seconds above and below the oracle's executors. They do not cancel out."""

    over: float
    under: float


def provision(trace: RunTrace, oracle: Array) -> Provision:
    """Integrated with the executors seen at the start of each step; `oracle` holds executors per tick."""
    surplus = (trace.executors - on_ticks(trace, oracle))[:-1]
    seconds = np.diff(trace.times)
    over, under = np.maximum(surplus, 0) * seconds, np.maximum(-surplus, 0) * seconds
    return Provision(float(over.sum()), float(under.sum()))


def on_ticks(trace: RunTrace, oracle: Array) -> Array:
    """The oracle's executors, after a check that there is one number per tick."""
    if len(oracle) != len(trace.times):
        raise InvalidInput(f"need one number of the oracle for each tick, got {len(oracle)} for {len(trace.times)}")
    return oracle
