"""Validates a model: replays a real run with the same arrivals and the same executors at the same times, and compares
the figures.
"""

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
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.recording import Recording
from tidegate.sim.rows import predicted, rows_of

Array = npt.NDArray[np.float64]
#: seconds over which throughput is compared
WINDOW = 20.0
#: seconds after the end of the run in which a running batch may finish
LINGER = 300.0


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """A figure as measured and as simulated."""

    real: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative error, with its sign."""
        return self.simulated / self.real - 1 if self.real else float(self.simulated != 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison for one run. `batch time` is the mean over batches, `throughput` the number of records processed
    per second until the end.

    `batches` is the median absolute error of batch times, each predicted from the batch's own records and executors.
    `windows` is the median absolute error of throughput over windows of 20 s.
    """

    run: str
    figures: dict[str, FigureComparison]
    windows: float
    batches: float


#: the figures that a verdict compares, in the order in which they are shown
FIGURES = ("throughput", "batch time", "latency p50", "latency p95", "latency p99", "backlog max")


def check(model: BatchModel, recording: Recording) -> Verdict:
    """Replay the recorded arrivals and executors with the model, without noise."""
    if not recording.batches:
        raise InvalidInput(f"validate {recording.name}: the run has no batches")
    arrivals = recording.arrivals()
    real, simulated = _real(recording), play(model, recording, arrivals)
    until = min(recording.until, recording.batches[-1].planned + recording.batches[-1].took)
    for batches, whose in ((real, "the run has"), (simulated, f"the model of {model.job} gives")):
        if until < WINDOW or not np.any(batches.finished.times <= until):
            span = f"within {until:g} s, and need {WINDOW:g} s at least"
            raise InvalidInput(f"validate {recording.name}: {whose} too few batches that end {span}")
    figures = zip(FIGURES, _figures(real, arrivals, until), _figures(simulated, arrivals, until), strict=True)
    return Verdict(
        recording.name,
        {name: FigureComparison(measured, replayed) for name, measured, replayed in figures},
        _throughput_error(real.finished, simulated.finished, until),
        _batch_error(model, recording),
    )


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The batches of a run, real or simulated, and how long each took."""

    finished: Finished
    durations: Array


def play(model: BatchModel, recording: Recording, arrivals: Cumulative) -> BatchTimes:
    """The batches that the model predicts for the recorded executors."""
    noiseless = replace(model, noise=0.0, tasks=recording.layout.tasks)
    first = recording.batches[0]
    phase = first.planned if len(recording.batches) < 2 else _phase(recording)
    warm = max((-life.came for life in recording.lives), default=0.0)
    query = Query(
        recording.trigger,
        recording.limit,
        phase=phase,
        drain=recording.until,
        worked=max(0.1, warm),
        spread=recording.spread,
    )
    engine = MicroBatchEngine(noiseless, query, arrivals, max(1, recording.executors(first.planned)))
    engine.begin(first.planned)
    for time, executors in recording.changes():
        engine.sleep_until(max(time, engine.time))
        engine.force(executors)
    engine.sleep_until(recording.until + LINGER)  # lets a batch that is running at the end finish
    return BatchTimes(engine.finished(), engine.durations())


def _phase(recording: Recording) -> float:
    """Where the grid of triggers begins. Spark aligns it with the clock, so most batches start on it."""
    if not recording.trigger:
        return 0.0
    phases = [round(batch.planned % recording.trigger, 2) for batch in recording.batches]
    return max(sorted(set(phases)), key=phases.count)


def _real(recording: Recording) -> BatchTimes:
    batches = recording.batches
    ends = np.array([batch.planned + batch.took for batch in batches])
    begins = np.array([float(batch.begin) for batch in batches])
    finished = Finished(ends, begins, np.array([float(batch.end) for batch in batches]))
    return BatchTimes(finished, np.array([batch.took for batch in batches]))


def _figures(run: BatchTimes, arrivals: Cumulative, until: float) -> Iterable[float]:
    finished = run.finished
    in_time = finished.times <= until + 1e-6
    counted = Finished(finished.times[in_time], finished.begins[in_time], finished.ends[in_time])
    latencies = LatencyDistribution.at(counted, arrivals)
    grid = np.arange(0.0, until, 1.0)
    processed = np.concatenate([[0.0], counted.ends])[np.searchsorted(counted.times, grid, side="right")]
    backlog = float(np.max(arrivals.by(grid) - processed))
    p50, p95, p99 = latencies.percentiles([0.5, 0.95, 0.99])
    # interpolated within the last batch, because otherwise one batch more or less would decide
    total = float(np.interp(until, [0.0, *finished.times], [0.0, *finished.ends]))
    return (total / until, float(np.mean(run.durations[in_time])), p50, p95, p99, backlog)


def _batch_error(model: BatchModel, recording: Recording) -> float:
    adapted = replace(model, tasks=recording.layout.tasks)
    rows = rows_of(recording, adapted)
    if not rows:
        raise InvalidInput(f"validate {recording.name}: need a batch with executors after the first one, it has none")
    return median(abs(predicted(adapted, row) / row.batch.took - 1) for row in rows)


def _throughput_error(real: Finished, simulated: Finished, until: float) -> float:
    edges = np.arange(0.0, until + 1e-9, WINDOW)
    measured, replayed = (np.diff(np.interp(edges, [0.0, *run.times], [0.0, *run.ends])) for run in (real, simulated))
    errors = [float(abs(y / x - 1)) for x, y in zip(measured, replayed, strict=True) if x > 0]
    # nothing was measured but in the rest after the last whole window
    return median(errors) if errors else float(np.any(replayed > 0))
