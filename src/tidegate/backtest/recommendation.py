"""What follows from the runs of a backtest: a row for each policy, and the one to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Row:
    """A policy over its seeds; `worst` are the longest late stretches of the first."""

    policy: str
    options: Mapping[str, Any]
    seconds: float
    cost: float | None
    #: its worker-seconds over those of the oracle, and over those of the static reference; None without
    oracle: float | None
    static: float | None
    late: float
    p95: float
    #: in a day
    rescales: float
    worst: Sequence[Mapping[str, float]] = ()
    #: worker-seconds of profiling runs that it needed before
    profiling: float | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """The oracle: what would have been enough had all been known."""

    seconds: float
    late: float
    cost: float | None


def rows(runs: Iterable[Mapping[str, Any]], static: str) -> list[Row]:
    """In the order in which policies come; failed runs are in none. `static` is the label of the reference."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["status"] == "done" and run["workers"] and run["latency"]:
            found.setdefault(run["policy"], []).append(run)
    whole = _mean(found[static], "workers", "seconds") if static in found else None
    return [_row(policy, of, whole) for policy, of in found.items()]


def _row(policy: str, runs: Sequence[Mapping[str, Any]], static: float | None) -> Row:
    first, seconds = runs[0], _mean(runs, "workers", "seconds")
    profiling = first.get("profiling")
    return Row(
        policy,
        first["options"],
        seconds,
        None if first["cost"] is None else sum(run["cost"] for run in runs) / len(runs),
        None if any(_ratio(run) is None for run in runs) else _mean(runs, "oracle", "ratio"),
        seconds / static if static else None,
        _mean(runs, "slo", "violated"),
        _mean(runs, "latency", "p95"),
        _mean(runs, "rescales", "count") * DAY / first["duration"],
        first.get("late", ()),
        profiling["worker_seconds"] if profiling else None,
    )


def _ratio(run: Mapping[str, Any]) -> float | None:
    found: float | None = (run["oracle"] or {}).get("ratio")
    return found


def _mean(runs: Sequence[Mapping[str, Any]], outer: str, inner: str) -> float:
    return float(sum(run[outer][inner] for run in runs) / len(runs))


def limit(runs: Iterable[Mapping[str, Any]], price: float | None) -> Limit | None:
    """Over the seeds, of whichever policy's runs come first."""
    seeds = {run["seed"]: run["oracle"] for run in runs if run["status"] == "done" and run["oracle"]}
    if not seeds:
        return None
    seconds = sum(one["seconds"] for one in seeds.values()) / len(seeds)
    late = sum(one["violated"] for one in seeds.values()) / len(seeds)
    return Limit(seconds, late, None if price is None else seconds / 3600 * price)


def order(late: float, seconds: float, allowed: float) -> tuple[bool, float, float]:
    """The smaller, the better: within what is allowed the fewest worker-seconds, beyond it the fewest late records.

    >>> sorted([(0.05, 10), (0.01, 40), (0.0, 50), (0.2, 5)], key=lambda one: order(*one, allowed=0.01))
    [(0.01, 40), (0.0, 50), (0.05, 10), (0.2, 5)]
    """
    return (late > allowed, late if late > allowed else 0.0, seconds)


def chosen(found: Sequence[Row], allowed: float) -> Row | None:
    """The cheapest within what is allowed; where none is, the one with the fewest late records. Of equals the first."""
    return min(found, key=lambda row: order(row.late, row.seconds, allowed), default=None)
