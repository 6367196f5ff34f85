"""Sinks for the result of a run, which keep what is needed to verify it against a batch query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidegate.jobs import Job
from tidegate.kafka import create_topic, end_offsets
from tidegate.runs import SinkCounts
from tidegate.sources.kafka_topic import Topic, rows
from tidegate.spark.engine import SparkEngine
from tidegate.verify.fingerprint import batch, streamed, watched
from tidegate.verify.revisions import keep, latest, newest


class QuerySink(Protocol):
    """A sink for the result of a query."""

    def writer(self, result: DataFrame) -> DataStreamWriter: ...
    def agrees(self, spark: SparkSession, engine: SparkEngine, expected: DataFrame) -> bool:
        """Whether the written result equals `expected`, that of one batch query over the same records."""

    def counts(self) -> SinkCounts | None:
        """Counts of the written rows, if the sink has them."""


@dataclass(slots=True)
class NoopSink:
    """Discards the result, but keeps its fingerprint, or all revisions of a query in update mode."""

    kind: Job
    folder: Path
    verify: bool = True

    def writer(self, result: DataFrame) -> DataStreamWriter:
        if self.verify and self.kind.mode == "update":
            return result.writeStream.outputMode(self.kind.mode).foreachBatch(keep(self.folder))
        return (watched(result) if self.verify else result).writeStream.format("noop").outputMode(self.kind.mode)

    def agrees(self, spark: SparkSession, engine: SparkEngine, expected: DataFrame) -> bool:
        """Whether the fingerprints are equal."""
        reference = batch(expected, self.kind.closed_by, engine.log.watermark)
        if self.kind.mode == "update":
            return reference == batch(latest(spark, self.folder, self.kind.key))
        return reference == streamed(engine.observed.values())

    def counts(self) -> SinkCounts | None:
        return None


class KafkaSink:
    """Writes to a Kafka topic as JSON; in update mode with the row's key as the record's key, so that revisions stay in
    order.

    Spark writes to Kafka at least once: a batch that is rerun writes its rows again. Such duplicates are counted.
    """

    def __init__(self, kind: Job, topic: Topic, partitions: int) -> None:
        self._kind, self._topic = kind, topic
        create_topic(topic.bootstrap, topic.name, partitions, topic.given)
        self._begin = self._end()
        self._rows: int | None = None
        self._duplicates: int | None = None
        self._losses: int | None = None

    def writer(self, result: DataFrame) -> DataStreamWriter:
        options = {**self._topic.connection, "topic": self._topic.name}
        records = self._records(result)
        return records.writeStream.format("kafka").options(**options).outputMode(self._kind.mode)

    def agrees(self, spark: SparkSession, engine: SparkEngine, expected: DataFrame) -> bool:
        """Whether the topic has every row of the batch result and no others. Duplicates are allowed, as readers can
        recognise them.
        """
        written = rows(spark, self._topic, self._begin, self._end())
        if self._kind.mode == "update":
            written = newest(written, ["key"], "offset")
        closed = self._records(self._closed(expected, engine.log.watermark))
        both = _counts(written, "written").join(_counts(closed, "expected"), "value", "full_outer").fillna(0)
        surplus = F.greatest(F.col("written") - F.col("expected"), F.lit(0))
        wrong = F.sum(F.when(F.col("expected") == 0, F.col("written")).otherwise(0))
        more = F.sum(F.when(F.col("expected") > 0, surplus).otherwise(0))
        less = F.sum(F.greatest(F.col("expected") - F.col("written"), F.lit(0)))
        totals = both.agg(F.sum("written"), wrong, more, less).first() or (0, 0, 0, 0)
        self._rows, unexpected, self._duplicates, self._losses = (int(value or 0) for value in totals)
        return unexpected == 0 and self._losses == 0

    def _end(self) -> dict[int, int]:
        return end_offsets(self._topic.bootstrap, self._topic.name, self._topic.given)

    def counts(self) -> SinkCounts | None:
        return SinkCounts(self._topic.name, self._rows, self._duplicates, self._losses)

    def _records(self, result: DataFrame) -> DataFrame:
        value = F.to_json(F.struct("*")).alias("value")
        if not self._kind.key:
            return result.select(value)
        return result.select(F.to_json(F.struct(*self._kind.key)).alias("key"), value)

    def _closed(self, expected: DataFrame, watermark: str | None) -> DataFrame:
        if self._kind.closed_by is None:
            return expected
        # materialised, as Spark 4.3 would push the filter below the merging of sessions
        return expected.localCheckpoint().where(F.col(self._kind.closed_by) <= F.lit(watermark).cast("timestamp"))


def _counts(values: DataFrame, name: str) -> DataFrame:
    return values.select(F.col("value").cast("string")).groupBy("value").agg(F.count("*").alias(name))
