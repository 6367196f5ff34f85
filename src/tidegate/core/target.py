"""Targets: the levers of a running query, and the values to set them to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidegate.core.fast_init import fast_init


class Lever(StrEnum):
    """Something that can be changed while a query runs. Each engine declares which levers it supports."""

    EXECUTORS = "executors"
    OPERATORS = "workers per operator"
    BATCH_LIMIT = "records per batch"
    SHAPE = "shape of executors"


@dataclass(frozen=True, slots=True)
class ExecutorShape:
    """Size of an executor; memory in MiB."""

    cores: int = 1
    memory: int = 512


@fast_init
@dataclass(frozen=True, slots=True)
class Target:
    """A value for each lever; None leaves a lever unchanged.

    >>> Target(4), Target(4, batch_limit=50_000)
    (Target(4), Target(4, batch_limit=50000))
    """

    executors: int
    #: for engines whose operators have their own workers
    per_operator: Mapping[str, int] | None = None
    #: maximum records per batch
    batch_limit: int | None = None
    shape: ExecutorShape | None = None

    def __repr__(self) -> str:
        others = {"per_operator": self.per_operator, "batch_limit": self.batch_limit, "shape": self.shape}
        extra = "".join(f", {name}={value!r}" for name, value in others.items() if value is not None)
        return f"Target({self.executors}{extra})"
