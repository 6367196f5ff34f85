"""NEXMark queries as DataFrame to DataFrame functions. Times are UTC."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.jobs.job import Job


def q1(bids: DataFrame) -> DataFrame:
    """Every bid with its price in euros: a map without state, append, no watermark.

    0.908 and DECIMAL(23, 3) as in nexmark/nexmark; the column `extra` is left out.
    """
    price = (F.lit("0.908").cast("decimal(4,3)") * F.col("price")).cast("decimal(23,3)")
    return bids.select("auction", "bidder", price.alias("price"), "dateTime")


def q11(bids: DataFrame) -> DataFrame:
    """Bids per bidder in sessions that end after 10 s without a bid: state per open session, append.

    The watermark trails by 1 s: record numbers, and so event times, only rise from batch to batch. Sessions of exactly
    one gap's distance are one, as in Flink. Beam's extra firing at every 100,000 bids is left out.
    """
    session = F.session_window("dateTime", "10 seconds")
    counted = bids.withWatermark("dateTime", "1 second").groupBy("bidder", session).count()
    ends = F.col("session_window")
    return counted.select("bidder", "count", ends.start.alias("start"), ends.end.alias("end"))


JOBS = (
    Job("q1", "NEXMark 1: currency conversion of every bid (stateless)", "bids", q1),
    Job("q11", "NEXMark 11: bids per bidder in sessions of 10 s (RocksDB state)", "bids", q11, closed_by="end"),
)
