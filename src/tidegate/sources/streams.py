"""Records of the embedded source in a job's schema, as a stream or as a table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from tidegate.jobs.event_kinds import Packed
from tidegate.jobs.parse import parse_records
from tidegate.sources.embedded import kind_of


def stream(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return _records(spark.readStream.format("tidegate").options(**options).load(), options)


def records(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The records from number `begin` to `end` (both options), as a batch read."""
    return _records(spark.read.format("tidegate").options(**options).load(), options)


def _records(raw: DataFrame, options: Mapping[str, str]) -> DataFrame:
    kind = kind_of(options)
    if isinstance(kind, Packed):
        return kind.unpack(raw)
    return parse_records(raw, kind.schema) if kind.text else raw
