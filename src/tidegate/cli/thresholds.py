"""Thresholds of `--fail-if`: conditions on the figures of a run, under which a command fails.

`late>1%`, `p95>=30s`, `verified==false`; in a comparison or back-test `POLICY:late>1%`, or `*:late>1%` for all.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.core import InvalidInput, TidegateError, UnknownName
from tidegate.core.amounts import duration, rate
from tidegate.units import count, exact, seconds, share

if TYPE_CHECKING:
    from tidegate.runs import RunResult
    from tidegate.score.figures import Figures

#: exit code of a command whose runs succeeded and broke a threshold
BROKEN = 5
#: in place of a policy: each of them
EVERY = "*"
Value = float | bool
OPERATORS: Mapping[str, Callable[[Value, Value], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"(?:(?P<policy>[^<>=!]*):)?\s*(?P<name>[\w-]*)\s*(?P<operator>[<>=!]+)\s*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class _Kind:
    """How values of a figure are read and written; `example` is for error messages."""

    parse: Callable[[str], Value]
    write: Callable[[Value], str]
    example: str


@dataclass(frozen=True, slots=True)
class _Figure:
    kind: _Kind
    value: Callable[[RunResult], Value | None]


def _share(text: str) -> float:
    number = float(text.removesuffix("%"))
    return number / 100 if text.endswith("%") else number


def _truth(text: str) -> bool:
    return {"true": True, "false": False, "yes": True, "no": False}[text.lower()]


SHARE = _Kind(_share, share, "1% or 0.01")
TIME = _Kind(duration, seconds, "30s or 2m")
NUMBER = _Kind(float, exact, "3 or 2.5")
RECORDS = _Kind(rate, exact, "0 or 10k")
RATE = _Kind(rate, lambda value: f"{count(value)}/s", "250k")
TRUTH = _Kind(_truth, lambda value: "true" if value else "false", "true or false")


def _of(kind: _Kind, value: Callable[[Figures], float | None]) -> _Figure:
    return _Figure(kind, lambda run: None if run.figures is None else value(run.figures))


def _latency(level: str) -> _Figure:
    return _of(TIME, lambda f: getattr(f.latency, level) if f.latency is not None and f.latency.max > 0 else None)


#: all figures that a threshold may name; shares as `1%`, times as `30s`, numbers as they are
FIGURES: Mapping[str, _Figure] = {
    "late": _of(SHARE, lambda f: f.slo.violated),
    "p50": _latency("p50"),
    "p95": _latency("p95"),
    "p99": _latency("p99"),
    "mean-latency": _latency("mean"),
    "max-latency": _latency("max"),
    "lost": _of(RECORDS, lambda f: f.lost),
    "processed": _of(RECORDS, lambda f: f.processed),
    "processed-share": _of(SHARE, lambda f: f.throughput.ratio),
    "throughput": _of(RATE, lambda f: f.throughput.processed),
    "backlog": _of(RECORDS, lambda f: f.backlog.max if f.backlog else None),
    "final-backlog": _of(RECORDS, lambda f: f.backlog.final if f.backlog else None),
    "executors": _of(NUMBER, lambda f: f.workers.mean if f.workers else None),
    "max-executors": _of(NUMBER, lambda f: f.workers.max if f.workers else None),
    "worker-hours": _of(NUMBER, lambda f: f.workers.seconds / 3600 if f.workers else None),
    "cost": _of(NUMBER, lambda f: f.cost),
    "oracle": _of(NUMBER, lambda f: f.oracle.ratio if f.oracle else None),
    "rescales": _of(NUMBER, lambda f: f.rescales.count),
    "rerun-tasks": _of(NUMBER, lambda f: f.rerun_tasks),
    "duplicates": _Figure(RECORDS, lambda run: run.kafka.duplicates if run.kafka else None),
    "verified": _Figure(TRUTH, lambda run: run.verified),
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition under which a run fails; `policy` restricts it to one policy of a comparison."""

    text: str
    name: str
    operator: str
    value: Value
    policy: str | None = None

    def problem(self, runs: Sequence[RunResult]) -> str | None:
        """What is wrong with runs that differ only in their seeds: the mean of a figure breaks the threshold, or is not
        known. None if all is well.
        """
        figure = FIGURES[self.name]
        values = [figure.value(run) for run in runs]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return f'{self.name} is not known, so --fail-if "{self.text}" cannot be checked'
        # of truths, one that breaks the threshold is enough
        value = next((v for v in known if self._holds(v)), known[0]) if figure.kind is TRUTH else _mean(known)
        if not self._holds(value):
            return None
        return f'{self.name} is {figure.kind.write(value)}: --fail-if "{self.text}"'

    def _holds(self, value: Value) -> bool:
        return OPERATORS[self.operator](value, self.value)


def _mean(values: Sequence[Value]) -> float:
    return math.fsum(values) / len(values)


def thresholds(texts: Iterable[str] | None, policies: Iterable[str] | None = None) -> list[Threshold]:
    """Parse thresholds; `policies` are those that may stand before a colon, None where there is only one run.

    >>> thresholds(["late > 1%", "p95>=2m"])[1]
    Threshold(text='p95>=2m', name='p95', operator='>=', value=120.0, policy=None)
    >>> thresholds(["ds2:verified==false"], ["ds2", "hpa-cpu"])[0].policy
    'ds2'
    """
    choices = None if policies is None else list(policies)
    return [_threshold(text.strip(), choices) for text in texts or ()]


def _threshold(text: str, policies: Sequence[str] | None) -> Threshold:
    parts = _CONDITION.fullmatch(text)
    if parts is None or parts["operator"] not in OPERATORS:
        raise InvalidInput(
            f'--fail-if {text!r} is not NAME OPERATOR VALUE, like "late>1%" (operators: {" ".join(sorted(OPERATORS))})'
        )
    policy, name = parts["policy"], parts["name"]
    if policy is not None:
        policy = _policy(policy.strip(), text, policies)
    if name not in FIGURES:
        raise UnknownName("figure for --fail-if", name, FIGURES)
    kind = FIGURES[name].kind
    try:
        value = kind.parse(parts["value"].strip())
    except (ValueError, KeyError, TidegateError):
        raise InvalidInput(f"--fail-if {text!r}: need a value like {kind.example}, got {parts['value']!r}") from None
    if not math.isfinite(value):
        raise InvalidInput(f"--fail-if {text!r}: need a finite value, got {parts['value']!r}")
    if kind is TRUTH and parts["operator"] not in ("==", "!="):
        raise InvalidInput(f"--fail-if {text!r}: {name} is true or false, compare it with == or !=")
    return Threshold(text, name, parts["operator"], value, policy)


def _policy(policy: str, text: str, policies: Sequence[str] | None) -> str:
    if policies is None:
        raise InvalidInput(f"--fail-if {text!r}: there is one run, so no policy can stand before the condition")
    if policy not in (*policies, EVERY):
        raise UnknownName("policy for --fail-if", policy, [*policies, EVERY])
    return policy


@dataclass(frozen=True, slots=True)
class Place:
    """The runs of one policy on a job under a workload; `best` is the policy to choose there."""

    name: str
    policy: str
    best: bool
    runs: Sequence[RunResult] = field(default_factory=tuple)


def problems(conditions: Iterable[Threshold], places: Iterable[Place]) -> list[str]:
    """Sentences about the thresholds that are broken: a condition without a policy is for the best one, the ★."""
    found, listed = [], list(places)
    for condition in conditions:
        meant = [place for place in listed if _meant(condition, place)]
        if not meant:
            found.append(f'no run has figures, so --fail-if "{condition.text}" cannot be checked')
        for place in meant:
            problem = condition.problem(place.runs)
            found += [] if problem is None else [f"{place.name}: {problem}"]
    return found


def _meant(condition: Threshold, place: Place) -> bool:
    return place.best if condition.policy is None else condition.policy in (place.policy, EVERY)
