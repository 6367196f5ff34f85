"""A stored run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tidegate.runs import RunResult, RunSpec, decode


@dataclass(frozen=True, slots=True)
class Run:
    """`status` is running, done, interrupted, failed, or abandoned if its process ended without a word.

    The result of a run that goes on, or was abandoned, is that of its last minute.
    """

    id: str
    created: float
    status: str
    spec: RunSpec
    result: RunResult | None = None
    #: what the attachment last said of itself, e.g. `holding: observing failed`; empty if it said nothing
    health: str = ""
    conditions: Any = None
    #: when it last showed that it goes on, and when it ended; None where that is not known
    seen: float | None = None
    ended: float | None = None


#: columns of `parse`
SELECT = (
    "SELECT id, created, runs.status, spec, result, health.status, conditions, health.time, ended"
    " FROM runs LEFT JOIN health ON health.run = id"
)


def parse(row: tuple[Any, ...]) -> Run:
    id, created, status, spec, result, health, conditions, seen, ended = row
    decoded = decode(RunSpec, json.loads(spec), f"run {id}")
    told = None if conditions is None else json.loads(conditions)
    return Run(id, created, status, decoded, _result(json.loads(result or "null"), id), health or "", told, seen, ended)


def _result(values: Any, id: str) -> RunResult | None:
    """Earlier versions stored an empty result if nothing was known."""
    return decode(RunResult, {"run": id, "status": "", **values}, f"run {id}") if values else None
