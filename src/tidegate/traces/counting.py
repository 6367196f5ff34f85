"""The one pass over all rows: records per second, and how many rows are no use and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.traces.faults import plain
from tidegate.traces.request import Span

GOOD, UNREADABLE, MISSING, UNKNOWN, EARLY, LATE, OUTSIDE = range(7)
#: what is wrong with a row, by its kind; those outside are no fault of the log
WRONG: Mapping[int, str] = {
    UNREADABLE: "line cannot be parsed",
    MISSING: "no time",
    UNKNOWN: "time cannot be read",
    EARLY: "time too early",
    LATE: "time in the future",
    OUTSIDE: "outside --from and --to",
}
#: of each kind, and of each the first characters
EXAMPLES, LENGTH = 3, 120


@dataclass(frozen=True, slots=True)
class Example:
    file: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Total:
    """All rows of a kind. Only good ones have times."""

    rows: int
    size: int | None
    notation: int
    first: int | None
    last: int | None


def classified(rows: DataFrame, span: Span, now: datetime) -> DataFrame:
    """With `kind`, and `second` only where it is good."""
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


def counted(rows: DataFrame) -> DataFrame:
    """A row for each kind and second. It is kept on disk: all that follows reads it, not the logs."""
    figures = (
        F.count(F.lit(1)).alias("rows"),
        F.sum("size").alias("size"),
        # the notation of a bad time says nothing
        F.bit_or(F.expr(f"IF(kind = {GOOD}, notation, 0)")).alias("notation"),
    )
    return rows.groupBy("kind", "second").agg(*figures).persist(StorageLevel.DISK_ONLY)


def totals(counts: DataFrame) -> dict[int, Total]:
    found = counts.groupBy("kind").agg(
        F.sum("rows").alias("rows"),
        F.sum("size").alias("size"),
        F.bit_or("notation").alias("notation"),
        F.min("second").alias("first"),
        F.max("second").alias("last"),
    )
    return {
        row["kind"]: Total(row["rows"], row["size"], row["notation"], row["first"], row["last"])
        for row in found.collect()
    }


def examples(rows: DataFrame, kind: int, count: int) -> tuple[Example, ...]:
    """A few bad rows of a kind: reads from the start until it has them."""
    shown = f"LEFT(COALESCE(unreadable, value), {LENGTH})"
    found = rows.where(F.col("kind") == kind).select("file", F.expr(shown).alias("shown")).take(min(EXAMPLES, count))
    return tuple(Example(plain(row["file"]), row["shown"]) for row in found)


def bulk(counts: DataFrame, cut: float = 0.001) -> tuple[datetime, datetime]:
    """First and last day of the good rows without the first and last `cut` of them."""
    days = F.expr("second div 86400").alias("day")
    found = counts.where(F.col("kind") == GOOD).groupBy(days).agg(F.sum("rows").alias("rows")).orderBy("day").collect()
    return trimmed([(row["day"], row["rows"]) for row in found], cut)


def trimmed(days: list[tuple[int, int]], cut: float) -> tuple[datetime, datetime]:
    """
    >>> first, last = trimmed([(0, 1), (19000, 5000), (19001, 5000), (19500, 2)], cut=0.001)
    >>> f"{first:%Y-%m-%d} {last:%Y-%m-%d}"
    '2022-01-08 2022-01-09'
    """
    spare = cut * sum(rows for _, rows in days)
    first, last = _beyond(days, spare), _beyond(days[::-1], spare)
    return datetime.fromtimestamp(first * 86400, UTC), datetime.fromtimestamp(last * 86400, UTC)


def _beyond(days: list[tuple[int, int]], spare: float) -> int:
    passed = 0
    for day, rows in days:
        passed += rows
        if passed > spare:
            return day
    return days[-1][0]
