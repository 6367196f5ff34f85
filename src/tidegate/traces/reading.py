"""Logs as rows of one form: `time` as it was written, `key` as text, `size` in bytes, and `unreadable`: the line that
could not be parsed.

Texts are read line by line and parsed afterwards, so that a line's bytes are known and none is lost: what Spark's own
readers of CSV and JSON do with a bad line depends on which columns are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from tidegate.core import InvalidInput
from tidegate.traces import columns
from tidegate.traces.inputs import Inputs, Source
from tidegate.traces.request import Request
from tidegate.traces.times import can_be_time, stages

#: lines of JSON that are looked at to know which fields there are
SAMPLE = 1000
UNREADABLE = "unreadable"
PARSING = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREADABLE}


def read(spark: SparkSession, inputs: Inputs, request: Request, with_file: bool = False) -> DataFrame:
    """`second`, `notation`, `blank` (no time at all), `unreadable`, `value` (the time as it was written), `key`,
    `size` and, if wanted, `file` of every row of every source.
    """
    parts = [_timed(_rows(spark, source, request, with_file), request) for source in inputs.sources]
    rows = reduce(DataFrame.unionByName, parts)
    # a sum over some of the rows would pass for that of all
    sized = all(source.format != "parquet" for source in inputs.sources)
    return rows if sized else rows.withColumn("size", F.lit(None).cast("bigint"))


def _timed(rows: DataFrame, request: Request) -> DataFrame:
    kind = rows.schema["time"].dataType
    blank = "time IS NULL OR TRIM(time) = ''" if isinstance(kind, StringType) else "time IS NULL"
    derived = (*stages(kind, request.unit), {"blank": blank, "value": "CAST(time AS STRING)"})
    for stage in derived:
        rows = rows.withColumns({name: F.expr(sql) for name, sql in stage.items()})
    return rows.drop("time", "whole", "decimal", "scale")


def _rows(spark: SparkSession, source: Source, request: Request, with_file: bool) -> DataFrame:
    if source.format == "parquet":
        return _parquet(spark, source, request, with_file)
    lines = spark.read.text([escaped(file) for file in source.files])
    kept = [F.col("value"), *_file(with_file)]
    lines = lines.where(F.trim("value") != "").select(*kept)
    return _csv(lines, source, request) if source.format == "csv" else _json(lines, source, request)


def _file(wanted: bool) -> list[Column]:
    return [F.col("_metadata.file_path").alias("file")] if wanted else []


def escaped(file: str) -> str:
    """A path as a pattern that matches only itself; an address stays the pattern that it may be.

    >>> escaped("/logs/a[1].csv"), escaped("hdfs://host/logs/*.csv")
    ('/logs/a\\\\[1\\\\].csv', 'hdfs://host/logs/*.csv')
    """
    return file if "://" in file else re.sub(r"([\\[\]{}*?])", r"\\\1", file)


def _csv(lines: DataFrame, source: Source, request: Request) -> DataFrame:
    """A line that equals the header is a header wherever it stands: logs are put together of files with headers."""
    first = source.first if source.first is not None else _first(lines, source)
    names = columns.of_header(first, source.separator, request.header)
    if request.header:
        lines = lines.where(F.ltrim("value", F.lit("\ufeff")) != first)
    schema = ", ".join(f"c{number} STRING" for number in range(len(names)))
    options = {**PARSING, "sep": source.separator, "escape": '"'}
    parsed = F.from_csv("value", f"{schema}, {UNREADABLE} STRING", options)

    def field(name: str) -> Column:
        return F.col("parsed").getField(f"c{names.index(columns.resolve(name, names, _place(source)))}")

    return _picked(lines.withColumn("parsed", parsed), field, request)


def _first(lines: DataFrame, source: Source) -> str:
    found = lines.first()
    if found is None:
        raise InvalidInput(f"{source.files[0]} has no rows")
    return str(found["value"]).lstrip("\ufeff")


def _json(lines: DataFrame, source: Source, request: Request) -> DataFrame:
    known = columns.of_lines(row["value"] for row in lines.select("value").take(SAMPLE))
    place = f"{_place(source)} (in its first {SAMPLE:,} lines)"
    paths = {name: columns.resolve(name, known, place) for name in (request.time, request.key) if name is not None}
    schema = StructType([*columns.schema_of(paths.values()).fields, StructField(UNREADABLE, StringType())])
    parsed = F.from_json("value", schema, PARSING)

    def field(name: str) -> Column:
        return reduce(Column.getField, paths[name], F.col("parsed"))

    return _picked(lines.withColumn("parsed", parsed), field, request)


def _picked(rows: DataFrame, field: Callable[[str], Column], request: Request) -> DataFrame:
    chosen = {
        "time": field(request.time),
        "key": field(request.key) if request.key is not None else F.lit(None).cast("string"),
        "size": F.octet_length("value").cast("bigint"),
        UNREADABLE: F.col("parsed").getField(UNREADABLE),
    }
    file = [F.col("file")] if "file" in rows.columns else []
    return rows.select(*[column.alias(name) for name, column in chosen.items()], *file)


def _parquet(spark: SparkSession, source: Source, request: Request, with_file: bool) -> DataFrame:
    """Without sizes: they would take reading all columns."""
    reader = spark.read if source.base is None else spark.read.option("basePath", source.base)
    rows = reader.parquet(*[escaped(file) for file in source.files])
    known = list(columns.of_schema(rows.schema))

    def field(name: str) -> Column:
        first, *inner = columns.resolve(name, known, _place(source))
        return reduce(Column.getField, inner, rows[f"`{first}`"])

    nothing = F.lit(None)
    key = field(request.key).cast("string") if request.key is not None else nothing.cast("string")
    chosen = {
        "time": field(request.time),
        "key": key,
        "size": nothing.cast("bigint"),
        UNREADABLE: nothing.cast("string"),
    }
    picked = rows.select(*[column.alias(name) for name, column in chosen.items()], *_file(with_file))
    kind = picked.schema["time"].dataType
    if not can_be_time(kind):
        raise InvalidInput(
            f"column {request.time} of {_place(source)} is of type {kind.simpleString()}:"
            " need timestamps, dates, numbers or texts as times"
        )
    return picked


def _place(source: Source) -> str:
    more = f" and {len(source.files) - 1} more" if len(source.files) > 1 else ""
    return f"{source.files[0]}{more}"
