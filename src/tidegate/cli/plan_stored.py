"""What a folder of `tidegate plan` holds, from JSON: checked, as its files outlive the command and may be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tidegate.core import InvalidInput
from tidegate.core.checked_fields import CheckedFields
from tidegate.planner.averaging import Interval
from tidegate.planner.explorer import Probe
from tidegate.planner.measurement import Measurement
from tidegate.planner.space import Configuration
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.planner.spark_configuration.stored_figures import figures_from
from tidegate.planner.spark_configuration.stored_figures import plain as plain_figures
from tidegate.planner.validation import Validation
from tidegate.profiling.partition_trial_runs import TrialProbe

#: most records/s, MiB or minutes; slots or partitions
MOST, MANY = 1e18, 10_000_000
#: least rate and memory
LEAST = 1e-9
#: characters of a text, like the reason of a failure
LONGEST = 100_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """Figures of a run with a configuration; `reason` says why there are none."""

    of: Configuration
    figures: RunFigures | None
    reason: str = ""

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Those of the largest run are kept. Some of a smaller one are better than none."""
        return self.figures is not None, self.of.slots, self.of.memory

    @property
    def plain(self) -> Mapping[str, Any]:
        figures = None if self.figures is None else plain_figures(self.figures)
        return {"slots": self.of.slots, "memory": self.of.memory, "figures": figures, "reason": self.reason}


def figures_kept(place: str, values: Any) -> KeptFigures:
    checked = CheckedFields.of(place, values, ("slots", "memory", "figures", "reason"))
    figures = checked.table("figures")
    run = None if figures is None else figures_from(figures, place)
    return KeptFigures(Configuration(*_configuration(checked)), run, _text(checked, "reason"))


def probe(place: str, values: Any) -> Probe:
    checked = _fields(place, values, Probe)
    return Probe(
        *_configuration(checked),
        _optional(checked, "rate"),
        checked.number("minutes", 0.0, MOST),
        _text(checked, "failure"),
        _optional(checked, "low"),
        _optional(checked, "high"),
        _text(checked, "ending"),
        _text(checked, "limit"),
    )


def trial(place: str, values: Any) -> TrialProbe:
    checked = _fields(place, values, TrialProbe)
    slots, memory = _configuration(checked)
    return TrialProbe(
        slots,
        memory,
        checked.whole("partitions", 1, MANY),
        _optional(checked, "rate", LEAST),
        checked.number("minutes", 0.0, MOST),
        _text(checked, "failure"),
    )


def validation(place: str, values: Any) -> Validation:
    checked = _fields(place, values, Validation)
    measured = _fields(place, checked.table("measurement"), Measurement)
    predicted = _fields(place, checked.table("predicted"), Interval)
    return Validation(
        Measurement(*_configuration(measured), measured.number("rate", LEAST, MOST)),
        Interval(*(predicted.number(name, LEAST, MOST) for name in ("low", "median", "high"))),
    )


def items(place: str, values: Any, made: Callable[[str, Any], T]) -> tuple[T, ...]:
    if not isinstance(values, list):
        raise InvalidInput(f"{place}: need a list")
    return tuple(made(f"{place}: item {number}", each) for number, each in enumerate(values, 1))


def _configuration(checked: CheckedFields) -> tuple[int, float]:
    return checked.whole("slots", 1, MANY), checked.number("memory", LEAST, MOST)


def _optional(checked: CheckedFields, name: str, least: float = 0.0) -> float | None:
    return None if checked.values.get(name) is None else checked.number(name, least, MOST)


def _text(checked: CheckedFields, name: str) -> str:
    """May be empty, or missing."""
    return checked.text(name, LONGEST) if checked.values.get(name) else ""


def _fields(place: str, values: Any, kind: type) -> CheckedFields:
    return CheckedFields.of(place, values, [field.name for field in fields(kind)])
