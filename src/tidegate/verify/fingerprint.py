"""Is what the stream produced what one batch query over the same records produces?

Both sides are reduced to a fingerprint: the number of rows, and the sum and the exclusive or of a 64-bit hash of each
row. Equal fingerprints mean equal multisets of rows, for all practical purposes, and a missing, doubled or altered
row changes them. The stream's side is summed up by Spark's `observe` in the query itself, so nothing is written or
read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NAME = "tidegate_result"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    rows: int = 0
    sum: int = 0
    xor: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, self.sum + other.sum, self.xor ^ other.xor)


def _columns(result: DataFrame, counts: Column | None = None) -> list[Column]:
    """Of the rows that count, or of all."""
    row = F.xxhash64(*[F.col(name) for name in result.columns])
    hashed = row if counts is None else F.when(counts, row)
    # the sum of 31-bit pieces of billions of rows stays within 64 bits
    pieces = F.sum(hashed.bitwiseAND(F.lit(0x7FFFFFFF)))
    return [F.count(hashed).alias("rows"), pieces.alias("sum"), F.bit_xor(hashed).alias("xor")]


def watched(result: DataFrame) -> DataFrame:
    """The same result, with its fingerprint in each progress report."""
    return result.observe(NAME, *_columns(result))


def streamed(observed: Iterable[Mapping[str, Any]]) -> Fingerprint:
    """Of all batches together, from the `observedMetrics` of their reports."""
    parts = (metrics[NAME] for metrics in observed if NAME in metrics)
    return sum((_fingerprint(part) for part in parts), Fingerprint())


def batch(result: DataFrame, closed_by: str | None = None, watermark: str | None = None) -> Fingerprint:
    """Of a batch result; of its rows that the stream's watermark had closed, where a column says when.

    The condition is in the aggregation: as a filter, Spark 4.3 pushes it below a session window's merging of
    sessions, which cuts sessions in pieces.
    """
    closed = None if closed_by is None else F.col(closed_by) <= F.lit(watermark).cast("timestamp")
    return _fingerprint(result.agg(*_columns(result, closed)).first().asDict())  # type: ignore[union-attr]


def _fingerprint(values: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(*(int(values[key] or 0) for key in ("rows", "sum", "xor")))
