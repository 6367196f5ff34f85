"""JSON text to records, in one place for every job that reads text."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

#: the field in which Spark keeps a text that it could not read
MALFORMED = "_malformed"


def parsed(raw: DataFrame, schema: str) -> DataFrame:
    """The records in the column `value`."""
    return raw.select(F.from_json("value", schema).alias("record")).select("record.*")


def record(value: Column, schema: str) -> Column:
    """A record as a struct that remembers whether it could be read; see `malformed`."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    return F.from_json(value, f"{schema}, {MALFORMED} string", options)


def malformed(record: Column, schema: str, optional: bool = False) -> Column:
    """True where the text was no JSON, had a value of a wrong type, or, unless fields are optional, lacked one."""
    broken = record.isNull() | record[MALFORMED].isNotNull()
    if optional:
        return broken
    fields = StructType.fromDDL(schema)
    assert isinstance(fields, StructType)
    missing = [record[field].isNull() for field in fields.fieldNames()]
    return reduce(Column.__or__, missing, broken)
