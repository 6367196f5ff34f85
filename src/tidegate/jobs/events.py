"""Kinds of records by name: each a pure function from record numbers to Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.core import UnknownName
from tidegate.jobs.bids import Bids


class Events(Protocol):
    @property
    def schema(self) -> str: ...
    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch: ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """The record numbers themselves: how fast the source is without any content."""

    seed: int = 0
    rate: float = 0.0
    schema: str = "value bigint"

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"value": pa.array(records)})


KINDS: Mapping[str, Callable[[int, float], Events]] = {"bids": Bids, "numbers": Numbers}


def events(name: str, *, seed: int, rate: float) -> Events:
    """
    >>> events("bids", seed=1, rate=100).schema
    'auction bigint, bidder bigint, price bigint, dateTime timestamp'
    """
    if name not in KINDS:
        raise UnknownName("kind of events", name, KINDS)
    return KINDS[name](seed, rate)
