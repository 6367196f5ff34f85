"""Where a run's records come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from tidegate.sources import streams


class Feed(Protocol):
    """`base` is the source position from which records are counted."""

    @property
    def base(self) -> float: ...
    def stream(self, spark: SparkSession) -> DataFrame: ...

    def table(self, spark: SparkSession) -> DataFrame:
        """The records of all finished batches."""

    def report(self, report: Mapping[str, Any]) -> None:
        """Hear of a batch, from its progress report."""


@dataclass(slots=True)
class Embedded:
    """Tidegate's own source, with its options."""

    options: Mapping[str, str]
    end: int = 0
    base: float = 0.0

    def stream(self, spark: SparkSession) -> DataFrame:
        return streams.stream(spark, self.options)

    def table(self, spark: SparkSession) -> DataFrame:
        return streams.records(spark, {**self.options, "begin": "0", "end": str(self.end)})

    def report(self, report: Mapping[str, Any]) -> None:
        self.end = max([self.end, *(int(source["endOffset"]["record"]) for source in report["sources"])])
