"""Figures of a run as JSON, so that another rate is answered without another run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from tidegate.core import InvalidInput
from tidegate.core.checked_fields import CheckedFields
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures, StateFigures
from tidegate.planner.spark_configuration.skew import Skew

#: most of anything: records/s, rows or bytes; seconds; tasks, slots or stages
MOST, LONGEST, MANY = 1e18, 1e9, 1_000_000


def plain(run: RunFigures) -> dict[str, Any]:
    """Of numbers, lists and objects alone."""
    return asdict(run)


def figures_from(values: Any, place: str) -> RunFigures:
    """What `plain` made. What no run can show is refused, with the place.

    >>> run = RunFigures(1e4, 2, 1, (StageFigures(8, 1e-5, skew=Skew(8, 0.2)),), 5.0, 2.0, 5e4)
    >>> figures_from(plain(run), "figures.json") == run
    True
    >>> figures_from({**plain(run), "executors": 0}, "figures.json")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: figures.json: need 1 <= executors <= 1e+06, got 0
    """
    checked = _checked(place, values, RunFigures)
    # lists of JSON are tuples before they are written
    listed = CheckedFields(place, {**checked.values, "stages": list(checked.values.get("stages") or ())})
    stages = tuple(_stage(f"{place}: stages", stage) for stage in listed.items("stages", MANY))
    if not stages:
        raise InvalidInput(f"{place}: need at least 1 stage, got none")
    keyed = None if checked.values.get("keyed") is None else checked.whole("keyed", 1, len(stages) - 1)
    return RunFigures(
        rate=checked.number("rate", 1e-9, MOST),
        executors=checked.whole("executors", 1, MANY),
        cores=checked.whole("cores", 1, MANY),
        stages=stages,
        trigger=checked.number("trigger", 1e-9, LONGEST),
        batch_seconds=checked.number("batch_seconds", 0.0, LONGEST),
        batch_records=checked.number("batch_records", 0.0, MOST),
        keyed=keyed,
        fixed=_optional(checked, "fixed", LONGEST),
        state=_state(f"{place}: state", checked.table("state")),
    )


def _stage(place: str, values: Any) -> StageFigures:
    checked = _checked(place, values, StageFigures)
    return StageFigures(
        tasks=checked.whole("tasks", 1, MANY),
        each=checked.number("each", 0.0, LONGEST),
        per_task=_optional(checked, "per_task", LONGEST),
        skew=_skew(f"{place}: skew", checked.table("skew")),
    )


def _skew(place: str, values: Mapping[str, Any] | None) -> Skew | None:
    if values is None:
        return None
    checked = _checked(place, values, Skew)
    return Skew(checked.whole("partitions", 1, MANY), checked.number("largest", 0.0, 1.0))


def _state(place: str, values: Mapping[str, Any] | None) -> StateFigures | None:
    if values is None:
        return None
    checked = _checked(place, values, StateFigures)
    return StateFigures(
        rows=checked.number("rows", 0.0, MOST),
        size=_optional(checked, "size", MOST),
        growing=bool(checked.values.get("growing")),
    )


def _optional(checked: CheckedFields, name: str, most: float) -> float | None:
    return None if checked.values.get(name) is None else checked.number(name, 0.0, most)


def _checked(place: str, values: Any, kind: type) -> CheckedFields:
    return CheckedFields.of(place, values, [field.name for field in fields(kind)])
