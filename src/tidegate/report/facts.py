"""What ran and how well it went, as labelled texts: from a run's spec and result, of which any key may be missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.core import TidegateError
from tidegate.report.units import UNKNOWN, clock, count, exact, known, seconds, share
from tidegate.store import Run
from tidegate.workloads import Shape, from_spec


@dataclass(frozen=True, slots=True)
class Fact:
    """A text and what it is of. `note` stands below it, smaller."""

    label: str
    value: str
    note: str = ""


def facts(run: Run) -> tuple[Fact, ...]:
    """What ran; parts that the spec does not tell are left out."""
    spec = run.spec
    told = (
        Fact("Job", text(spec.get("job"))),
        Fact("Workload", text(spec.get("workload")), _peak(spec.get("workload_spec"))),
        Fact("Source", text(spec.get("source")), _source(spec)),
        Fact("Policy", text(spec.get("policy")), _options(spec.get("options"))),
        Fact("Engine", text(spec.get("engine")), text(spec.get("master") or "")),
        Fact("Mode", text(spec.get("mode"))),
        Fact("Executors", _limits(spec.get("limits")), _quota(spec.get("quota"))),
        Fact("SLO", seconds(known(spec.get("slo")))),
        Fact("Duration", clock(known(spec.get("duration")))),
        Fact("Run", run.id, f"{datetime.fromtimestamp(run.created, UTC):%Y-%m-%d %H:%M} UTC"),
    )
    return tuple(fact for fact in told if fact.value != UNKNOWN)


def _peak(spec: Any) -> str:
    """
    >>> _peak({"kind": "wave", "duration": 60, "mean": 60_000, "swing": 50_000, "period": 60})
    'up to 110 k/s'
    """
    workload = workload_of(spec)
    return "" if workload is None else f"up to {count(workload.highest())}/s"


def workload_of(spec: Any) -> Shape | None:
    """None also for one that this version does not know: a report of it misses one line, and no more."""
    try:
        return from_spec(spec) if isinstance(spec, Mapping) else None
    except (TidegateError, KeyError, TypeError):
        return None


def _source(spec: Mapping[str, Any]) -> str:
    kafka = spec.get("kafka")
    return f"topic {text(kafka.get('topic'))}" if isinstance(kafka, Mapping) else ""


def _options(options: Any) -> str:
    if not isinstance(options, Mapping):
        return text(options or "")
    return ", ".join(f"{key} {text(value)}" for key, value in options.items())


def _limits(limits: Any) -> str:
    if not isinstance(limits, list | tuple) or len(limits) != 2:
        return UNKNOWN
    return f"{text(limits[0])} to {text(limits[1])}"


def _quota(quota: Any) -> str:
    return "" if known(quota) is None else f"{quota:g} CPU each"


def figures(result: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The few numbers by which runs are compared."""
    up, down = pick(result, "rescales.up"), pick(result, "rescales.down")
    target, most = pick(result, "slo.target"), pick(result, "workers.max")
    rescaled = UNKNOWN if up is None or down is None else f"{up:g} ↑  {down:g} ↓"
    median = pick(result, "latency.p50")
    return (
        Fact("p95 latency", seconds(pick(result, "latency.p95")), _note("median", seconds(median), median)),
        Fact("SLO violated", share(pick(result, "slo.violated")), _note("records above", seconds(target), target)),
        Fact("Mean executors", _decimal(pick(result, "workers.mean")), _note("at most", exact(most), most)),
        Fact("Executor-seconds", exact(_whole(pick(result, "workers.seconds"))), "in all"),
        Fact("Rescales", rescaled, "up and down"),
        _verified(result.get("verified")),
    )


def _note(before: str, value: str, number: float | None) -> str:
    return "" if number is None else f"{before} {value}"


def _decimal(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


def _verified(verified: object) -> Fact:
    if not isinstance(verified, bool):
        return Fact("Verified", UNKNOWN, "not checked")
    return Fact("Verified", "yes", "the output is right") if verified else Fact("Verified", "no", "the output differs")


def pick(values: Mapping[str, Any], path: str) -> float | None:
    """The number at a dotted path.

    >>> pick({"latency": {"p95": 1.5}}, "latency.p95"), pick({"latency": None}, "latency.p95")
    (1.5, None)
    """
    here: Any = values
    for key in path.split("."):
        here = here.get(key) if isinstance(here, Mapping) else None
    return known(here)


#: how numbers are written, by the first of these that a dotted key begins with; others are written as they are
FORMATS: tuple[tuple[str, Callable[[float | None], str]], ...] = (
    ("duration", clock),
    ("latency.", lambda value: f"{value:.3f} s"),
    ("slo.target", seconds),
    ("slo.violated", share),
    ("workers.mean", _decimal),
    ("workers.seconds", lambda value: exact(_whole(value))),
    ("backlog.", lambda value: exact(_whole(value))),
)


def scores(result: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Every value of the result, nested ones under dotted keys.

    >>> [(fact.label, fact.value) for fact in scores({"lost": 0, "slo": {"violated": 0.25}, "verified": None})]
    [('lost', '0'), ('slo.violated', '25 %'), ('verified', '—')]
    """
    return tuple(Fact(key, _written(key, value)) for key, value in _flat(result))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _written(key: str, value: Any) -> str:
    if known(value) is None:
        return text(value)
    return next((write(value) for start, write in FORMATS if key.startswith(start)), text(value))


def text(value: Any) -> str:
    """
    >>> text(None), text(True), text(1234), text(0.5), text([1, 2]), text("q1")
    ('—', 'yes', '1,234', '0.5', '[1, 2]', 'q1')
    """
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return UNKNOWN if known(value) is None else f"{value:.6g}"
        case str():
            return value
    return json.dumps(value, default=str)
