"""The figures of a run, computed from its trace. Times are in seconds, shares between 0 and 1; None is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tidegate.score.convergence import Convergence, convergence
from tidegate.score.earlier import NOTHING, UNSPENT, Earlier, Spent
from tidegate.score.latency import LatencyDistribution, done, lost
from tidegate.score.provision import Provision, provision
from tidegate.score.recovery import Recovery, recovery
from tidegate.score.trace import Array, RunTrace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Objective:
    """What a run is measured against: the latency objective, and the price of an executor-hour."""

    slo: float
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Over all records that arrived; unfinished records count with their age at the end."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Slo:
    """`violated` is the share of records that took longer than `target`."""

    target: float
    violated: float | None


@dataclass(frozen=True, slots=True)
class Workers:
    """Executors paid for, from request to removal as clouds bill them, and executors seen."""

    mean: float
    #: the most executors seen
    max: int
    #: worker-seconds
    seconds: float
    #: unknown for runs scored by earlier versions
    seen_mean: float | None = None
    seen_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Rescales:
    count: int = 0
    up: int = 0
    down: int = 0


@dataclass(frozen=True, slots=True)
class Backlog:
    max: float
    final: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """Records per second offered and processed over the whole run, and their ratio."""

    offered: float | None
    processed: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True)
class AgainstOracle:
    """The oracle's worker-seconds, the run's divided by them, and the share of records late even with the oracle."""

    seconds: float
    ratio: float | None
    violated: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a run, under the names used in its JSON."""

    processed: int
    lost: int
    latency: Latency | None
    slo: Slo
    workers: Workers | None
    rescales: Rescales
    backlog: Backlog | None
    throughput: Throughput
    convergence: tuple[Convergence, ...] = ()
    recovery: tuple[Recovery, ...] = ()
    provision: Provision | None = None
    oracle: AgainstOracle | None = None
    cost: float | None = None
    rerun_tasks: int = 0


class Schedule(Protocol):
    """The part of an oracle that scoring needs."""

    @property
    def executors(self) -> npt.NDArray[Any]:
        """Executors at each tick of the trace."""

    @property
    def seconds(self) -> float:
        """Its worker-seconds."""

    @property
    def late(self) -> float:
        """Share of records that are late with this schedule."""


def figures(
    trace: RunTrace,
    objective: Objective,
    oracle: Schedule | None = None,
    steps: Sequence[float] | None = None,
    earlier: Earlier = NOTHING,
) -> Figures:
    """Score a run. Without an oracle there is no convergence.

    `steps` are the times of the workload's steps, if known: detecting them in the arrivals costs as much as the
    percentiles. `earlier` is what remains of the run before its trace (see `RollingScore`). Floats are rounded to nine
    digits, so that all machines agree.
    """
    used = workers(trace, earlier.spent)
    latencies = distribution(trace, earlier.latencies)
    seconds = None if used is None else used.seconds
    return rounded(
        Figures(
            processed=round(_processed(trace) + earlier.processed),
            lost=round(lost(trace) + earlier.lost),
            latency=None if latencies is None else latency(latencies),
            slo=Slo(objective.slo, None if latencies is None else latencies.share_above(objective.slo)),
            workers=used,
            rescales=rescales(trace, earlier),
            backlog=backlog(trace, earlier),
            throughput=throughput(trace, earlier),
            convergence=tuple(convergence(trace, oracle.executors, steps)) if oracle else (),
            recovery=tuple(recovery(trace, earlier.recovery)) if trace.dated else (),
            provision=provision(trace, oracle.executors) if oracle else None,
            oracle=_against(oracle, seconds) if oracle else None,
            cost=None if objective.price is None or seconds is None else seconds / 3600 * objective.price,
            rerun_tasks=trace.rerun_tasks,
        )
    )


def distribution(trace: RunTrace, earlier: LatencyDistribution | None = None) -> LatencyDistribution | None:
    """None if no records arrived, or their arrival times are unknown."""
    if not trace.dated:
        return None
    latencies = LatencyDistribution.of(trace)
    if earlier is not None:
        latencies = latencies.joined(earlier)
    return latencies if len(latencies.counts) else None


def latency(latencies: LatencyDistribution) -> Latency:
    p50, p95, p99 = latencies.percentiles([0.5, 0.95, 0.99])
    return Latency(latencies.mean, p50, p95, p99, latencies.max)


def workers(trace: RunTrace, earlier: Spent = UNSPENT) -> Workers | None:
    """Integrated from tick to tick; None if no time passed between them."""
    total = spent(trace, earlier)
    if total.span <= 0:
        return None
    return Workers(total.seconds / total.span, total.most, total.seconds, total.seen / total.span, total.seen)


def spent(trace: RunTrace, earlier: Spent = UNSPENT) -> Spent:
    """Executors from the first tick to the last. Where a clock was set back, no time passed."""
    lengths = np.maximum(np.diff(trace.times), 0.0)
    return Spent(
        earlier.span + float(lengths.sum()),
        earlier.seconds + float((paid(trace) * lengths).sum()),
        earlier.seen + float((trace.executors[:-1] * lengths).sum()),
        max(earlier.most, int(trace.executors.max(initial=0.0))),
    )


def paid(trace: RunTrace) -> Array:
    """Executors paid for from each tick to the next: the larger of those present and those requested by then."""
    executors: Array = np.maximum(trace.executors[:-1], trace.requested[1:])
    return executors


def rescales(trace: RunTrace, earlier: Earlier = NOTHING) -> Rescales:
    """Counts actions, not changes of the observed number. An action that keeps the total is neither up nor down."""
    up = sum(move.after > move.before for move in trace.moves) + earlier.up
    down = sum(move.after < move.before for move in trace.moves) + earlier.down
    return Rescales(up + down, up, down)


def backlog(trace: RunTrace, earlier: Earlier = NOTHING) -> Backlog | None:
    """Records arrived but not finished, at the ticks and at the end."""
    if not len(trace.times) or not trace.dated:
        return None
    waiting = waiting_at(np.append(trace.times, trace.until), trace)
    undecided = waiting_with(earlier.ticks, trace)
    return Backlog(float(max(waiting.max(), undecided.max(initial=earlier.backlog))), float(waiting[-1]))


def waiting_at(moments: Array, trace: RunTrace) -> Array:
    """The backlog at moments of a trace."""
    return waiting_with(finished_by(moments, trace), trace)


def finished_by(moments: Array, trace: RunTrace) -> Array:
    """Rows of a moment, and the number of the first record that was not finished by then."""
    order = np.argsort(trace.finished.times, kind="stable")
    reached = np.maximum.accumulate(np.append(trace.first, trace.finished.ends[order]))
    finished = reached[np.searchsorted(trace.finished.times[order], moments, side="right")]
    return np.column_stack([moments, finished])


def waiting_with(finished: Array, trace: RunTrace) -> Array:
    """The backlog at moments, of which it is known what was finished by then."""
    return np.maximum(trace.arrivals.by(finished[:, 0]) - finished[:, 1], 0.0)


def throughput(trace: RunTrace, earlier: Earlier = NOTHING) -> Throughput:
    if trace.until <= 0:
        return Throughput(None, None, None)
    processed = _processed(trace) + earlier.processed
    if not trace.dated:
        return Throughput(None, processed / trace.until, None)
    first = trace.first if earlier.first is None else earlier.first
    offered = float(trace.arrivals.by(trace.until)) - first
    return Throughput(offered / trace.until, processed / trace.until, processed / offered if offered else None)


def rounded(value: T) -> T:
    """A value, or nested values, with all floats rounded to nine significant digits.

    >>> rounded(Backlog(1 / 3, 123456789012.0)), rounded(2)
    (Backlog(max=0.333333333, final=123456789000.0), 2)
    """
    untyped: Any = value
    if isinstance(untyped, float):
        untyped = float(f"{untyped:.9g}")
    elif isinstance(untyped, tuple):
        untyped = tuple(rounded(item) for item in untyped)
    elif is_dataclass(untyped):
        kind: Any = type(untyped)
        untyped = kind(**{field.name: rounded(getattr(untyped, field.name)) for field in fields(untyped)})
    result: T = untyped
    return result


def _processed(trace: RunTrace) -> float:
    portions = done(trace)
    return float((portions.ends - portions.begins).sum())


def _against(oracle: Schedule, seconds: float | None) -> AgainstOracle:
    best = float(oracle.seconds)
    return AgainstOracle(best, seconds / best if seconds and best else None, float(oracle.late))
