"""A Kafka topic as a feed: the topic, its producer, and the handling of malformed rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core.observed import RECORDS
from tidegate.kafka import create_topic, end_offsets, topic_partitions, wait_for_broker
from tidegate.kafka.process import ProducerProcess, ProducerSpec
from tidegate.kafka.producer import ProducerResult, Target
from tidegate.kafka.topics import is_reachable
from tidegate.runs import KafkaCounts
from tidegate.sources import kafka_topic as kafka
from tidegate.sources.dead_letters import DeadLetters
from tidegate.sources.kafka_topic import Topic

Say = Callable[[str], None]
#: seconds between two checks of the broker
LOOK = 5.0


class KafkaFeed:
    """Created before Spark is started: waits for the broker first, so that Spark is not started in vain."""

    def __init__(self, topic: Topic, limit: int, patience: float, say: Say) -> None:
        self.topic, self._limit, self._patience, self._say = topic, limit, patience, say
        wait_for_broker(topic.bootstrap, patience, say, topic.given)
        self._producer: ProducerProcess | None = None
        self._produced: ProducerResult | None = None
        self._letters: DeadLetters | None = None
        self._checked = time.monotonic()
        self._broker_away = False
        self.malformed = 0

    def use(self, partitions: int, make: bool) -> int:
        """Use the topic, or create it with `make`. Returns its number of partitions. Existing records are skipped."""
        name, bootstrap, given = self.topic.name, self.topic.bootstrap, self.topic.given
        actual = create_topic(bootstrap, name, partitions, given) if make else topic_partitions(bootstrap, name, given)
        self.begin = end_offsets(bootstrap, name, given)
        self.end = dict(self.begin)
        return actual

    @property
    def base(self) -> float:
        return float(sum(self.begin.values()))

    def produce(self, order: ProducerSpec) -> None:
        self._producer = ProducerProcess(order)

    def go(self, start: float) -> None:
        """Start the producer, if there is one."""
        if self._producer:
            self._producer.start(start)

    def target(self) -> Target:
        return Target(self.topic.bootstrap, self.topic.name, len(self.begin), self.topic.given)

    def stream(self, spark: SparkSession) -> DataFrame:
        if self._letters is None:
            self._letters = DeadLetters(spark, self.topic)
        return kafka.stream(spark, self.topic, self.begin, self._limit)

    def table(self, spark: SparkSession) -> DataFrame:
        return kafka.table(spark, self.topic, self.begin, self.end)

    def report(self, report: Mapping[str, Any]) -> None:
        source = report["sources"][0]
        begin = kafka.offsets(source.get("startOffset"), self.topic.name) or self.begin
        self.end = kafka.offsets(source.get("endOffset"), self.topic.name) or self.end
        bad = int(((report.get("observedMetrics") or {}).get(RECORDS) or {}).get("malformed") or 0)
        if not bad or self._letters is None:
            return
        if not self.malformed:
            self._say(f"{bad:,} rows of {self.topic.name!r} are no records: they go to {self._letters.name!r}")
        self.malformed += bad
        self._letters.send(begin, self.end)

    def look(self) -> None:
        """Check the producer and, every few seconds, the broker. Reports when the broker goes away or comes back."""
        if self._producer:
            self._producer.poll()
        if time.monotonic() - self._checked < LOOK:
            return
        self._checked = time.monotonic()
        away = not is_reachable(self.topic.bootstrap, self.topic.given)
        if away != self._broker_away:
            what = "does not answer: the query waits for it" if away else "answers again"
            self._say(f"the Kafka broker at {self.topic.bootstrap} {what}")
        self._broker_away = away

    def recovers(self) -> bool:
        """Whether a failed query can be resumed from its checkpoint: the broker was away and is back. Waits for it."""
        if not self._broker_away and is_reachable(self.topic.bootstrap, self.topic.given):
            return False
        wait_for_broker(self.topic.bootstrap, self._patience, self._say, self.topic.given)
        self._broker_away = False
        return True

    def settle(self) -> str | None:
        """Stop the producer and finish the dead letters. Returns the error, if any. A second call does nothing."""
        producer, self._producer = self._producer, None
        if producer:
            self._produced = producer.close()
        letters, self._letters = self._letters, None
        return letters.close() if letters else None

    def counted(self, spark: SparkSession, connector: str | None = None) -> KafkaCounts:
        """Counts of the run, with duplicates and losses from the record numbers in the topic's keys."""
        produced = self._produced
        read = sum(self.end.values()) - sum(self.begin.values())
        if produced is None:
            return KafkaCounts(self.topic.name, read, self.malformed, connector=connector)
        end = end_offsets(self.topic.bootstrap, self.topic.name, self.topic.given)
        rows = kafka.rows(spark, self.topic, self.begin, end)
        numbers = rows.select(kafka.number(F.col("key")).alias("i")).where(F.col("i") < produced.sent)
        counts = numbers.agg(F.count("i"), F.count_distinct("i")).first() or (0, 0)
        return KafkaCounts(
            self.topic.name,
            read,
            self.malformed,
            produced=produced.sent,
            duplicates=int(counts[0] - counts[1]),
            losses=int(produced.sent - counts[1]),
            behind=produced.behind,
            connector=connector,
        )
