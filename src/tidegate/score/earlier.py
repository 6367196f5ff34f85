"""The sums that remain of the beginning of a long run, whose trace holds only the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidegate.score.latency import LatencyDistribution
from tidegate.score.recovery import Beginning
from tidegate.score.trace import Array


@dataclass(frozen=True, slots=True)
class Spent:
    """Executors over `span` seconds."""

    span: float = 0.0
    #: worker-seconds paid and seen
    seconds: float = 0.0
    seen: float = 0.0
    #: the most executors seen
    most: int = 0


UNSPENT = Spent()


@dataclass(frozen=True, slots=True)
class Earlier:
    """Of what happened before a trace. Neutral by default: the trace of a whole run needs nothing beside it."""

    #: records finished and lost, and latencies of both
    processed: float = 0.0
    lost: float = 0.0
    latencies: LatencyDistribution | None = None
    #: number of the run's first record, where it is not the trace's
    first: float | None = None
    #: executors until the first tick of the trace
    spent: Spent = UNSPENT
    #: moves to more and to fewer executors
    up: int = 0
    down: int = 0
    #: the largest backlog, and ticks for which it was not known yet (rows as of `figures.finished_by`)
    backlog: float = 0.0
    ticks: Array = field(default_factory=lambda: np.zeros((0, 2)))
    recovery: Beginning = field(default_factory=Beginning)


#: nothing: the trace holds the whole run
NOTHING = Earlier()
