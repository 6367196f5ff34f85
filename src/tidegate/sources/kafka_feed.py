"""A run's records from a Kafka topic: the topic, the producer that fills it, and what becomes of rows that are no
records.
"""

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
#: seconds between two looks at the broker
LOOK = 5.0


class KafkaFeed:
    """Made before Spark is there: waits for the broker and for the topic, so that nothing is started in vain."""

    def __init__(self, topic: Topic, limit: int, patience: float, say: Say) -> None:
        self.topic, self._limit, self._patience, self._say = topic, limit, patience, say
        wait_for_broker(topic.bootstrap, patience, say)
        self._producer: ProducerProcess | None = None
        self._made: ProducerResult | None = None
        self._letters: DeadLetters | None = None
        self._looked = time.monotonic()
        self._away = False
        self.malformed = 0

    def use(self, partitions: int, make: bool) -> int:
        """Take the topic, or make it; how many partitions it has. What is in it already is not read."""
        name, bootstrap = self.topic.name, self.topic.bootstrap
        found = create_topic(bootstrap, name, partitions) if make else topic_partitions(bootstrap, name)
        self.begin = end_offsets(bootstrap, name)
        self.end = dict(self.begin)
        return found

    @property
    def base(self) -> float:
        return float(sum(self.begin.values()))

    def produce(self, order: ProducerSpec) -> None:
        self._producer = ProducerProcess(order)

    def go(self, start: float) -> None:
        """Let the producer begin, if there is one."""
        if self._producer:
            self._producer.start(start)

    def target(self) -> Target:
        return Target(self.topic.bootstrap, self.topic.name, len(self.begin))

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
        """Now and then, whether producer and broker are there; says so when the broker goes or comes."""
        if self._producer:
            self._producer.poll()
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        away = not is_reachable(self.topic.bootstrap)
        if away != self._away:
            what = "does not answer: the query waits for it" if away else "answers again"
            self._say(f"the Kafka broker at {self.topic.bootstrap} {what}")
        self._away = away

    def recovers(self) -> bool:
        """Whether a failed query may go on from its checkpoint: the broker was away, and is back."""
        if not self._away and is_reachable(self.topic.bootstrap):
            return False
        wait_for_broker(self.topic.bootstrap, self._patience, self._say)
        self._away = False
        return True

    def settle(self) -> str | None:
        """Nothing more is read: end the producer, finish the dead letters; what went wrong, if anything did. A second
        time does nothing.
        """
        producer, self._producer = self._producer, None
        if producer:
            self._made = producer.close()
        letters, self._letters = self._letters, None
        return letters.close() if letters else None

    def counted(self, spark: SparkSession, connector: str | None = None) -> KafkaCounts:
        """A last look at the topic, at the numbers in the keys of what was read."""
        made = self._made
        read = sum(self.end.values()) - sum(self.begin.values())
        if made is None:
            return KafkaCounts(self.topic.name, read, self.malformed, connector=connector)
        rows = kafka.rows(spark, self.topic, self.begin, end_offsets(self.topic.bootstrap, self.topic.name))
        numbers = rows.select(kafka.number(F.col("key")).alias("i")).where(F.col("i") < made.sent)
        found = numbers.agg(F.count("i"), F.count_distinct("i")).first() or (0, 0)
        return KafkaCounts(
            self.topic.name,
            read,
            self.malformed,
            produced=made.sent,
            duplicates=int(found[0] - found[1]),
            losses=int(made.sent - found[1]),
            behind=made.behind,
            connector=connector,
        )
