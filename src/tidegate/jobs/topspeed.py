"""Top speed windowing (Flink's example, as Phoebe runs it): the fastest a car was in its last 10 s, every 50 m.

Events are Phoebe's: JSON text with the car's id, speed (km/h), distance (m) and time. A car's speed walks by 5 km/h up
or down each second, from 50, within 0 and 100. `rate` cars are on the road and report once a second of event time; a
car drives for ten minutes, then another takes its place. Its walk is one of a library of 512, so that any record can
be made alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from tidegate.core import InvalidInput
from tidegate.jobs.definition import Job
from tidegate.jobs.draws import START, Draws
from tidegate.jobs.skew import Skew, refuse_skew

if TYPE_CHECKING:
    import pandas as pd

#: in milliseconds
BASE_TIME = START * 1000
WALKS, LIFE = 512, 600
#: metres between two results of a car, and ms that a result looks back
EVERY, BACK = 50.0, 10_000
#: ms without a record after which a car is forgotten
FORGET = 60_000


@dataclass(frozen=True, slots=True)
class TopSpeed:
    seed: int = 0
    rate: float = 10_000.0
    skew: Skew = Skew.default
    schema: str = "id string, sd int, dt double, ts bigint"
    text: bool = True

    def __post_init__(self) -> None:
        if not self.rate >= 1:
            raise InvalidInput(f"events topspeed: need an event rate >= 1 records/s, got {self.rate}")
        refuse_skew("topspeed", self.skew)

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """
        >>> TopSpeed(rate=2).make(np.arange(1))["value"][0].as_py()
        '{"id":"0","sd":55,"dt":15.278,"ts":1436918400000}'
        """
        cars = int(self.rate)
        tick, slot = np.divmod(records, cars)
        car = tick // LIFE * cars + slot
        place = Draws(car, self.seed).below(0, WALKS) * LIFE + tick % LIFE
        number, time = (pc.cast(pa.array(values), pa.string()) for values in (car, BASE_TIME + 1000 * tick))
        parts = ('{"id":"', number, walks().take(pa.array(place)), time, "}")
        return pa.RecordBatch.from_pydict({"value": pc.binary_join_element_wise(*parts, "")})


@cache
def walks() -> pa.Array:
    """Speed and distance of every second of every walk, as an event has them."""
    up = Draws(np.arange(WALKS * LIFE), 50).below(0, 2).reshape(WALKS, LIFE)
    speed = np.empty((WALKS, LIFE), dtype=np.int64)
    now = np.full(WALKS, 50)
    for second in range(LIFE):
        now = np.clip(now + np.where(up[:, second] > 0, 5, -5), 0, 100)
        speed[:, second] = now
    metres = np.round(np.cumsum(speed / 3.6, axis=1), 3)
    pairs = zip(speed.ravel(), metres.ravel(), strict=True)
    return pa.array([f'","sd":{sd},"dt":{float(dt)!r},"ts":' for sd, dt in pairs])


@dataclass(slots=True)
class Track:
    """What is kept of a car: its distance at the last result, and its records of the last 10 s as (ts, sd, dt)."""

    reference: float | None
    recent: list[tuple[int, int, float]]

    def feed(self, record: tuple[int, int, float]) -> tuple[int, int, float] | None:
        """The fastest recent record, if this one is more than 50 m beyond the last result; the first of equals.

        >>> track = Track(None, [])
        >>> [track.feed(r) for r in [(0, 90, 0.0), (1000, 70, 30.0), (2000, 80, 51.0), (3000, 60, 101.0)]]
        [None, None, (0, 90, 0.0), None]
        """
        time, _, distance = record
        # dropping what is too old at every record, not only at a result, changes no result and bounds the state
        self.recent = [*(kept for kept in self.recent if kept[0] > time - BACK), record]
        if self.reference is None:
            self.reference = distance
        if distance - self.reference <= EVERY:
            return None
        self.reference = distance
        return max(self.recent, key=lambda kept: kept[1])


RESULT = "id string, sd int, dt double, ts bigint"
STATE = "reference double, recent string"


def follow(track: Track, parts: Iterable[pd.DataFrame]) -> list[tuple[int, int, float]]:
    """The results of a car's records, which count in the order of their times."""
    records = [r for p in parts for r in zip(p["ts"].tolist(), p["sd"].tolist(), p["dt"].tolist(), strict=True)]
    return [best for best in map(track.feed, sorted(records)) if best is not None]


def _frame(id: str, results: list[tuple[int, int, float]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415, the source's workers make events without it

    rows = [(id, speed, distance, time) for time, speed, distance in results]
    # the types are said because an empty result has none of its own
    return pd.DataFrame(rows, columns=["id", "sd", "dt", "ts"]).astype({"sd": "int32", "dt": "float64", "ts": "int64"})


def _stream(key: tuple[Any, ...], parts: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        return
    reference, recent = state.get if state.exists else (None, "[]")
    track = Track(reference, [tuple(kept) for kept in json.loads(recent)])
    results = follow(track, parts)
    if results:
        yield _frame(key[0], results)
    state.update((track.reference, json.dumps(track.recent)))
    state.setTimeoutTimestamp(track.recent[-1][0] + FORGET)


def _batch(key: tuple[Any, ...], records: pd.DataFrame) -> pd.DataFrame:
    return _frame(key[0], follow(Track(None, []), [records]))


def topspeed(events: DataFrame) -> DataFrame:
    """For every 50 m that a car drove, the fastest record of its last 10 s; append.

    In Python, per car: what a result refers to is where the last result was, and Spark's windows cannot say that.
    State: per car the last result's distance and up to 10 records, forgotten after 60 s without one; the watermark
    trails by 1 s. A car's records count in the order of their times, as in Flink's example. As a batch query the same
    function runs over all records of a car at once.
    """
    if not events.isStreaming:
        return events.groupBy("id").applyInPandas(_batch, RESULT)
    timed = events.withColumn("time", F.timestamp_millis("ts")).withWatermark("time", "1 second")
    return timed.groupBy("id").applyInPandasWithState(
        _stream, RESULT, STATE, "append", GroupStateTimeout.EventTimeTimeout
    )


JOB = Job(
    "topspeed", "Top speed windowing: a car's fastest of the last 10 s, every 50 m (Python state)", "topspeed", topspeed
)
