"""All figures of a trial as plain values, under the keys of a run's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tidegate.score.convergence import convergence
from tidegate.score.latency import LatencyDistribution, done, lost
from tidegate.score.provision import provision
from tidegate.score.recovery import recovery
from tidegate.score.trace import Array, RunTrace


@dataclass(frozen=True, slots=True)
class Aims:
    """What a run is held to: the latency that records should keep, and the price of an executor for an hour."""

    slo: float
    price: float | None = None


class Best(Protocol):
    """What is needed of an oracle here."""

    @property
    def executors(self) -> npt.NDArray[Any]:
        """For each tick of the trial."""

    @property
    def seconds(self) -> float:
        """Its worker-seconds."""

    @property
    def late(self) -> float:
        """The share of records that its executors are late for."""


def figures(
    trial: RunTrace, aims: Aims, oracle: Best | None = None, steps: Sequence[float] | None = None
) -> dict[str, Any]:
    """The figures of a run's JSON and the papers'. Without an oracle there is nothing to converge to.

    `steps` are the workload's steps, where they are known; searching them in the arrivals costs as much as the
    percentiles. Floats have nine digits, so that machines agree.
    """
    spent, ages = workers(trial), LatencyDistribution.of(trial)
    seconds = spent["seconds"] if spent else None
    found = {
        "processed": round(_processed(trial)),
        "lost": round(lost(trial)),
        "latency": latency(ages),
        "slo": {"target": aims.slo, "violated": ages.share_above(aims.slo) if len(ages.counts) else None},
        "workers": spent,
        "rescales": rescales(trial),
        "backlog": backlog(trial),
        "throughput": throughput(trial),
        "convergence": [asdict(each) for each in convergence(trial, oracle.executors, steps)] if oracle else [],
        "recovery": [asdict(each) for each in recovery(trial)],
        "provision": asdict(provision(trial, oracle.executors)) if oracle else None,
        "oracle": _against(oracle, seconds) if oracle else None,
        "cost": None if aims.price is None or seconds is None else seconds / 3600 * aims.price,
    }
    return {key: digits(value) for key, value in found.items()}


def latency(ages: LatencyDistribution) -> dict[str, float] | None:
    """Over records; None where none arrived."""
    if not len(ages.counts):
        return None
    p50, p95, p99 = ages.percentiles([0.5, 0.95, 0.99])
    return {"mean": ages.mean, "p50": p50, "p95": p95, "p99": p99, "max": ages.max}


def workers(trial: RunTrace) -> dict[str, float] | None:
    """From tick to tick, paid from being asked for until gone, as clouds bill; None with fewer than two ticks."""
    if len(trial.times) < 2:
        return None
    seconds = float((paid(trial) * np.diff(trial.times)).sum())
    span = float(trial.times[-1] - trial.times[0])
    return {"mean": seconds / span, "max": int(trial.executors.max()), "seconds": seconds}


def paid(trial: RunTrace) -> Array:
    """Executors from each tick to the next: those that were there, and those that were asked for by then."""
    most: Array = np.maximum(trial.executors[:-1], trial.requested[1:])
    return most


def rescales(trial: RunTrace) -> dict[str, int]:
    """Actions, not changes of the observed count; one that leaves the total as it was is neither up nor down."""
    up = sum(move.after > move.before for move in trial.moves)
    down = sum(move.after < move.before for move in trial.moves)
    return {"count": up + down, "up": up, "down": down}


def backlog(trial: RunTrace) -> dict[str, float] | None:
    """At the ticks and at the end, from what had arrived and what was done."""
    if not len(trial.times):
        return None
    moments = np.append(trial.times, trial.until)
    order = np.argsort(trial.finished.times, kind="stable")
    reached = np.maximum.accumulate(np.append(trial.arrivals.totals[0], trial.finished.ends[order]))
    taken = reached[np.searchsorted(trial.finished.times[order], moments, side="right")]
    waiting = np.maximum(trial.arrivals.by(moments) - taken, 0.0)
    return {"max": float(waiting.max()), "final": float(waiting[-1])}


def throughput(trial: RunTrace) -> dict[str, float | None]:
    """Records per second that were offered and processed from the start to the end, and their ratio."""
    if trial.until <= 0:
        return {"offered": None, "processed": None, "ratio": None}
    processed, offered = _processed(trial), float(trial.arrivals.by(trial.until) - trial.arrivals.totals[0])
    ratio = processed / offered if offered else None
    return {"offered": offered / trial.until, "processed": processed / trial.until, "ratio": ratio}


def digits(value: Any) -> Any:
    """Values within values, their floats rounded to nine significant digits.

    >>> digits({"a": [1 / 3, 2], "b": 123456789012.0, "c": None})
    {'a': [0.333333333, 2], 'b': 123456789000.0, 'c': None}
    """
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: digits(inner) for key, inner in value.items()}
    return [digits(inner) for inner in value] if isinstance(value, list) else value


def _processed(trial: RunTrace) -> float:
    portions = done(trial)
    return float((portions.ends - portions.begins).sum())


def _against(oracle: Best, seconds: float | None) -> dict[str, float | None]:
    best = float(oracle.seconds)
    return {"seconds": best, "ratio": seconds / best if seconds and best else None, "violated": float(oracle.late)}
