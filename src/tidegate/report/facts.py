"""What ran and how well it went, as labelled texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidegate.core import TidegateError
from tidegate.report.parts import Fact
from tidegate.runs import RunResult, RunSpec, encode
from tidegate.score.figures import Latency, Rescales, Slo, Workers
from tidegate.store import Run
from tidegate.units import UNKNOWN, clock, count, exact, known, seconds, share
from tidegate.workloads import Shape, from_spec


def facts(run: Run) -> tuple[Fact, ...]:
    """What ran. What is unknown or does not apply is left out: an attached run has no workload and no duration."""
    spec = run.spec
    topic = "" if spec.kafka is None else f"topic {spec.kafka.topic}"
    listed = (
        Fact("Job", spec.job),
        Fact("Workload", spec.workload or "", _peak(spec)),
        Fact("Source", spec.source or "", topic),
        Fact("Policy", spec.policy, _options(spec.options)),
        Fact("Engine", spec.engine, spec.master or ""),
        Fact("Mode", spec.mode),
        Fact(
            "Executors", f"{spec.minimum} to {spec.maximum}", "" if spec.quota is None else f"{spec.quota:g} CPU each"
        ),
        Fact("SLO", seconds(spec.slo)),
        Fact("Duration", "" if spec.duration is None else clock(spec.duration)),
        Fact("Run", run.id, at=run.created),
        Fact("Ended" if run.ended else "Last sign", "", at=run.ended or run.seen),
    )
    return tuple(fact for fact in listed if fact.value or fact.at is not None)


def _peak(spec: RunSpec) -> str:
    """
    >>> _peak(RunSpec(workload_spec={"kind": "wave", "duration": 60, "mean": 60_000, "swing": 50_000, "period": 60}))
    'up to 110 k/s'
    """
    workload = workload_of(spec)
    return "" if workload is None else f"up to {count(workload.highest())}/s"


def workload_of(spec: RunSpec) -> Shape | None:
    """The run's workload; None also for one that this version cannot read, which costs the report one line."""
    try:
        return None if spec.workload_spec is None else from_spec(spec.workload_spec)
    except (TidegateError, KeyError, TypeError, AttributeError):
        return None


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {text(value)}" for name, value in options.items())


def without_untimed(result: RunResult) -> RunResult:
    """No record takes no time: latencies of which the highest is 0 s are unknown, and not good ones.

    >>> from tidegate.score.figures import Figures, Throughput
    >>> zeros, rate = Latency(0, 0, 0, 0, 0), Throughput(None, None, None)
    >>> nothing = Figures(0, 0, zeros, Slo(10, 0), None, Rescales(), None, rate)
    >>> without_untimed(RunResult("r", "done", figures=nothing)).figures.latency is None
    True
    """
    measured = result.figures
    if measured is None or measured.latency is None or known(measured.latency.max):
        return result
    return replace(result, figures=replace(measured, latency=None))


def figures(result: RunResult | None) -> tuple[Fact, ...]:
    """The few numbers by which runs are compared; all of them unknown where there is no result."""
    measured = None if result is None else result.figures
    workers = None if measured is None else measured.workers
    return (
        _p95(None if measured is None else measured.latency),
        _violated(None if measured is None else measured.slo),
        _mean_executors(workers),
        _executor_seconds(workers),
        _rescales(None if measured is None else measured.rescales),
        _verified(None if result is None else result.verified),
    )


def _p95(latency: Latency | None) -> Fact:
    if latency is None:
        return Fact("p95 latency", UNKNOWN, "unknown: no record has a time")
    return Fact("p95 latency", seconds(known(latency.p95)), f"median {seconds(known(latency.p50))}")


def _violated(slo: Slo | None) -> Fact:
    if slo is None:
        return Fact("SLO violated", UNKNOWN)
    return Fact("SLO violated", share(known(slo.violated)), f"records above {seconds(slo.target)}")


def _mean_executors(workers: Workers | None) -> Fact:
    """The mean is of the executors paid for, the maximum of those seen."""
    if workers is None:
        return Fact("Mean executors", UNKNOWN)
    return Fact("Mean executors", _decimal(workers.mean), f"at most {exact(workers.max)} seen")


def _executor_seconds(workers: Workers | None) -> Fact:
    """Those paid for, from the request of an executor to its end. Earlier versions did not keep those seen."""
    if workers is None:
        return Fact("Executor-seconds", UNKNOWN)
    seen = workers.seen_seconds
    return Fact("Executor-seconds", _whole(workers.seconds), "in all" if seen is None else f"{_whole(seen)} seen")


def _rescales(rescales: Rescales | None) -> Fact:
    value = UNKNOWN if rescales is None else f"{rescales.up} ↑  {rescales.down} ↓"
    return Fact("Rescales", value, "up and down")


def _verified(verified: bool | None) -> Fact:
    if verified is None:
        return Fact("Verified", UNKNOWN, "not checked")
    return Fact("Verified", "yes", "the output is right") if verified else Fact("Verified", "no", "the output differs")


def _decimal(value: float) -> str:
    return f"{value:.2f}"


def _whole(value: float) -> str:
    return exact(round(value))


#: how a number is written, by the prefix of its dotted key; other numbers are written as they are
FORMATS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("duration", clock),
    ("latency.", lambda value: f"{value:.3f} s"),
    ("slo.target", seconds),
    ("slo.violated", share),
    ("workers.mean", _decimal),
    ("workers.seen_mean", _decimal),
    ("workers.seconds", _whole),
    ("workers.seen_seconds", _whole),
    ("backlog.", _whole),
)


def scores(result: RunResult | None) -> tuple[Fact, ...]:
    """Every value of the result under the dotted keys of its JSON, without the version of the format.

    >>> listed = {fact.label: fact.value for fact in scores(RunResult("r1", "done", job="q1", duration=90.0))}
    >>> listed["run"], listed["duration"], listed["verified"], "version" in listed
    ('r1', '1:30', '—', False)
    """
    values = {} if result is None else encode(result)
    return tuple(Fact(key, _written(key, value)) for key, value in _flat(values) if key != "version")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _written(key: str, value: Any) -> str:
    number = known(value)
    if number is None:
        return text(value)
    return next((write(number) for prefix, write in FORMATS if key.startswith(prefix)), text(value))


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
