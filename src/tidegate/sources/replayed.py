"""A recorded topic as a feed whose load can change: a replay into a topic of its own, which the query reads.

Spark fixes the limit of a batch when the query starts, so unlike the embedded source this one cannot change it. And
there is more behind it that can be too slow, so it says what it made available.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from tidegate.jobs.parse import parse_records
from tidegate.planner.estimator.phases import Supply
from tidegate.sources import kafka_topic as kafka
from tidegate.sources.kafka_topic import Topic
from tidegate.workloads import Shape


class Replaying(Protocol):
    """A `kafka.replayer.Replayer`."""

    def start(self) -> None: ...
    def offer(self, load: Shape, since: float) -> None: ...
    def supplied(self, rate: float, begin: float, end: float) -> Supply | None: ...
    def remove(self, offsets: Mapping[int, int]) -> None: ...
    def close(self) -> None: ...


class Replayed:
    """`topic` is that of the replay, new and with this number of partitions; batches have at most `limit` records, and
    begin every `trigger` seconds.
    """

    base = 0.0

    def __init__(self, replay: Replaying, topic: Topic, partitions: int, limit: int, trigger: float) -> None:
        self._replay, self.topic, self._limit, self._trigger = replay, topic, limit, trigger
        self._first = dict.fromkeys(range(partitions), 0)
        self.end = dict(self._first)

    def offer(self, load: Shape, since: float) -> None:
        """Offer a load from `since` on instead of the current one."""
        self._replay.offer(load, since)

    def stream(self, spark: SparkSession) -> DataFrame:
        options = {**self.topic.options, "startingOffsets": self.topic.at(self.end)}
        raw = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger=str(self._limit)).load()
        return self._records(raw)

    def table(self, spark: SparkSession) -> DataFrame:
        """Whole only while no records were removed, which is for a few seconds: replays are not verified."""
        return self._records(kafka.rows(spark, self.topic, self._first, self.end))

    def _records(self, raw: DataFrame) -> DataFrame:
        """All of them are Tidegate's own, so none is malformed."""
        return parse_records(raw.selectExpr("cast(value as string) as value"), self.topic.schema)

    def report(self, report: Mapping[str, Any]) -> None:
        source = report["sources"][0]
        # a batch may run again after a failure, so its own records are kept
        self._replay.remove(kafka.offsets(source.get("startOffset"), self.topic.name) or self._first)
        self.end = kafka.offsets(source.get("endOffset"), self.topic.name) or self.end

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        """What was made available between two epoch times, in which `rate` was offered. Where a batch may not have what
        arrives in a trigger interval, no more than its limit is.
        """
        supply = self._replay.supplied(rate, begin, end)
        most = self._limit / self._trigger
        if supply is None or rate <= most:
            return supply
        return Supply(min(supply.rate, most), able=False)

    def close(self) -> None:
        self._replay.close()
