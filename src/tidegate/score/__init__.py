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
from tidegate.score.trace import Cumulative, Finished, Move, RunTrace

__all__ = [
    "Arrived",
    "Backlog",
    "Cumulative",
    "Finished",
    "Latencies",
    "Latency",
    "Move",
    "Rescales",
    "RunTrace",
    "Score",
    "Slo",
    "Workers",
    "arrivals",
    "score",
]
