"""The definition of a job: a query over one stream of records, and what is needed to run and verify it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Job:
    """A query and its input. `build` maps the records to the result, for streams and for batches.

    `closed_by` is the time column of the result that the watermark must pass before a row is final; None if rows are
    final immediately. In update mode rows are revised, and the last row of each `key` is the result.
    """

    name: str
    summary: str
    events: str
    build: Callable[[DataFrame], DataFrame]
    mode: Literal["append", "update"] = "append"
    closed_by: str | None = None
    key: tuple[str, ...] = ()
