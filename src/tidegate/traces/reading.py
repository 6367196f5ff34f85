"""Log rows in one common form: `time` as written, `key` as a string, `size` in bytes, and `unreadable`, the line if
it could not be parsed.

Text files are read line by line and parsed afterwards, so that the size of each line is known and no line is lost:
what Spark's CSV and JSON readers do with a malformed line depends on the selected columns.
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

#: lines of JSON that are sampled to find its fields
SAMPLE = 1000
UNREADABLE = "unreadable"
PARSING = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREADABLE}


def read(spark: SparkSession, inputs: Inputs, request: Request, with_file: bool = False) -> DataFrame:
    """All rows of all sources with the columns `second`, `notation`, `blank` (there is no time), `unreadable`, `value`
    (the time as written), `key`, `size` and, on request, `file`.
    """
    parts = [_with_seconds(_rows(spark, source, request, with_file), request) for source in inputs.sources]
    rows = reduce(DataFrame.unionByName, parts)
    # a sum over some of the rows would be mistaken for the sum over all
    has_sizes = all(source.format != "parquet" for source in inputs.sources)
    return rows if has_sizes else rows.withColumn("size", F.lit(None).cast("bigint"))


def _with_seconds(rows: DataFrame, request: Request) -> DataFrame:
    time_type = rows.schema["time"].dataType
    blank = "time IS NULL OR TRIM(time) = ''" if isinstance(time_type, StringType) else "time IS NULL"
    derived = (*stages(time_type, request.unit), {"blank": blank, "value": "CAST(time AS STRING)"})
    for stage in derived:
        rows = rows.withColumns({name: F.expr(sql) for name, sql in stage.items()})
    return rows.drop("time", "whole", "decimal", "scale")


def _rows(spark: SparkSession, source: Source, request: Request, with_file: bool) -> DataFrame:
    if source.format == "parquet":
        return _parquet(spark, source, request, with_file)
    lines = spark.read.text([escaped(file) for file in source.files])
    lines = lines.where(F.trim("value") != "").select("value", *_file_column(with_file))
    return _csv(lines, source, request) if source.format == "csv" else _json(lines, source, request)


def _file_column(with_file: bool) -> list[Column]:
    return [F.col("_metadata.file_path").alias("file")] if with_file else []


def escaped(file: str) -> str:
    """A path as a pattern that matches only itself. URLs are unchanged and may be patterns.

    >>> escaped("/logs/a[1].csv"), escaped("hdfs://host/logs/*.csv")
    ('/logs/a\\\\[1\\\\].csv', 'hdfs://host/logs/*.csv')
    """
    return file if "://" in file else re.sub(r"([\\[\]{}*?])", r"\\\1", file)


def _csv(lines: DataFrame, source: Source, request: Request) -> DataFrame:
    """A line equal to the header is skipped wherever it is: logs are often concatenated from files with headers."""
    first = source.first if source.first is not None else _first_line(lines, source)
    names = columns.of_header(first, source.separator, request.header)
    if request.header:
        lines = lines.where(F.ltrim("value", F.lit("\ufeff")) != first)
    schema = ", ".join(f"c{number} STRING" for number in range(len(names)))
    options = {**PARSING, "sep": source.separator, "escape": '"'}
    parsed = F.from_csv("value", f"{schema}, {UNREADABLE} STRING", options)

    def field(name: str) -> Column:
        return F.col("parsed").getField(f"c{names.index(columns.resolve(name, names, _place(source)))}")

    return _select(lines.withColumn("parsed", parsed), field, request)


def _first_line(lines: DataFrame, source: Source) -> str:
    row = lines.first()
    if row is None:
        raise InvalidInput(f"{source.files[0]} has no rows")
    return str(row["value"]).lstrip("\ufeff")


def _json(lines: DataFrame, source: Source, request: Request) -> DataFrame:
    available = columns.of_lines(row["value"] for row in lines.select("value").take(SAMPLE))
    place = f"{_place(source)} (in its first {SAMPLE:,} lines)"
    paths = {name: columns.resolve(name, available, place) for name in (request.time, request.key) if name is not None}
    schema = StructType([*columns.schema_of(paths.values()).fields, StructField(UNREADABLE, StringType())])
    parsed = F.from_json("value", schema, PARSING)

    def field(name: str) -> Column:
        return reduce(Column.getField, paths[name], F.col("parsed"))

    return _select(lines.withColumn("parsed", parsed), field, request)


def _select(rows: DataFrame, field: Callable[[str], Column], request: Request) -> DataFrame:
    selected = {
        "time": field(request.time),
        "key": field(request.key) if request.key is not None else F.lit(None).cast("string"),
        "size": F.octet_length("value").cast("bigint"),
        UNREADABLE: F.col("parsed").getField(UNREADABLE),
    }
    file = [F.col("file")] if "file" in rows.columns else []
    return rows.select(*[column.alias(name) for name, column in selected.items()], *file)


def _parquet(spark: SparkSession, source: Source, request: Request, with_file: bool) -> DataFrame:
    """`size` is null: computing it would require reading every column."""
    reader = spark.read if source.base is None else spark.read.option("basePath", source.base)
    rows = reader.parquet(*[escaped(file) for file in source.files])
    available = list(columns.of_schema(rows.schema))

    def field(name: str) -> Column:
        first, *inner = columns.resolve(name, available, _place(source))
        return reduce(Column.getField, inner, rows[f"`{first}`"])

    null = F.lit(None)
    selected = {
        "time": field(request.time),
        "key": (field(request.key) if request.key is not None else null).cast("string"),
        "size": null.cast("bigint"),
        UNREADABLE: null.cast("string"),
    }
    result = rows.select(*[column.alias(name) for name, column in selected.items()], *_file_column(with_file))
    time_type = result.schema["time"].dataType
    if not can_be_time(time_type):
        raise InvalidInput(
            f"column {request.time} of {_place(source)} is of type {time_type.simpleString()}:"
            " need timestamps, dates, numbers or strings as times"
        )
    return result


def _place(source: Source) -> str:
    more = f" and {len(source.files) - 1} more" if len(source.files) > 1 else ""
    return f"{source.files[0]}{more}"
