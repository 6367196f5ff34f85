"""Every job on literal rows as a batch, and as a stream, stopped and started again, against the batch result."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.jobs import JOBS, events, job
from tidegate.jobs.ysb import entity_uuid
from tidegate.sources.streams import records, stream
from tidegate.verify.fingerprint import batch
from tidegate.verify.revisions import keep, latest
from tidegate.workloads import Constant

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]
START = datetime(2015, 7, 15)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def made(spark: SparkSession, name: str, rows: list[Any]) -> list[tuple[Any, ...]]:
    """The job's result over these rows, in order."""
    schema = events(job(name).events, seed=0, rate=1).schema
    return sorted(tuple(row) for row in job(name).build(spark.createDataFrame(rows, schema)).collect())


def bid(auction: int, bidder: int, second: float, price: int = 100) -> tuple[Any, ...]:
    return (auction, bidder, price, at(second))


def person(id: int, second: float, state: str = "OR") -> tuple[Any, ...]:
    return (0, (id, f"P{id}", "a@b.com", "0000", "Bend", state, at(second)), None, None, at(second))


def auction(id: int, seller: int, second: float, category: int = 10) -> tuple[Any, ...]:
    row = (id, "item", "about it", 100, 200, at(second), at(second + 1), seller, category)
    return (1, None, row, None, at(second))


def test_q1_converts_prices_exactly(spark: SparkSession) -> None:
    # 99,999,999 * 0.908 = 90,799,999.092: a float of 32 bits would lose it
    rows = [bid(1, 7, 0, 100), bid(2, 8, 1, 99_999_999)]
    assert made(spark, "q1", rows) == [(1, 7, Decimal("90.800"), at(0)), (2, 8, Decimal("90799999.092"), at(1))]


def test_q2_keeps_every_123rd_auction(spark: SparkSession) -> None:
    assert made(spark, "q2", [bid(123, 1, 0, 5), bid(124, 1, 0), bid(1230, 2, 0, 6)]) == [(123, 5), (1230, 6)]


def test_q3_joins_sellers_of_three_states_with_their_auctions_of_category_10(spark: SparkSession) -> None:
    rows = [
        person(1, 0),
        person(2, 0, "WA"),
        person(3, 0, "ID"),
        auction(10, 1, 5),
        auction(11, 1, 5, category=11),
        auction(12, 2, 5),
        auction(13, 3, 60),  # exactly at the end of the person's time to live
        auction(14, 3, 60.001),
        auction(15, 9, 1),
    ]
    assert made(spark, "q3", rows) == [("P1", "Bend", "OR", 10), ("P3", "Bend", "ID", 13)]


def test_q5_keeps_all_auctions_that_share_the_maximum(spark: SparkSession) -> None:
    # seconds 0 and 1 are in the windows that end at 2, 4, …, 10; second 11 in those that end at 12, …, 20
    rows = [bid(1, 1, 0), bid(1, 1, 1), bid(2, 1, 0), bid(2, 1, 1), bid(3, 1, 0), bid(4, 1, 11)]
    early = [(auction, 2, at(end)) for auction in (1, 2) for end in (2, 4, 6, 8, 10)]
    assert made(spark, "q5", rows) == sorted([*early, *((4, 1, at(end)) for end in (12, 14, 16, 18, 20))])


def test_q8_tells_each_new_seller_of_a_window_once(spark: SparkSession) -> None:
    rows = [person(1, 0), auction(10, 1, 1), auction(11, 1, 2), person(2, 9), auction(12, 2, 10), person(3, 12)]
    # person 2 sells in the next window
    assert made(spark, "q8", rows) == [(1, "P1", at(0))]


def test_q11_joins_bids_up_to_a_gap_apart(spark: SparkSession) -> None:
    rows = [bid(1, 7, 0), bid(2, 7, 10), bid(1, 7, 20.001), bid(1, 8, 0)]
    assert made(spark, "q11", rows) == [(7, 1, at(20.001), at(30.001)), (7, 2, at(0), at(20)), (8, 1, at(0), at(10))]


def test_wordcount_counts_lower_case_words(spark: SparkSession) -> None:
    assert made(spark, "wordcount", [("The tide, the  gate!",), ("",)]) == [("gate", 1), ("the", 2), ("tide", 1)]


def test_ysb_counts_views_of_known_ads_per_campaign(spark: SparkSession) -> None:
    def event(ad: str, kind: str, second: float) -> tuple[str, ...]:
        return (
            "u",
            "p",
            ad,
            "mail",
            kind,
            str(int((START.replace(tzinfo=UTC).timestamp() + second) * 1000)),
            "1.2.3.4",
        )

    first, tenth, eleventh = (entity_uuid("ad", k) for k in (0, 9, 10))
    rows = [
        event(first, "view", 0),
        event(tenth, "view", 9.999),  # ads 0 to 9 are one campaign
        event(first, "click", 1),
        event(first, "view", 10),
        event(eleventh, "view", 3),
        event("nobody's", "view", 3),
    ]
    one, other = entity_uuid("campaign", 0), entity_uuid("campaign", 1)
    expected = [(one, 2, at(0), at(10)), (one, 1, at(10), at(20)), (other, 1, at(0), at(10))]
    assert made(spark, "ysb", rows) == sorted(expected)


def test_traffic_averages_the_speed_of_vehicles_near_the_centre(spark: SparkSession) -> None:
    def event(plate: str, latitude: float, second: int) -> tuple[Any, ...]:
        return (plate, (latitude, 13.38532), int(START.replace(tzinfo=UTC).timestamp() + second) * 1000)

    # 0.0001 degrees of latitude a second are 11.1195 m/s = 40.03 km/h on a sphere of 6371 km
    moving = [event("A 1", 52.51623 + 0.0001 * second, second) for second in (3, 1, 2)]
    far = event("B 2", 52.51623 + 0.00901, 1)  # 1001.9 m
    found = made(spark, "traffic", [*moving, event("A 1", 52.51663, 11), far])
    # windows begin at second 1: 1 to 10, 11 to 20. The zone of 0.004 degrees begins at the centre; its limit is 30
    assert found == [
        ("A 1", pytest.approx(52.51653), 13.38532, 40, "zone 06-06", True, at(11)),
        ("A 1", pytest.approx(52.51663), 13.38532, 0, "zone 06-06", False, at(21)),
    ]


def test_topspeed_tells_the_fastest_of_10_s_every_50_m(spark: SparkSession) -> None:
    rows = [
        ("1", 90, 0.0, 0),
        ("1", 70, 50.0, 1000),
        ("1", 80, 51.0, 2000),
        ("1", 60, 102.0, 10_000),
        ("2", 99, 9.0, 0),
    ]
    # 50.0 is not more than 50 m; at 102.0 m the record of ts 0 is 10 s old and no longer counts
    assert made(spark, "topspeed", rows) == [("1", 80, 51.0, 2000), ("1", 90, 0.0, 0)]


@dataclass(frozen=True)
class Size:
    """Records in all, and per second of event time."""

    records: int
    rate: int


SIZES = {
    "q1": Size(20_000, 1000),
    "q2": Size(20_000, 1000),
    "q3": Size(120_000, 4000),
    "q5": Size(40_000, 1000),
    "q8": Size(120_000, 4000),
    "q11": Size(60_000, 1000),
    "wordcount": Size(5_000, 1000),
    "ysb": Size(40_000, 1000),
    "traffic": Size(12_000, 300),
    "topspeed": Size(6_000, 100),
}


@contextmanager
def running(spark: SparkSession, name: str, options: dict[str, str], folder: Path) -> Iterator[StreamingQuery]:
    kind = job(name)
    writer = kind.build(stream(spark, options)).writeStream.outputMode(kind.mode)
    if kind.mode == "update":
        writer = writer.foreachBatch(keep(folder / "out"))
    else:
        writer = writer.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.parametrize("name", JOBS)
def test_a_stream_that_was_stopped_and_started_again_gives_the_batch_result(
    spark: SparkSession, tmp_path: Path, eventually: Eventually, name: str
) -> None:
    size, kind = SIZES[name], job(name)
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # fewer stores to open and to close
    options = {
        "events": kind.events,
        "workload": json.dumps(Constant(1, level=size.records).spec()),
        "eventRate": str(size.rate),
        "seed": "11",
        "partitions": "3",
        "maxRowsPerTrigger": str(size.records // 3),
        "start": repr(time.time() - 1),
    }
    with running(spark, name, options, tmp_path) as first:
        eventually(lambda: [p for p in first.recentProgress if p["numInputRows"]])
    done = {p["batchId"] for p in first.recentProgress}
    with running(spark, name, options, tmp_path) as second:
        second.processAllAvailable()
        reports = list(second.recentProgress)
    assert 0 in done
    assert max(p["batchId"] for p in reports) > max(done)
    assert sum(o["numRowsDroppedByWatermark"] for p in reports for o in p["stateOperators"]) == 0
    found = latest(spark, tmp_path / "out", kind.key) if kind.key else spark.read.parquet(str(tmp_path / "out"))
    expected = kind.build(records(spark, {**options, "end": str(size.records)})).localCheckpoint()
    if kind.closed_by:
        watermark = reports[-1]["eventTime"]["watermark"]
        expected = expected.where(F.col(kind.closed_by) <= F.lit(watermark).cast("timestamp"))
    _assert_same(found, expected)


def _assert_same(found: DataFrame, expected: DataFrame) -> None:
    wanted = batch(expected)
    assert wanted.rows > 0
    if batch(found) != wanted:  # say which rows
        pytest.fail(f"missing {expected.exceptAll(found).take(5)}, too many {found.exceptAll(expected).take(5)}")
