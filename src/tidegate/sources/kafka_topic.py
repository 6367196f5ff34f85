"""A Kafka topic as a job's records, as a stream or as a table.

Values are JSON. Rows that do not match the job's schema are counted and dropped from the stream; `dead_letters` finds
them in the topic. Creation times of records are aggregated by `observe` in the query itself, so that latency needs no
second pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core.observed import RECORDS
from tidegate.jobs import parse
from tidegate.kafka.options import Options, spark_options

#: partition -> offset
Offsets = Mapping[int, int]
#: quantile steps between the first and the last creation time of a batch
STEPS = 32
#: accuracy of the quantiles: rank within 1/1000 of the batch
ACCURACY = 1000
#: milliseconds after which an unreachable broker is an error; the run then waits and resumes from its checkpoint
TIMEOUT = 20_000


@dataclass(frozen=True, slots=True)
class Topic:
    """Location and schema of records; `optional` if fields may be missing in a valid record."""

    bootstrap: str
    name: str
    schema: str
    optional: bool = False
    #: the user's for Kafka's clients; they may have secrets
    given: Options = field(default_factory=dict, repr=False)

    @property
    def options(self) -> dict[str, str]:
        limits = {"kafka.request.timeout.ms": str(TIMEOUT), "kafka.default.api.timeout.ms": str(TIMEOUT)}
        return {"subscribe": self.name, **limits, **self.connection}

    @property
    def connection(self) -> dict[str, str]:
        """Options of Spark's readers and writers alike."""
        return {**spark_options(self.given), "kafka.bootstrap.servers": self.bootstrap}

    def at(self, offsets: Offsets) -> str:
        """Offsets in Spark's JSON format.

        >>> Topic("a:1", "bids", "").at({0: 5, 1: 7})
        '{"bids": {"0": 5, "1": 7}}'
        """
        return json.dumps({self.name: {str(part): offset for part, offset in offsets.items()}})


def stream(spark: SparkSession, topic: Topic, begin: Offsets, limit: int) -> DataFrame:
    """Records from `begin` on, at most `limit` per batch. Each progress report has the metrics `RECORDS`."""
    options = {**topic.options, "startingOffsets": topic.at(begin), "maxOffsetsPerTrigger": str(limit)}
    raw = spark.readStream.format("kafka").options(**options).load()
    parsed = _parsed(raw, topic)
    created = F.percentile_approx(F.unix_millis("timestamp"), [k / STEPS for k in range(STEPS + 1)], ACCURACY)
    observed = parsed.observe(RECORDS, created.alias("times"), F.count_if("malformed").alias("malformed"))
    return _valid(observed)


def table(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """The records between two offsets, as a batch read."""
    return _valid(_parsed(rows(spark, topic, begin, end), topic))


def rows(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """The raw rows of the topic between two offsets."""
    bounds = {"startingOffsets": topic.at(begin), "endingOffsets": topic.at(end)}
    return spark.read.format("kafka").options(**topic.options, **bounds).load()


def dead_letters(spark: SparkSession, topic: Topic, begin: Offsets, end: Offsets) -> DataFrame:
    """The malformed rows between two offsets, with `key`, `value` and `headers` as Spark writes them to another topic.
    The headers hold their origin.
    """
    malformed = _parsed(rows(spark, topic, begin, end), topic).where("malformed")
    origin = {
        "tidegate-topic": F.col("topic"),
        "tidegate-partition": F.col("partition"),
        "tidegate-offset": F.col("offset"),
    }
    headers = [
        F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))
        for name, value in origin.items()
    ]
    return malformed.select("key", "value", F.array(*headers).alias("headers"))


def offsets(text: Any, topic: str) -> dict[int, int]:
    """Parse the `startOffset` or `endOffset` of a progress report.

    >>> offsets('{"bids": {"1": 7, "0": 5}}', "bids")
    {1: 7, 0: 5}
    """
    parsed = json.loads(text) if isinstance(text, str) else text
    return {int(partition): int(offset) for partition, offset in (parsed or {}).get(topic, {}).items()}


def number(key: Column) -> Column:
    """The record number that the producer wrote into the key."""
    return F.conv(F.hex(key), 16, 10).cast("bigint")


def _parsed(raw: DataFrame, topic: Topic) -> DataFrame:
    record = parse.parse_record(F.col("value").cast("string"), topic.schema).alias("record")
    parsed = raw.select("*", record)
    return parsed.withColumn("malformed", parse.is_malformed(F.col("record"), topic.schema, topic.optional))


def _valid(parsed: DataFrame) -> DataFrame:
    return parsed.where("not malformed").select("record.*").drop(parse.MALFORMED)
