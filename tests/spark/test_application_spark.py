"""A user's query on a sample, from the embedded source and through Kafka, its result verified like that of a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate.experiment import Experiment, Kafka
from tidegate.kafka import Broker
from tidegate.runner import run
from tidegate.store import Store

pytestmark = pytest.mark.spark

APP = """
from pyspark.sql import functions as F

closed_by = "end"
STEP = 10


@F.udf("double")
def rounded(price):  # a function of the file, which executors do not have
    return float(price // STEP * STEP)


def build(orders):
    windows = orders.withWatermark("at", "1 second").groupBy(F.window("at", "2 seconds"), "shop")
    totals = windows.agg(F.sum(rounded("price")).alias("price"))
    return totals.select("shop", "price", F.col("window.end").alias("end"))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """In the working directory, which executors do not share."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.py").write_text(APP)
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    rows = {
        "at": [begin + timedelta(milliseconds=10 * k) for k in range(300)],
        "shop": [f"shop {k % 7}" for k in range(300)],
        "price": [float(k) for k in range(300)],
    }
    pyarrow.parquet.write_table(pa.table(rows), tmp_path / "orders.parquet")
    return {"job": "orders.py", "sample": "orders.parquet?time=at&key=shop"}


@pytest.mark.parametrize("source", ["embedded", pytest.param("kafka", marks=pytest.mark.proof)])
def test_a_user_s_query_is_run_and_verified(
    tmp_path: Path, own: dict[str, str], source: str, request: pytest.FixtureRequest
) -> None:
    kafka = None
    if source == "kafka":
        broker: Broker = request.getfixturevalue("broker")
        kafka = Kafka(broker.address, "orders")
    e = Experiment(
        **own, workload="constant", duration=10.0, peak=2000.0, policy="static", trigger=2.0, maximum=1, kafka=kafka
    )
    said: list[str] = []
    with Store.open(tmp_path / "store.db") as store:
        result = run(e, store, said.append).result
    assert result is not None
    assert result.verified
    assert result.figures is not None
    assert result.figures.processed > 5_000
    assert any("300 rows are 0.15 s at 2,000 records/s" in text for text in said)
