"""Dead letters: malformed rows are written to a topic of their own, batch by batch, alongside the query.

The query itself only counts such rows (see `sources.kafka_topic`). If a batch has some, its part of the topic is read
again to find them; a topic without malformed rows is read once.
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
        #: one job at a time, to leave resources for the query's own batches
        self._work = ThreadPoolExecutor(1, "tidegate-dead-letters")
        self._sent: list[Future[None]] = []

    def send(self, begin: Offsets, end: Offsets) -> None:
        """Write the malformed rows between two offsets. Returns immediately."""
        self._sent.append(self._work.submit(self._write, begin, end))

    def close(self) -> str | None:
        """Wait for pending writes. Returns a message about the first error, if any."""
        self._work.shutdown(wait=True)
        errors = (future.exception() for future in self._sent)
        first = next((error for error in errors if error is not None), None)
        return None if first is None else f"dead letters could not be written to {self.name!r}: {first}".splitlines()[0]

    def _write(self, begin: Offsets, end: Offsets) -> None:
        create_topic(self._topic.bootstrap, self.name, 1, self._topic.given)
        letters = dead_letters(self._spark, self._topic, begin, end)
        options = {**self._topic.connection, "topic": self.name, "includeHeaders": "true"}
        letters.write.format("kafka").options(**options).save()
