"""One report as values: what is read from it, what stands in for what is missing, and what is said about the rest."""

from typing import Any

import pytest

from tidegate.spark.offsets import count, counters, position, total, waiting
from tidegate.spark.report import Report, State, read, seconds

NOON = "1970-01-01T12:00:00.000Z"
EPOCH = 43_200.0


def problems(**fields: Any) -> tuple[str, ...]:
    return read({"timestamp": NOON, **fields}).problems


def test_everything_that_a_report_says() -> None:
    full = {
        "timestamp": NOON,
        "batchId": 7,
        "numInputRows": 300,
        "durationMs": {"addBatch": 900, "triggerExecution": 1250},
        "eventTime": {"watermark": "2015-07-15T00:00:00.917Z"},
        "sources": [
            {"startOffset": 100, "endOffset": 300, "latestOffset": 500},
            {"startOffset": 10, "endOffset": 110, "latestOffset": 120},
        ],
        "stateOperators": [
            {
                "numRowsTotal": 5,
                "memoryUsedBytes": 600,
                "numRowsDroppedByWatermark": 1,
                "customMetrics": {"rocksdbSstFileSize": 5000},
            },
            {"numRowsTotal": 6, "memoryUsedBytes": 70},
        ],
        "observedMetrics": {"tidegate_records": {"times": [1000, 2500]}},
    }
    assert read(full) == Report(
        planned=EPOCH,
        batch=7,
        ran=True,
        spent=1.25,
        rows=300,
        start=110,
        stop=410,
        latest=620,
        times=(1.0, 2.5),
        watermark="2015-07-15T00:00:00.917Z",
        state=State(rows=11, bytes=670, dropped=1, size=5000),
    )


def test_a_report_of_a_look_at_the_source_ran_nothing() -> None:
    assert not read({"timestamp": NOON, "durationMs": {"latestOffset": 3}, "numInputRows": 0}).ran
    assert read({"timestamp": NOON, "durationMs": {"addBatch": 0}}).ran
    assert read({"timestamp": NOON, "numInputRows": 4}).ran  # rows show that one ran


@pytest.mark.parametrize(
    ("late", "believed"),
    [
        (0, True),
        (-60, True),  # clocks differ by up to a minute
        (-61, False),
        (86_400, True),  # a report may wait for a day
        (86_401, False),
    ],
)
def test_a_time_that_does_not_fit_that_of_receipt_is_replaced_by_it(late: float, believed: bool) -> None:
    report = {"timestamp": NOON, "durationMs": {"triggerExecution": 2000}}
    told = read(report, received=EPOCH + 2 + late)
    assert told.planned == (EPOCH if believed else EPOCH + late)  # when it was received, less its 2 s
    assert len(told.problems) == (not believed)
    assert read(report).planned == EPOCH  # without a time of receipt every one is believed


def test_a_report_without_a_time_has_that_of_its_receipt_less_its_duration() -> None:
    report = {"durationMs": {"triggerExecution": 2000}}
    assert read(report, received=100.0).planned == 98
    assert read(report).planned is None
    assert read(report).problems == ("need a time like 2026-11-16T02:33:37.945Z as timestamp, got None",)


def test_a_duration_is_that_of_the_trigger_or_of_the_batch_and_a_year_at_most() -> None:
    def spent(durations: dict[str, Any], **more: Any) -> float:
        return read({"timestamp": NOON, "durationMs": durations, **more}).spent

    assert spent({"triggerExecution": 1500}, batchDuration=9000) == 1.5
    assert spent({"addBatch": 7}, batchDuration=9000) == 9
    assert spent({"addBatch": 7}) == 0
    year = 366 * 86_400_000
    assert spent({"triggerExecution": year}) == year / 1000
    assert spent({"triggerExecution": year + 1}, batchDuration=9000) == 9


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"numInputRows": -1}, "need a count as numInputRows, got -1"),
        ({"batchId": "x"}, "need a count as batchId, got 'x'"),
        ({"durationMs": 5}, "need an object as durationMs, got 5"),
        ({"durationMs": {"triggerExecution": "1"}}, "need a count as triggerExecution, got '1'"),
        ({"eventTime": [1]}, "need an object as eventTime, got [1]"),
        ({"sources": {"a": 1}}, "need a list of objects as sources, got {'a': 1}"),
        ({"sources": [1]}, "need a list of objects as sources, got [1]"),
        ({"stateOperators": [{"numRowsTotal": True}]}, "need a count as numRowsTotal, got True"),
        (
            {"observedMetrics": {"tidegate_records": {"times": 4}}},
            "need a list of times as tidegate_records.times, got 4",
        ),
        (
            {"observedMetrics": {"tidegate_records": {"times": [2, 1]}}},
            "need increasing times as tidegate_records.times, got [2, 1]",
        ),
        (
            {"observedMetrics": {"tidegate_records": {"times": [1, None]}}},
            "need increasing times as tidegate_records.times, got [1, None]",
        ),
    ],
)
def test_what_cannot_be_used_is_named(fields: dict[str, Any], problem: str) -> None:
    assert problems(**fields) == (problem,)


def test_what_is_missing_is_no_problem() -> None:
    assert problems() == ()
    empty = {"numInputRows": None, "durationMs": None, "sources": None, "stateOperators": [], "observedMetrics": None}
    assert problems(**empty) == ()
    assert read({"timestamp": NOON}) == Report(planned=EPOCH)


def test_equal_times_of_records_are_increasing_enough_and_there_may_be_ten_thousand() -> None:
    def times(values: list[int]) -> tuple[float, ...]:
        return read({"timestamp": NOON, "observedMetrics": {"tidegate_records": {"times": values}}}).times

    assert times([1000, 1000]) == (1, 1)
    assert len(times([1000] * 10_000)) == 10_000
    assert times([1000] * 10_001) == ()


def test_times_without_a_zone_are_utc() -> None:
    assert (seconds("1970-01-01T12:00:00"), seconds("1970-01-01T12:00:00+02:00")) == (EPOCH, EPOCH - 7200)


def test_counts() -> None:
    assert (count(0), count(2**53), count(2**53 + 2), count(-0.5)) == (0, 2.0**53, None, None)


def test_offsets_are_counted_three_levels_deep() -> None:
    assert position({"a": {"b": {"c": 5}}}) == 5
    assert position({"a": {"b": {"c": {"d": 5}}}}) is None
    assert counters({"t": {"0": 3, "1": 4}}) == [3, 4]
    assert counters({"t": {"0": 3, "1": None}}) is None
    assert position({"0": 2.0**52, "1": 2.0**52}) == 2.0**53
    assert position({"0": 2.0**53, "1": 2.0}) is None
    assert position({"offset": None, "logOffset": 6}) == 6
    assert position("[" * 10) is None
    assert position(" " * 999_999 + "7") == 7
    assert position(" " * 1_000_000 + "7") is None


def test_a_total_needs_every_source() -> None:
    assert (total([3, {"offset": 4}]), total([3, "x"]), total([])) == (7, None, None)


def test_what_a_source_says_of_what_waits() -> None:
    kafka = {"endOffset": {"t": {"0": 1, "1": 1, "2": 1}}, "metrics": {"avgOffsetsBehindLatest": 2.0}}
    assert waiting(kafka) == 6
    assert waiting({"metrics": {"avgOffsetsBehindLatest": "2.0"}}) is None  # of how many partitions?
    assert waiting({"metrics": {"numBytesOutstanding": "0", "numFilesOutstanding": "0"}}) == 0
    assert waiting({"metrics": {"numBytesOutstanding": "0", "numFilesOutstanding": "1"}}) is None
    assert waiting({"metrics": {"numBytesOutstanding": "many"}}) is None
    assert waiting({"metrics": {}}) is None
    assert waiting({}) is None


def test_what_waits_is_unknown_if_one_source_does_not_say() -> None:
    said = {"metrics": {"numBytesOutstanding": "0"}}
    assert read({"timestamp": NOON, "sources": [said, said]}).waiting == 0
    assert read({"timestamp": NOON, "sources": [said, {}]}).waiting is None
    assert read({"timestamp": NOON, "sources": []}).waiting is None
