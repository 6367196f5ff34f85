"""Feeds: the source of a run's records, and the embedded source as a feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from tidegate.planner.estimator.phases import Supply
from tidegate.sources import streams
from tidegate.sources.schedule import Schedule
from tidegate.workloads import Shape


class Feed(Protocol):
    """A source of records. `base` is the source position from which records are counted."""

    @property
    def base(self) -> float: ...
    def stream(self, spark: SparkSession) -> DataFrame: ...

    def table(self, spark: SparkSession) -> DataFrame:
        """The records of all finished batches, as a batch read."""

    def report(self, report: Mapping[str, Any]) -> None:
        """Process the progress report of a batch."""


@runtime_checkable
class Changeable(Protocol):
    """A feed whose load can change while the query runs."""

    def offer(self, load: Shape, since: float) -> None:
        """Offer a load from `since` (epoch seconds) on instead of the current one."""


@runtime_checkable
class Limited(Protocol):
    """A feed that may be slower than what it is asked for."""

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        """What it made available between two times in which `rate` was offered; None if it does not know."""


@dataclass(slots=True)
class Embedded:
    """Tidegate's own source, whose load and batch limit can change while the query runs.

    `options` are those of the source; the schedule is passed to the query through a file.
    """

    options: Mapping[str, str]
    file: Path
    schedule: Schedule = field(default_factory=Schedule)
    #: records of finished batches
    end: int = 0
    base: float = 0.0

    def offer(self, load: Shape, since: float) -> None:
        """Offer a load from `since` on instead of the current one."""
        self._change(self.schedule.then(load, since))

    @property
    def value(self) -> int:
        """Maximum records per batch; 0 for no limit."""
        return self.schedule.limit

    def set(self, records: int) -> None:
        self._change(replace(self.schedule, limit=records))

    def _change(self, schedule: Schedule) -> None:
        schedule.write(self.file)
        self.schedule = schedule

    def stream(self, spark: SparkSession) -> DataFrame:
        first = {"first": str(self.end)} if self.end else {}
        return streams.stream(spark, {**self.options, "schedule": str(self.file), **first})

    def table(self, spark: SparkSession) -> DataFrame:
        return streams.records(spark, {**self.options, "begin": "0", "end": str(self.end)})

    def report(self, report: Mapping[str, Any]) -> None:
        self.end = max([self.end, *(int(source["endOffset"]["record"]) for source in report["sources"])])
