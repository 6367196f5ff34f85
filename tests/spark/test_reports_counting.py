"""How many records a report stands for: positions, units, missed and doubled reports; by hand, with the arithmetic."""

from typing import Any

import pytest

from tidegate.core import Batch
from tidegate.spark.reports import ReportLog


def report(  # noqa: PLR0913, each is a field of a report
    second: int,
    start: Any,
    end: Any,
    latest: Any = None,
    *,
    rows: int | None = None,
    id: int = 0,
    took: int = 1000,
) -> dict[str, Any]:
    """Of a batch planned some seconds after midnight of the first day of the epoch."""
    return {
        "timestamp": f"1970-01-01T00:{second // 60:02}:{second % 60:02}.000Z",
        "batchId": id,
        "numInputRows": end - start if rows is None else rows,
        "durationMs": {"addBatch": took, "triggerExecution": took},
        "sources": [{"startOffset": start, "endOffset": end, "latestOffset": latest}],
    }


def spans(batches: list[Batch | None]) -> list[tuple[float, float, float | None]]:
    return [(batch.begin, batch.end, batch.arrived) for batch in batches if batch is not None]


def fed(log: ReportLog, *reports: dict[str, Any]) -> list[tuple[float, float, float | None]]:
    return spans([log.add(one) for one in reports])


def test_records_of_a_missed_report_are_counted_as_finished() -> None:
    log = ReportLog()
    first, _, third = report(0, 0, 100, 200), report(5, 100, 200, 300, id=1), report(10, 200, 300, 400, id=2)
    assert fed(log, first, third) == [(0, 100, 200), (200, 300, 400)]


def test_records_of_a_missed_report_are_counted_in_the_unit_of_the_source() -> None:
    # 100 rows per second of the `rate` source; the report of seconds 3 to 6 is missing
    log = ReportLog()
    assert fed(log, report(3, 0, 3, 3, rows=300), report(9, 6, 9, 9, rows=300, id=2)) == [
        (0, 300, 300),
        (600, 900, 900),
    ]


def test_records_that_wait_are_counted_in_the_unit_of_the_source() -> None:
    log = ReportLog()
    # 2 s wait after each batch
    assert fed(log, report(5, 0, 3, 5, rows=300), report(8, 3, 6, 8, rows=300, id=1)) == [
        (0, 300, 500),
        (300, 600, 800),
    ]
    assert log.backlog(8) == 200


def test_a_latest_offset_before_the_end_of_the_batch_means_that_nothing_waits() -> None:
    log = ReportLog()
    assert fed(log, report(0, 0, 100, 40)) == [(0, 100, 100)]  # not 40
    assert log.backlog(0) == 0


def test_a_position_before_the_last_one_takes_no_records_back() -> None:
    log = ReportLog()
    fed(log, report(0, 500, 1000, 1000))
    # the topic was made anew: it counts from 0 again
    assert fed(log, report(5, 0, 200, 300, id=1)) == [(500, 700, 800)]


def test_a_batch_that_is_rerun_after_a_restart_counts_once() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 100, 100), report(5, 100, 400, 400, id=1))
    assert fed(log, report(20, 100, 500, 600, id=1)) == [(400, 500, 600)]  # 400 to 500 is what is new


def test_a_report_that_comes_twice_or_late_is_left_out_and_told() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 100, 100), report(5, 100, 200, 250, id=1))
    assert fed(log, report(5, 100, 200, 250, id=1), report(0, 0, 100, 100)) == []
    assert (log.unreadable, log.backlog(5)) == (2, 50)
    assert log.take_problems() == (
        "report of batch 1: it came twice, or after that of a later batch",
        "report of batch 0: it came twice, or after that of a later batch",
    )
    assert log.take_problems() == ()


def test_a_query_whose_numbers_begin_again_is_followed() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 100, 100, id=7))
    assert fed(log, report(5, 100, 200, 200, id=0)) == [(100, 200, 200)]


def test_a_clock_that_was_set_back_is_followed() -> None:
    log = ReportLog()
    fed(log, report(30, 0, 100, 100, id=0))
    assert fed(log, report(10, 100, 200, 200, id=1)) == [(100, 200, 200)]


def test_a_base_says_where_records_are_counted_from_and_that_they_are_records() -> None:
    assert fed(ReportLog(base=50), report(0, 80, 100, 130, rows=40)) == [(30, 50, 80)]  # 20 records, 40 rows
    assert fed(ReportLog(base=50), report(0, 20, 100, 130)) == [(0, 80, 110)]  # before the base is at the base
    assert fed(ReportLog(base=50), report(0, None, 100, 130, rows=40)) == [(0, 50, 80)]  # without a start at the base


def test_the_unit_is_the_median_of_the_last_batches() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 10, 10, rows=1000), report(10, 10, 20, 20, rows=1000, id=1))
    # a batch of which every task ran twice: its rows count, the unit stays
    assert fed(log, report(20, 20, 30, 40, rows=2000, id=2)) == [(2000, 4000, 5000)]  # 10 wait at 100 each


def test_a_unit_is_that_of_a_record_counter_if_it_is_within_five_percent() -> None:
    assert fed(ReportLog(), report(0, 0, 1000, 2000, rows=960)) == [(0, 1000, 2000)]
    assert fed(ReportLog(), report(0, 0, 1000, 2000, rows=1040)) == [(0, 1000, 2000)]
    # 940 rows and 1000 more at 0.94 each; 1060 and 1000 at 1.06
    assert fed(ReportLog(), report(0, 0, 1000, 2000, rows=940)) == [(0, 940, 1880)]
    assert fed(ReportLog(), report(0, 0, 1000, 2000, rows=1060)) == [(0, 1060, 2120)]


def test_an_empty_batch_teaches_no_unit() -> None:
    log = ReportLog()
    # offsets of transaction markers: the position moves on, and no row was read
    fed(log, report(0, 0, 100, 100), report(5, 100, 103, 103, rows=0, id=1))
    assert log._unit == 1


def test_offsets_that_span_far_more_than_the_rows_are_not_believed() -> None:
    log = ReportLog(base=0)
    fed(log, report(0, 0, 100, 100))
    (batch,) = fed(log, report(5, 100, 9_000_000, 9_000_100, rows=200, id=1))
    assert batch == (100, 300, None)  # 200 rows; what waits is unknown
    assert log.take_problems() == ("report of batch 1: its offsets span 8.9999e+06 records, but it read 200 rows",)
    # the next report stands for itself, from where the last one ended
    assert fed(log, report(10, 9_000_000, 9_000_500, 9_000_600, id=2)) == [(300, 800, 900)]


def test_offsets_may_span_a_thousand_times_the_rows_and_a_million() -> None:
    log = ReportLog(base=0)
    assert fed(log, report(0, 0, 1_200_000, 1_200_000, rows=200)) == [(0, 1_200_000, 1_200_000)]  # 200,000 + 1,000,000
    assert log.unreadable == 0
    assert fed(ReportLog(base=0), report(0, 0, 1_200_001, 1_200_001, rows=200)) == [(0, 200, None)]


def test_sources_that_lose_their_position_are_told_and_counted_by_rows() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 100, 100))
    assert fed(log, report(5, None, None, None, rows=70, id=1)) == [(100, 170, None)]
    assert log.take_problems() == ("report of batch 1: its sources have no position, those of earlier reports had one",)


def test_sources_that_never_had_a_position_are_no_problem() -> None:
    log = ReportLog()
    assert fed(log, report(0, None, None, rows=30), report(5, None, None, rows=40, id=1)) == [
        (0, 30, None),
        (30, 70, None),
    ]
    assert (log.unreadable, log.take_problems()) == (0, ())


def test_the_base_is_where_the_first_report_begins_and_no_other() -> None:
    log = ReportLog(base=0)
    fed(log, report(0, 0, 100, 100), report(5, None, None, rows=70, id=1))
    # where the third one begins is not known: its rows count
    assert fed(log, report(10, None, 500, 520, rows=10, id=2)) == [(170, 180, 200)]


def test_a_batch_without_a_start_begins_where_the_source_was_last_seen() -> None:
    log = ReportLog()
    look = report(0, None, 100, 150, rows=0)
    look["durationMs"] = {"latestOffset": 3}
    assert fed(log, look) == []
    assert fed(log, report(5, None, 130, 150, rows=31)) == [(0, 30, 50)]  # 100 to 130, one row was read twice


def test_a_report_that_says_nothing_of_its_batch_is_just_a_report() -> None:
    log = ReportLog()
    log.add({"timestamp": "soon"})
    assert log.take_problems() == ("a report: need a time like 2026-11-16T02:33:37.945Z as timestamp, got 'soon'",)
    assert log.add("nonsense") is None
    assert log.take_problems() == ("a report: need an object, got 'nonsense'",)
    assert log.unreadable == 2


def test_a_report_without_a_number_follows_the_last_and_one_without_rows_has_as_many_as_records() -> None:
    log = ReportLog()
    bare = report(0, 0, 100, 100)
    del bare["batchId"], bare["numInputRows"]
    batch = log.add(bare)
    assert batch is not None
    assert (batch.id, batch.rows, batch.end) == (0, 100, 100)
    batch = log.add({**report(5, 100, 250, 250), "batchId": None, "numInputRows": None})
    assert batch is not None
    assert (batch.id, batch.rows, batch.end) == (1, 150, 250)


def test_more_records_than_can_be_counted_start_the_count_anew() -> None:
    log = ReportLog()
    most = 2**53
    # each is within the bounds of one offset, both together are not
    fed(log, report(0, 0, most - 1000, most - 1000))
    assert fed(log, report(5, 0, 2000, 2000, id=1)) == [(0, 0, None)]
    assert log.take_problems() == ("report of batch 1: its records are more than can be counted: counting starts anew",)
    assert fed(log, report(10, 2000, 2500, 2600, id=2)) == [(0, 500, 600)]


def test_a_count_that_starts_anew_remembers_neither_unit_nor_rates() -> None:
    log = ReportLog()
    half, most = 2**52, 2**53
    fed(log, report(0, 0, 1, 1, rows=2), report(5, 1, half, half, rows=most - 2000, id=1))  # 2 rows per unit
    fed(log, report(10, half, half + 1000, half + 1000, rows=2000, id=2))
    assert len(log.take_problems()) == 1
    assert (log.arrival_rate, log.processing_rate, log.trigger) == (None, 0, None)
    # one row per unit from now on
    assert fed(log, report(15, 0, 500, 600, rows=500, id=3)) == [(0, 500, 600)]


def test_more_waiting_than_can_be_counted_is_unknown() -> None:
    log = ReportLog()
    assert fed(log, report(0, 0, 10, 2**53, rows=20)) == [(0, 20, None)]  # 2 rows per unit
    assert log.take_problems() == ("report of batch 0: 1.80144e+16 records cannot be waiting",)


def test_what_waits_is_from_the_metrics_where_the_latest_offset_says_nothing() -> None:
    kafka = report(0, {"t": {"0": 0, "1": 0}}, {"t": {"0": 60, "1": 40}}, rows=100)
    kafka["sources"][0]["metrics"] = {"avgOffsetsBehindLatest": "25.0"}
    assert fed(ReportLog(), kafka) == [(0, 100, 150)]  # 25 on each of two partitions


def test_twenty_problems_are_kept_and_all_are_counted() -> None:
    log = ReportLog()
    for _ in range(25):
        assert log.parse("no json") is None
    assert log.unreadable == 25
    assert log.take_problems() == ("a report: need a JSON object, got 'no json'",) * 20
    assert log.parse('{"batchId": 3}') == {"batchId": 3}


@pytest.mark.parametrize(("took", "finished"), [(0, 5.0), (1250, 6.25)])
def test_a_batch_ends_after_its_milliseconds(took: int, finished: float) -> None:
    batch = ReportLog().add(report(5, 0, 10, 10, took=took))
    assert batch is not None
    assert (batch.planned, batch.finished) == (5, finished)
