"""Dead letters: what was no record goes to a topic of its own, batch by batch, beside the query.

The query only counts such rows (see `sources.kafka_topic`). Where a batch had some, they are read again from the topic, and
only they; a topic without faults is read once.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import SparkSession

from tidegate.kafka import create_topic
from tidegate.sources.kafka_topic import Offsets, Topic, dead_letters


class DeadLetters:
    def __init__(self, spark: SparkSession, topic: Topic) -> None:
        self._spark, self._topic = spark, topic
        self.name = f"{topic.name}.malformed"
        #: one at a time: the query's own batches come first
        self._work = ThreadPoolExecutor(1, "tidegate-dead-letters")
        self._sent: list[Future[None]] = []

    def send(self, begin: Offsets, end: Offsets) -> None:
        """Those between two places; returns at once."""
        self._sent.append(self._work.submit(self._write, begin, end))

    def close(self) -> str | None:
        """Wait for what is on its way; the first thing that went wrong, as a sentence."""
        self._work.shutdown(wait=True)
        errors = (future.exception() for future in self._sent)
        first = next((error for error in errors if error is not None), None)
        return None if first is None else f"dead letters could not be written to {self.name!r}: {first}".splitlines()[0]

    def _write(self, begin: Offsets, end: Offsets) -> None:
        create_topic(self._topic.bootstrap, self.name, 1)
        letters = dead_letters(self._spark, self._topic, begin, end)
        options = {"kafka.bootstrap.servers": self._topic.bootstrap, "topic": self.name, "includeHeaders": "true"}
        letters.write.format("kafka").options(**options).save()
