"""How good a run was: `run` from the ticks of a real one, `trial` what any run leaves behind to be measured."""

from __future__ import annotations

from tidegate.score.run import (
    Arrived,
    Backlog,
    Latencies,
    Latency,
    Rescales,
    Score,
    Slo,
    Workers,
    arrivals,
    score,
)
from tidegate.score.trial import Cumulative, Finished, Move, Trial

__all__ = [
    "Arrived",
    "Backlog",
    "Cumulative",
    "Finished",
    "Latencies",
    "Latency",
    "Move",
    "Rescales",
    "Score",
    "Slo",
    "Trial",
    "Workers",
    "arrivals",
    "score",
]
