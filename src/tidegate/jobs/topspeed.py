"""Top speed windowing (Flink's example, as used by Phoebe): a car's top speed in the last 10 s, every 50 m.

Events are those of Phoebe: JSON with the car's id, speed (km/h), distance (m) and time. Each speed is a random walk in
steps of 5 km/h per second, starting at 50 and limited to 0..100. `rate` cars report once per second of event time.
After ten minutes a car is replaced by another. Walks come from a library of 512, so that any record can be generated
on its own.
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

#: start of event time, ms
BASE_TIME = START * 1000
#: walks in the library, and seconds in each
WALKS, LIFE = 512, 600
#: metres between two results of a car, and the window of a result in ms
DISTANCE, WINDOW = 50.0, 10_000
#: ms without a record after which the state of a car is removed
TIMEOUT = 60_000


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
    """Speed and distance for every second of every walk, as a fragment of an event's JSON."""
    up = Draws(np.arange(WALKS * LIFE), 50).below(0, 2).reshape(WALKS, LIFE)
    speed = np.empty((WALKS, LIFE), dtype=np.int64)
    current = np.full(WALKS, 50)
    for second in range(LIFE):
        current = np.clip(current + np.where(up[:, second] > 0, 5, -5), 0, 100)
        speed[:, second] = current
    metres = np.round(np.cumsum(speed / 3.6, axis=1), 3)
    pairs = zip(speed.ravel(), metres.ravel(), strict=True)
    return pa.array([f'","sd":{sd},"dt":{float(dt)!r},"ts":' for sd, dt in pairs])


@dataclass(slots=True)
class Track:
    """The state of a car: its distance at the last result, and its records of the last 10 s as (ts, sd, dt)."""

    reference: float | None
    recent: list[tuple[int, int, float]]

    def feed(self, record: tuple[int, int, float]) -> tuple[int, int, float] | None:
        """The fastest recent record if this one is more than 50 m after the last result; ties go to the first.

        >>> track = Track(None, [])
        >>> [track.feed(r) for r in [(0, 90, 0.0), (1000, 70, 30.0), (2000, 80, 51.0), (3000, 60, 101.0)]]
        [None, None, (0, 90, 0.0), None]
        """
        time, _, distance = record
        # old records are dropped at every record and not only at results: same results, bounded state
        self.recent = [*(previous for previous in self.recent if previous[0] > time - WINDOW), record]
        if self.reference is None:
            self.reference = distance
        if distance - self.reference <= DISTANCE:
            return None
        self.reference = distance
        return max(self.recent, key=lambda candidate: candidate[1])


RESULT = "id string, sd int, dt double, ts bigint"
STATE = "reference double, recent string"


def follow(track: Track, parts: Iterable[pd.DataFrame]) -> list[tuple[int, int, float]]:
    """The results of a car's records, processed in the order of their times."""
    columns = ((part["ts"].tolist(), part["sd"].tolist(), part["dt"].tolist()) for part in parts)
    records = [record for times, speeds, distances in columns for record in zip(times, speeds, distances, strict=True)]
    return [fastest for fastest in map(track.feed, sorted(records)) if fastest is not None]


def _frame(id: str, results: list[tuple[int, int, float]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415, the source's workers do not need it

    rows = [(id, speed, distance, time) for time, speed, distance in results]
    # explicit types, because an empty result has none
    return pd.DataFrame(rows, columns=["id", "sd", "dt", "ts"]).astype({"sd": "int32", "dt": "float64", "ts": "int64"})


def _stream(key: tuple[Any, ...], parts: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        return
    reference, recent = state.get if state.exists else (None, "[]")
    track = Track(reference, [tuple(record) for record in json.loads(recent)])
    results = follow(track, parts)
    if results:
        yield _frame(key[0], results)
    state.update((track.reference, json.dumps(track.recent)))
    state.setTimeoutTimestamp(track.recent[-1][0] + TIMEOUT)


def _batch(key: tuple[Any, ...], records: pd.DataFrame) -> pd.DataFrame:
    return _frame(key[0], follow(Track(None, []), [records]))


def top_speeds(events: DataFrame) -> DataFrame:
    """For every 50 m of a car, the fastest record of its last 10 s; append mode.

    Runs in Python per car, because a result depends on the distance since the previous result, which Spark's windows
    cannot express. State: per car, the distance of the last result and up to 10 records, removed after 60 s without a
    record; the watermark delay is 1 s. Records of a car are processed in the order of their times, as in Flink's
    example. As a batch query the same function runs over all records of a car at once.
    """
    if not events.isStreaming:
        return events.groupBy("id").applyInPandas(_batch, RESULT)
    timed = events.withColumn("time", F.timestamp_millis("ts")).withWatermark("time", "1 second")
    return timed.groupBy("id").applyInPandasWithState(
        _stream, RESULT, STATE, "append", GroupStateTimeout.EventTimeTimeout
    )


JOB = Job(
    "topspeed",
    "Top speed windowing: a car's fastest of the last 10 s, every 50 m (Python state)",
    "topspeed",
    top_speeds,
)
