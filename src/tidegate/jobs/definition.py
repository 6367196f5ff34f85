"""A job: a query over one stream of records, with what is needed to run it and to check its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Job:
    """`build` makes the result from the records, streamed or not.

    `closed_by` names the result's column, a time, that the watermark must have passed before a row is final; None
    where every row is final at once. In update mode rows are revised: the last one of each `key` counts.
    """

    name: str
    summary: str
    events: str
    build: Callable[[DataFrame], DataFrame]
    mode: Literal["append", "update"] = "append"
    closed_by: str | None = None
    key: tuple[str, ...] = ()
