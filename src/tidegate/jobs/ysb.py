"""The Yahoo Streaming Benchmark: advertisement events as JSON, and views per campaign in windows of 10 s.

Events are as in yahoo/streaming-benchmarks: seven text fields in the same order, 100 users, 100 pages, 100 campaigns
with 10 ads each, five types of ads and three of events, all drawn uniformly; ids are UUIDs derived from an index. With
`heavy` skew ads are drawn by Zipf's law with exponent 1, so that the first campaign has 39 % of the events.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.core import InvalidInput
from tidegate.jobs.definition import Job
from tidegate.jobs.draws import START, Draws, mix, zipf
from tidegate.jobs.skew import Skew

USERS = PAGES = CAMPAIGNS = 100
ADS = 1000
AD_TYPES = ["banner", "modal", "sponsored-search", "mail", "mobile"]
EVENT_TYPES = ["view", "click", "purchase"]
#: start of event time, ms
BASE_TIME = START * 1000


@dataclass(frozen=True, slots=True)
class Ysb:
    seed: int = 0
    rate: float = 10_000.0
    skew: Skew = Skew.default
    schema: str = (
        "user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time string,"
        " ip_address string"
    )
    text: bool = True

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise InvalidInput(f"events ysb: need an event rate > 0 records/s, got {self.rate}")

    def make(self, records: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """
        >>> import json
        >>> event = json.loads(Ysb(rate=1000).make(np.arange(2))["value"][1].as_py())
        >>> list(event)[:2], event["event_time"], event["ip_address"]
        (['user_id', 'page_id'], '1436918400001', '1.2.3.4')
        """
        draws = Draws(records, self.seed)
        elapsed = np.floor(records * (1e3 / self.rate)).astype(np.int64)
        parts = (
            _users().take(pa.array(draws.below(0, USERS))),
            _pages().take(pa.array(draws.below(1, PAGES))),
            _ads().take(pa.array(self._ad(draws))),
            _types().take(pa.array(draws.below(3, len(AD_TYPES) * len(EVENT_TYPES)))),
            pc.cast(pa.array(BASE_TIME + elapsed), pa.string()),
        )
        return pa.RecordBatch.from_pydict(
            {"value": pc.binary_join_element_wise(*parts, '","ip_address":"1.2.3.4"}', "")}
        )

    def _ad(self, draws: Draws) -> npt.NDArray[np.int64]:
        if self.skew is not Skew.heavy:
            return draws.below(2, ADS)
        return np.searchsorted(_shares(), draws.unit(2), "right")


def entity_uuid(entity: str, index: int) -> str:
    """A UUID for each index of each kind of entity.

    >>> entity_uuid("ad", 0) == entity_uuid("ad", 0), entity_uuid("ad", 0) == entity_uuid("page", 0)
    (True, False)
    """
    halves = Draws(np.array([index]), int.from_bytes(entity.encode(), "big"))
    high, low = (int(mix(halves.bits(draw))[0]) for draw in (0, 1))
    return str(uuid.UUID(int=high << 64 | low, version=4))


@cache
def _users() -> pa.Array:
    return pa.array([f'{{"user_id":"{entity_uuid("user", k)}","page_id":"' for k in range(USERS)])


@cache
def _pages() -> pa.Array:
    return pa.array([f'{entity_uuid("page", k)}","ad_id":"' for k in range(PAGES)])


@cache
def _ads() -> pa.Array:
    return pa.array([f'{entity_uuid("ad", k)}","ad_type":"' for k in range(ADS)])


@cache
def _types() -> pa.Array:
    return pa.array([f'{ad}","event_type":"{event}","event_time":"' for ad in AD_TYPES for event in EVENT_TYPES])


@cache
def _shares() -> npt.NDArray[np.float64]:
    return zipf(ADS, 1.0)


def campaigns(spark: SparkSession) -> DataFrame:
    """The campaign of each ad: ten ads per campaign, in the order of their indices."""
    rows = [(entity_uuid("ad", k), entity_uuid("campaign", k * CAMPAIGNS // ADS)) for k in range(ADS)]
    return spark.createDataFrame(rows, "ad_id string, campaign_id string")


def campaign_views(events: DataFrame) -> DataFrame:
    """Views per campaign and 10 s of event time: parse, filter, project, join with a table of ads, count; append mode.

    State: one count per campaign and open window. The watermark delay is 1 s, because event times only increase from
    batch to batch. The papers' versions look up campaigns in Redis; here the table is broadcast. Events with unknown
    ads are dropped, as in Yahoo's version (Daedalus keeps them as UNKNOWN). A window is emitted once, when it is
    complete, and not updated every second.
    """
    views = events.where("event_type = 'view'").select(
        "ad_id", F.timestamp_millis(F.col("event_time").cast("bigint")).alias("time")
    )
    with_campaign = views.withWatermark("time", "1 second").join(F.broadcast(campaigns(events.sparkSession)), "ad_id")
    counts = with_campaign.groupBy(F.window("time", "10 seconds"), "campaign_id").count()
    return counts.select("campaign_id", "count", F.col("window.start").alias("start"), F.col("window.end").alias("end"))


JOB = Job(
    "ysb", "Yahoo Streaming Benchmark: views per campaign in 10 s (JSON, join)", "ysb", campaign_views, closed_by="end"
)
