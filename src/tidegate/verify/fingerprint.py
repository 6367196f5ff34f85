"""Fingerprints to check that a stream produced the same result as one batch query over the same records.

A fingerprint consists of the number of rows and the sum and exclusive or of a 64-bit hash of each row. For all
practical purposes, equal fingerprints mean equal multisets of rows; a missing, duplicated or altered row changes it. On
the stream's side Spark's `observe` computes it in the query itself, so nothing is written or read twice.
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
    """Aggregates of a fingerprint over all rows, or over those that satisfy `counts`."""
    row = F.xxhash64(*[F.col(name) for name in result.columns])
    hashed = row if counts is None else F.when(counts, row)
    # the sum of 31-bit pieces stays within 64 bits for billions of rows
    pieces = F.sum(hashed.bitwiseAND(F.lit(0x7FFFFFFF)))
    return [F.count(hashed).alias("rows"), pieces.alias("sum"), F.bit_xor(hashed).alias("xor")]


def watched(result: DataFrame) -> DataFrame:
    """The result, with its fingerprint in each progress report."""
    return result.observe(NAME, *_columns(result))


def streamed(observed: Iterable[Mapping[str, Any]]) -> Fingerprint:
    """The fingerprint over all batches, from the `observedMetrics` of their reports."""
    parts = (metrics[NAME] for metrics in observed if NAME in metrics)
    return sum((_fingerprint(part) for part in parts), Fingerprint())


def batch(result: DataFrame, closed_by: str | None = None, watermark: str | None = None) -> Fingerprint:
    """The fingerprint of a batch result. With `closed_by`, a column of times, only of rows closed by the watermark.

    The condition is part of the aggregation: Spark 4.3 would push a filter below the merging of a session window, which
    cuts sessions into pieces.
    """
    closed = None if closed_by is None else F.col(closed_by) <= F.lit(watermark).cast("timestamp")
    return _fingerprint(result.agg(*_columns(result, closed)).first().asDict())  # type: ignore[union-attr]


def _fingerprint(values: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(*(int(values[key] or 0) for key in ("rows", "sum", "xor")))
