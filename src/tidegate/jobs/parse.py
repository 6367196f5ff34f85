"""Parsing JSON text into records, for all jobs that read text."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

#: the field in which Spark keeps text that it could not parse
MALFORMED = "_malformed"


def parse_records(raw: DataFrame, schema: str) -> DataFrame:
    """The records in the JSON column `value`."""
    return raw.select(F.from_json("value", schema).alias("record")).select("record.*")


def parse_record(value: Column, schema: str) -> Column:
    """A record as a struct that keeps the text if it could not be parsed; see `is_malformed`."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    return F.from_json(value, f"{schema}, {MALFORMED} string", options)


def is_malformed(record: Column, schema: str, optional: bool = False) -> Column:
    """True if the text is not JSON, has a value of the wrong type or, unless fields are optional, lacks a field."""
    broken = record.isNull() | record[MALFORMED].isNotNull()
    if optional:
        return broken
    fields = StructType.fromDDL(schema)
    assert isinstance(fields, StructType)
    missing = [record[field].isNull() for field in fields.fieldNames()]
    return reduce(Column.__or__, missing, broken)
