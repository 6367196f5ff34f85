"""Kinds of events by name. Each is a pure function from record numbers to Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from tidegate.core import UnknownName
from tidegate.jobs.nexmark import Bids, Nexmark
from tidegate.jobs.sample import PREFIX, Sampled
from tidegate.jobs.skew import Skew
from tidegate.jobs.topspeed import TopSpeed
from tidegate.jobs.traffic import Traffic
from tidegate.jobs.words import Words
from tidegate.jobs.ysb import Ysb


class Events(Protocol):
    """A generator of events. `schema` describes the records as queries read them. If the events are JSON by definition,
    `text` is true, and `make` returns a single column `value` that has to be parsed.
    """

    @property
    def schema(self) -> str: ...
    @property
    def text(self) -> bool: ...
    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch: ...


@runtime_checkable
class Packed(Protocol):
    """Events that are sent to Spark in a smaller form and unpacked in the query."""

    @property
    def packed_schema(self) -> str: ...
    def pack(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch: ...
    def unpack(self, packed: DataFrame) -> DataFrame: ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """The record numbers themselves, to measure the source without the cost of content."""

    seed: int = 0
    rate: float = 0.0
    skew: Skew = Skew.default
    schema: str = "value bigint"
    text: bool = False

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"value": pa.array(records)})


#: kinds whose events do not have all fields
SPARSE = frozenset({"nexmark"})

#: their columns of times, the event time first; None where times are also inside of other columns
TIMES: Mapping[str, tuple[str, ...] | None] = {
    "bids": ("dateTime",),
    "nexmark": None,
    "words": (),
    "ysb": ("event_time",),
    "traffic": ("ts",),
    "topspeed": ("ts",),
}

KINDS: Mapping[str, Callable[[int, float, Skew], Events]] = {
    "bids": Bids,
    "nexmark": Nexmark,
    "words": Words,
    "ysb": Ysb,
    "traffic": Traffic,
    "topspeed": TopSpeed,
    "numbers": Numbers,
}


def events(name: str, *, seed: int, rate: float, skew: str = "default") -> Events:
    """
    >>> events("bids", seed=1, rate=100).schema
    'auction bigint, bidder bigint, price bigint, dateTime timestamp'
    """
    if skew not in Skew.__members__:
        raise UnknownName("skew", skew, Skew.__members__)
    if name.startswith(PREFIX):
        return Sampled.of(name, rate, Skew(skew))
    if name not in KINDS:
        raise UnknownName("kind of events", name, KINDS)
    return KINDS[name](seed, rate, Skew(skew))
