"""The single pass over all rows: records per second, and the number of unusable rows by reason."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.traces.errors import file_name
from tidegate.traces.problems import EARLY, GOOD, LATE, MISSING, OUTSIDE, UNKNOWN, UNREADABLE, Example, Total
from tidegate.traces.request import Span

#: examples per kind, and characters per example
EXAMPLES, LENGTH = 3, 120


def classify(rows: DataFrame, span: Span, now: datetime) -> DataFrame:
    """Add `kind`, and keep `second` for good rows only."""
    latest = span.latest or now + timedelta(days=1)
    outside = " OR ".join(_outside(span)) or "FALSE"
    kind = (
        f"CASE WHEN unreadable IS NOT NULL THEN {UNREADABLE} WHEN blank THEN {MISSING}"
        f" WHEN second IS NULL THEN {UNKNOWN} WHEN second < {_epoch(span.earliest)} THEN {EARLY}"
        f" WHEN second > {_epoch(latest)} THEN {LATE} WHEN {outside} THEN {OUTSIDE} ELSE {GOOD} END"
    )
    return rows.withColumn("kind", F.expr(kind)).withColumn("second", F.expr(f"IF(kind = {GOOD}, second, NULL)"))


def _outside(span: Span) -> Iterator[str]:
    if span.start is not None:
        yield f"second < {_epoch(span.start)}"
    if span.end is not None:
        yield f"second >= {_epoch(span.end)}"


def _epoch(time: datetime) -> int:
    """
    >>> _epoch(datetime(1970, 1, 1, 0, 0, 7, 900_000, UTC))
    7
    """
    return int(time.timestamp() // 1)


def count_by_second(rows: DataFrame) -> DataFrame:
    """One row per kind and second, persisted on disk: every later step reads it instead of the logs."""
    aggregates = (
        F.count(F.lit(1)).alias("rows"),
        F.sum("size").alias("size"),
        # the notation of a bad time is meaningless
        F.bit_or(F.expr(f"IF(kind = {GOOD}, notation, 0)")).alias("notation"),
    )
    return rows.groupBy("kind", "second").agg(*aggregates).persist(StorageLevel.DISK_ONLY)


def totals_by_kind(counts: DataFrame) -> dict[int, Total]:
    totals = counts.groupBy("kind").agg(
        F.sum("rows").alias("rows"),
        F.sum("size").alias("size"),
        F.bit_or("notation").alias("notation"),
        F.min("second").alias("first"),
        F.max("second").alias("last"),
    )
    return {
        row["kind"]: Total(row["rows"], row["size"], row["notation"], row["first"], row["last"])
        for row in totals.collect()
    }


def examples(rows: DataFrame, kind: int, count: int) -> tuple[Example, ...]:
    """Up to `EXAMPLES` rows of a kind that has `count` of them. Spark stops reading once it has enough."""
    value = f"LEFT(COALESCE(unreadable, value), {LENGTH})"
    sample = rows.where(F.col("kind") == kind).select("file", F.expr(value).alias("shown")).take(min(EXAMPLES, count))
    return tuple(Example(file_name(row["file"]), row["shown"]) for row in sample)


def main_days(counts: DataFrame, cut: float = 0.001) -> tuple[datetime, datetime]:
    """The first and last day of the good rows after cutting the share `cut` of them at either end."""
    day = F.expr("second div 86400").alias("day")
    good = counts.where(F.col("kind") == GOOD)
    per_day = good.groupBy(day).agg(F.sum("rows").alias("rows")).orderBy("day").collect()
    return trim_days([(row["day"], row["rows"]) for row in per_day], cut)


def trim_days(rows_per_day: list[tuple[int, int]], cut: float) -> tuple[datetime, datetime]:
    """
    >>> first, last = trim_days([(0, 1), (19000, 5000), (19001, 5000), (19500, 2)], cut=0.001)
    >>> f"{first:%Y-%m-%d} {last:%Y-%m-%d}"
    '2022-01-08 2022-01-09'
    """
    spare = cut * sum(rows for _, rows in rows_per_day)
    first, last = _first_day_beyond(rows_per_day, spare), _first_day_beyond(rows_per_day[::-1], spare)
    return datetime.fromtimestamp(first * 86400, UTC), datetime.fromtimestamp(last * 86400, UTC)


def _first_day_beyond(rows_per_day: list[tuple[int, int]], spare: float) -> int:
    """The day on which the cumulative number of rows exceeds `spare`."""
    cumulative = 0
    for day, rows in rows_per_day:
        cumulative += rows
        if cumulative > spare:
            return day
    return rows_per_day[-1][0]
