"""Statistics of a written trace. Only as many numbers as a screen can show leave Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.traces.result import LEVELS, Envelope

#: about the number of pixel columns of a chart
POINTS = 1500
#: seconds per point; the largest is enough for the longest trace
WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Interpolated percentiles of the rate at LEVELS, and the number of seconds without records."""

    levels: tuple[float, ...]
    empty: int

    def at(self, level: float) -> float:
        return self.levels[LEVELS.index(level)]


def distribution(trace: DataFrame) -> Distribution:
    """Exact percentiles. Memory is bounded: n records have fewer than sqrt(2 n) distinct rates."""
    levels = F.percentile("rate", list(LEVELS)).alias("levels")
    row = trace.agg(levels, F.count_if(F.col("rate") == 0).alias("empty")).collect()[0]
    return Distribution(tuple(row["levels"]), row["empty"])


def width_of(seconds: int) -> int:
    """Seconds per point for a trace of this length.

    >>> width_of(1500), width_of(86_400), width_of(400 * 86_400)  # a point every 1 s, 1 min, 12 h
    (1, 60, 43200)
    """
    return next(width for width in WIDTHS if -(-seconds // width) <= POINTS)


def envelope(trace: DataFrame, first: int, seconds: int) -> Envelope:
    width = width_of(seconds)
    slot = F.expr(f"(UNIX_SECONDS(time) - {first}) div {width}").alias("slot")
    aggregates = (F.min("rate").alias("low"), F.avg("rate").alias("mean"), F.max("rate").alias("high"))
    rows = trace.groupBy(slot).agg(*aggregates).orderBy("slot").collect()
    low, mean, high = (tuple(row[name] for row in rows) for name in ("low", "mean", "high"))
    return Envelope(datetime.fromtimestamp(first, UTC), width, low, mean, high)
