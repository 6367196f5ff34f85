"""A Kafka topic as a job's records, streamed or as a table, with what they tell of themselves.

Values are JSON. What cannot be read as the job's record is counted and leaves the stream; `dead_letters` finds it
again in the topic. When records were created is summed up by `observe` while they pass, so latency needs no second
look at them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core.observed import RECORDS
from tidegate.jobs import parse

#: partition -> offset
Offsets = Mapping[int, int]
#: so many steps between the first and the last creation time of a batch are told
STEPS = 32
#: how exact they are: rank within 1/1000 of the batch
ACCURACY = 1000
#: an address that does not answer is an error after so many ms: the run then waits and goes on from its checkpoint
TIMEOUT = 20_000


@dataclass(frozen=True, slots=True)
class Topic:
    """Where records are, and what they look like: `optional` where fields may be missing in a good record."""

    bootstrap: str
    name: str
    schema: str
    optional: bool = False

    @property
    def options(self) -> dict[str, str]:
        limits = {"kafka.request.timeout.ms": str(TIMEOUT), "kafka.default.api.timeout.ms": str(TIMEOUT)}
        return {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.name, **limits}

    def at(self, offsets: Offsets) -> str:
        """As Spark wants it.

        >>> Topic("a:1", "bids", "").at({0: 5, 1: 7})
        '{"bids": {"0": 5, "1": 7}}'
        """
        return json.dumps({self.name: {str(part): offset for part, offset in offsets.items()}})


def stream(spark: SparkSession, topic: Topic, begin: Offsets, limit: int) -> DataFrame:
    """Records from `begin` on, at most `limit` in a batch; each batch tells of its records (see `told`)."""
    options = {**topic.options, "startingOffsets": topic.at(begin), "maxOffsetsPerTrigger": str(limit)}
    raw = spark.readStream.format("kafka").options(**options).load()
    read = _read(raw, topic)
    created = F.percentile_approx(F.unix_millis("timestamp"), [k / STEPS for k in range(STEPS + 1)], ACCURACY)
    told = read.observe(RECORDS, created.alias("times"), F.count_if("malformed").alias("malformed"))
    return _good(told)


def table(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """The same records once more."""
    return _good(_read(rows(spark, topic, begin, end), topic))


def rows(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """What the topic holds between two places, as Kafka keeps it."""
    places = {"startingOffsets": topic.at(begin), "endingOffsets": topic.at(end)}
    return spark.read.format("kafka").options(**topic.options, **places).load()


def dead_letters(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """The rows between two places that are no records, with where they were: `key`, `value` and `headers`, as Spark
    writes them to another topic.
    """
    bad = _read(rows(spark, topic, begin, end), topic).where("malformed")
    place = {
        "tidegate-topic": F.col("topic"),
        "tidegate-partition": F.col("partition"),
        "tidegate-offset": F.col("offset"),
    }
    headers = [
        F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))
        for name, value in place.items()
    ]
    return bad.select("key", "value", F.array(*headers).alias("headers"))


def offsets(text: Any, topic: str) -> dict[int, int]:
    """Of a progress report's `startOffset` or `endOffset`.

    >>> offsets('{"bids": {"1": 7, "0": 5}}', "bids")
    {1: 7, 0: 5}
    """
    told = json.loads(text) if isinstance(text, str) else text
    return {int(part): int(offset) for part, offset in (told or {}).get(topic, {}).items()}


def number(key: Column) -> Column:
    """The record's number that the producer wrote into its key."""
    return F.conv(F.hex(key), 16, 10).cast("bigint")


def _read(raw: DataFrame, topic: Topic) -> DataFrame:
    record = parse.parse_record(F.col("value").cast("string"), topic.schema).alias("record")
    read = raw.select("*", record)
    return read.withColumn("malformed", parse.is_malformed(F.col("record"), topic.schema, topic.optional))


def _good(read: DataFrame) -> DataFrame:
    return read.where("not malformed").select("record.*").drop(parse.MALFORMED)
