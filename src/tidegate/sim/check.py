"""A real run played again by a model: the same arrivals, the same executors at the same times, and what differs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import numpy.typing as npt

from tidegate.core import InvalidInput
from tidegate.score.latency import LatencyDistribution
from tidegate.score.trace import Cumulative, Finished
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.fit import predicted, rows_of
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.recording import Recording

Array = npt.NDArray[np.float64]
#: seconds over which throughput is compared
WINDOW = 20.0
#: seconds after the end in which a running batch may finish
LINGER = 300.0


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure as it was and as the model says."""

    real: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative, with its sign."""
        return self.simulated / self.real - 1 if self.real else float(self.simulated != 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one run. `batch time` is the mean over batches, `throughput` records processed per second until the end.

    `batches` is the median of the absolute errors of batch times, each for its own records and executors, and `windows`
    that of throughput over windows of 20 s.
    """

    run: str
    figures: dict[str, Compared]
    windows: float
    batches: float


#: what a verdict compares, in the order in which it is shown
FIGURES = ("throughput", "batch time", "latency p50", "latency p95", "latency p99", "backlog max")


def check(model: BatchModel, recording: Recording) -> Verdict:
    """Play the recording's arrivals and executors through the model, without noise."""
    if not recording.batches:
        raise InvalidInput(f"validate {recording.name}: the run has no batches")
    arrivals = recording.arrivals()
    real, simulated = _real(recording), play(model, recording, arrivals)
    until = min(recording.until, recording.batches[-1].planned + recording.batches[-1].took)
    found = zip(FIGURES, _figures(real, arrivals, until), _figures(simulated, arrivals, until), strict=True)
    return Verdict(
        recording.name,
        {name: Compared(a, b) for name, a, b in found},
        _windows(real.finished, simulated.finished, until),
        _each(model, recording),
    )


@dataclass(frozen=True, slots=True)
class Played:
    finished: Finished
    durations: Array


def play(model: BatchModel, recording: Recording, arrivals: Cumulative) -> Played:
    """The batches of the model, with the executors that were there."""
    quiet = replace(model, noise=0.0, tasks=recording.layout.tasks)
    first = recording.batches[0]
    phase = first.planned if len(recording.batches) < 2 else _phase(recording)
    warm = max((-life.came for life in recording.lives), default=0.0)
    query = Query(recording.trigger, recording.limit, phase=phase, drain=recording.until, worked=max(0.1, warm))
    engine = MicroBatchEngine(quiet, query, arrivals, max(1, recording.executors(first.planned)))
    engine.begin(first.planned)
    for time, executors in recording.changes():
        engine.sleep_until(max(time, engine.time))
        engine.force(executors)
    engine.sleep_until(recording.until + LINGER)  # a batch that runs at the end is partly done by then
    return Played(engine.finished(), engine.durations())


def _phase(recording: Recording) -> float:
    """Where the grid of triggers begins: Spark's is that of the clock, so most batches stand on it."""
    offs = [round(batch.planned % recording.trigger, 2) for batch in recording.batches] if recording.trigger else [0.0]
    return max(sorted(set(offs)), key=offs.count)


def _real(recording: Recording) -> Played:
    batches = recording.batches
    ends = np.array([b.planned + b.took for b in batches])
    done = Finished(ends, np.array([float(b.begin) for b in batches]), np.array([float(b.end) for b in batches]))
    return Played(done, np.array([b.took for b in batches]))


def _figures(played: Played, arrivals: Cumulative, until: float) -> Iterable[float]:
    done = played.finished
    seen = done.times <= until + 1e-6
    kept = Finished(done.times[seen], done.begins[seen], done.ends[seen])
    ages = LatencyDistribution.at(kept, arrivals)
    grid = np.arange(0.0, until, 1.0)
    served = np.concatenate([[0.0], kept.ends])[np.searchsorted(kept.times, grid, side="right")]
    backlog = float(np.max(arrivals.by(grid) - served))
    p50, p95, p99 = ages.percentiles([0.5, 0.95, 0.99])
    # as if records of a batch were done one by one: else a batch more or less would decide
    processed = float(np.interp(until, [0.0, *done.times], [0.0, *done.ends]))
    return (processed / until, float(np.mean(played.durations[seen])), p50, p95, p99, backlog)


def _each(model: BatchModel, recording: Recording) -> float:
    own = replace(model, tasks=recording.layout.tasks)
    return median(abs(predicted(own, row) / row.batch.took - 1) for row in rows_of(recording))


def _windows(real: Finished, simulated: Finished, until: float) -> float:
    edges = np.arange(0.0, until + 1e-9, WINDOW)
    a, b = (np.diff(np.interp(edges, [0.0, *done.times], [0.0, *done.ends])) for done in (real, simulated))
    return median(float(abs(y / x - 1)) for x, y in zip(a, b, strict=True) if x > 0)
