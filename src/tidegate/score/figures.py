"""The figures of a run, computed from its trace. Times are in seconds, shares between 0 and 1; None is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tidegate.score.convergence import Convergence, convergence
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
    trace: RunTrace, objective: Objective, oracle: Schedule | None = None, steps: Sequence[float] | None = None
) -> Figures:
    """Score a run. Without an oracle there is no convergence.

    `steps` are the times of the workload's steps, if known: detecting them in the arrivals costs as much as the
    percentiles. Floats are rounded to nine digits, so that all machines agree.
    """
    spent = workers(trace)
    latencies = distribution(trace)
    seconds = None if spent is None else spent.seconds
    return rounded(
        Figures(
            processed=round(_processed(trace)),
            lost=round(lost(trace)),
            latency=None if latencies is None else latency(latencies),
            slo=Slo(objective.slo, None if latencies is None else latencies.share_above(objective.slo)),
            workers=spent,
            rescales=rescales(trace),
            backlog=backlog(trace),
            throughput=throughput(trace),
            convergence=tuple(convergence(trace, oracle.executors, steps)) if oracle else (),
            recovery=tuple(recovery(trace)) if trace.dated else (),
            provision=provision(trace, oracle.executors) if oracle else None,
            oracle=_against(oracle, seconds) if oracle else None,
            cost=None if objective.price is None or seconds is None else seconds / 3600 * objective.price,
            rerun_tasks=trace.rerun_tasks,
        )
    )


def distribution(trace: RunTrace) -> LatencyDistribution | None:
    """None if no records arrived, or their arrival times are unknown."""
    if not trace.dated:
        return None
    latencies = LatencyDistribution.of(trace)
    return latencies if len(latencies.counts) else None


def latency(latencies: LatencyDistribution) -> Latency:
    p50, p95, p99 = latencies.percentiles([0.5, 0.95, 0.99])
    return Latency(latencies.mean, p50, p95, p99, latencies.max)


def workers(trace: RunTrace) -> Workers | None:
    """Integrated from tick to tick; None with fewer than two ticks."""
    if len(trace.times) < 2:
        return None
    lengths = np.diff(trace.times)
    span = float(trace.times[-1] - trace.times[0])
    seconds, seen = float((paid(trace) * lengths).sum()), float((trace.executors[:-1] * lengths).sum())
    return Workers(seconds / span, int(trace.executors.max()), seconds, seen / span, seen)


def paid(trace: RunTrace) -> Array:
    """Executors paid for from each tick to the next: the larger of those present and those requested by then."""
    executors: Array = np.maximum(trace.executors[:-1], trace.requested[1:])
    return executors


def rescales(trace: RunTrace) -> Rescales:
    """Counts actions, not changes of the observed number. An action that keeps the total is neither up nor down."""
    up = sum(move.after > move.before for move in trace.moves)
    down = sum(move.after < move.before for move in trace.moves)
    return Rescales(up + down, up, down)


def backlog(trace: RunTrace) -> Backlog | None:
    """Records arrived but not finished, at the ticks and at the end."""
    if not len(trace.times) or not trace.dated:
        return None
    moments = np.append(trace.times, trace.until)
    order = np.argsort(trace.finished.times, kind="stable")
    reached = np.maximum.accumulate(np.append(trace.arrivals.totals[0], trace.finished.ends[order]))
    finished = reached[np.searchsorted(trace.finished.times[order], moments, side="right")]
    waiting = np.maximum(trace.arrivals.by(moments) - finished, 0.0)
    return Backlog(float(waiting.max()), float(waiting[-1]))


def throughput(trace: RunTrace) -> Throughput:
    if trace.until <= 0:
        return Throughput(None, None, None)
    processed = _processed(trace)
    if not trace.dated:
        return Throughput(None, processed / trace.until, None)
    offered = float(trace.arrivals.by(trace.until) - trace.arrivals.totals[0])
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
