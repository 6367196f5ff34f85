import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Batch
from tidegate.spark.reports import ReportLog, position, seconds

RECORDED = Path(__file__).parents[1] / "recorded" / "progress_q11.jsonl"


def report(  # noqa: PLR0913, each is a field of a report
    at: float,
    start: Any,
    end: Any,
    latest: Any = None,
    *,
    id: int = 0,
    rows: int | None = None,
    spent: float | None = 1.0,
    **more: Any,
) -> dict[str, Any]:
    """A report of a batch planned at `at` that took `spent` seconds; None for one that tells of no batch."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    durations = {"latestOffset": 1} if spent is None else {"addBatch": 5, "triggerExecution": int(spent * 1000)}
    source = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    counted = end - start if rows is None else rows
    return {
        "timestamp": stamp,
        "batchId": id,
        "numInputRows": counted,
        "durationMs": durations,
        "sources": [source],
        **more,
    }


def fed(log: ReportLog, *reports: dict[str, Any]) -> list[Batch]:
    return [batch for batch in map(log.add, reports) if batch is not None]


# 1000 records/s, at most 2000 per batch, a batch every 4 s that takes 1 s
CAPPED = [
    report(4, 0, 2000, 4000, id=0),
    report(8, 2000, 4000, 8000, id=1),
    report(12, 4000, 6000, 12_000, id=2),
]


def test_a_batch_is_what_a_report_says() -> None:
    log = ReportLog()
    (batch,) = fed(log, report(4, 0, 2000, 4000, id=17, spent=1.25))
    assert batch == Batch(17, planned=4, finished=5.25, begin=0, end=2000, arrived=4000, rows=2000)
    assert (log.batch, log.duration, log.trigger) == (batch, 1.25, None)


def test_the_arrival_rate_is_the_slope_of_the_latest_offset_not_the_rows_taken() -> None:
    log = ReportLog()
    fed(log, *CAPPED)
    assert log.arrival_rate == 1000  # (12000 - 4000) / (12 - 4), while 2000 rows / 4 s = 500 are taken
    assert log.processing_rate == pytest.approx(6000 / 9)  # 0 at 4 s, 6000 when the third batch ends at 13 s
    assert (log.trigger, log.duration) == (4, 1)


def test_one_report_has_no_slope_but_a_backlog() -> None:
    log = ReportLog()
    assert (log.arrival_rate, log.processing_rate, log.backlog(0), log.latency) == (None, None, None, None)
    fed(log, CAPPED[0])
    assert log.arrival_rate is None
    assert log.backlog(9) == 2000  # 4000 - 2000; at what rate more arrive is not known


def test_the_backlog_is_what_arrived_less_what_finished_and_grows_between_reports() -> None:
    log = ReportLog()
    fed(log, *CAPPED)
    assert log.backlog(12) == 6000  # 12000 - 6000
    assert log.backlog(15) == 9000  # and 3 s at 1000/s
    assert log.backlog(11) == 6000  # a clock behind the report's takes nothing back


def test_rates_are_taken_over_the_window_only() -> None:
    log = ReportLog(window=10, smoothing=10)
    fed(
        log,
        report(0, 0, 0, 0),
        report(10, 0, 100, 100),
        report(20, 100, 200, 200),
        report(30, 200, 1200, 1200),
    )
    assert log.arrival_rate == 100  # (1200 - 200) / 10, the slow twenty seconds before are out
    assert log.processing_rate == 100  # 200 at 21 s, 1200 at 31 s


def test_the_unit_of_a_rate_source_is_learned() -> None:
    # Spark's `rate` at 100 rows/s counts seconds; its first batch is empty and has no start
    log = ReportLog()
    batches = fed(
        log,
        report(0, None, 0, 0, rows=0, id=0),
        report(6, 0, 3, 6, rows=300, id=1),
        report(9, 3, 6, 9, rows=300, id=2),
    )
    assert [(b.begin, b.end, b.arrived) for b in batches] == [(0, 0, 0), (0, 300, 600), (300, 600, 900)]
    assert log.arrival_rate == 100
    assert log.backlog(11) == 500  # 900 - 600 and 2 s at 100/s


def test_the_unit_of_a_rate_source_is_learned_when_its_first_batch_has_rows_already() -> None:
    log = ReportLog()
    batches = fed(log, report(3, None, 3, 3, rows=300), report(6, 3, 6, 6, rows=300), report(9, 6, 9, 9, rows=300))
    assert [(b.begin, b.end) for b in batches] == [(0, 300), (300, 600), (600, 900)]
    assert log.arrival_rate == 100


def test_batches_of_files_are_counted_by_their_rows() -> None:
    log = ReportLog()
    batches = fed(
        log,
        report(0, None, {"logOffset": 0}, rows=1000),
        report(5, {"logOffset": 0}, {"logOffset": 1}, rows=500),
        report(10, {"logOffset": 1}, {"logOffset": 2}, rows=1500),
    )
    assert [(b.begin, b.end) for b in batches] == [(0, 1000), (1000, 1500), (1500, 3000)]


def test_a_first_batch_without_start_begins_its_rows_before_its_end() -> None:
    (batch,) = fed(ReportLog(), report(0, None, 1000, 1600, rows=400))
    assert (batch.begin, batch.end, batch.arrived) == (0, 400, 1000)  # from position 600, where the query began


def test_records_are_counted_from_the_base_and_by_default_from_the_first_report() -> None:
    first, second = report(0, 600, 1000, 1600), report(4, 1000, 1500, 2000, id=1)
    log = ReportLog(base=0)
    assert [(b.begin, b.end, b.arrived) for b in fed(log, first, second)] == [(600, 1000, 1600), (1000, 1500, 2000)]
    log = ReportLog()
    assert [(b.begin, b.end, b.arrived) for b in fed(log, first, second)] == [(0, 400, 1000), (400, 900, 1400)]
    assert log.backlog(4) == 500  # 2000 - 1500 either way


def test_the_partitions_of_kafka_are_summed() -> None:
    log = ReportLog()
    start = {"bids": {"0": 100, "1": 50}}
    end = {"bids": {"0": 160, "1": 90}}
    latest = {"bids": {"0": 200, "1": 110}}
    (batch,) = fed(log, report(0, start, end, latest, rows=100))
    assert (batch.begin, batch.end, batch.arrived) == (0, 100, 160)  # from 150 to 250 of 310
    # the same as texts
    (again,) = fed(ReportLog(), report(0, json.dumps(start), json.dumps(end), json.dumps(latest), rows=100))
    assert again == batch


def test_offsets_of_several_sources_are_summed() -> None:
    both = report(0, 10, 30, 50, rows=40)
    both["sources"].append({"startOffset": {"offset": 5}, "endOffset": {"offset": 25}, "latestOffset": {"offset": 25}})
    (batch,) = fed(ReportLog(), both)
    assert (batch.begin, batch.end, batch.arrived) == (0, 40, 60)  # 15 to 55 of 75


def test_positions() -> None:
    assert position({"record": 7, "start": 1.7e9}) == 7
    assert position({"offset": 3}) == 3
    assert position({"logOffset": 4}) == 4
    assert position({"a": {"0": 1, "1": 2}, "b": {"0": 3}}) == 6
    assert position(12) == 12
    assert [position(odd) for odd in (None, "abc", True, {}, {"a": "x"}, {"a": {"0": 1, "1": None}})] == [None] * 6


def test_a_report_that_ran_nothing_is_no_batch_but_tells_what_arrived() -> None:
    log = ReportLog()
    assert len(fed(log, report(0, 0, 1000, 1000))) == 1
    assert fed(log, report(10, 1000, 1000, 3000, id=1, spent=None)) == []
    assert log.batch is not None
    assert log.batch.id == 0
    assert log.arrival_rate == 200  # (3000 - 1000) / 10
    assert log.backlog(10) == 2000


def test_unknown_offsets_still_give_batches_from_rows() -> None:
    log = ReportLog()
    batches = fed(
        log,
        report(0, None, "shard-a", "shard-b", rows=100, id=0),
        report(5, "shard-a", "shard-b", "shard-b", rows=150, id=1),
    )
    assert [(b.begin, b.end, b.arrived, b.rows) for b in batches] == [(0, 100, None, 100), (100, 250, None, 150)]
    assert (log.arrival_rate, log.backlog(6), log.latency) == (None, None, None)
    assert log.processing_rate == pytest.approx(250 / 6)  # 0 at 0 s, 250 at 6 s


def test_a_report_without_sources_still_gives_a_batch() -> None:
    bare = {"timestamp": "1970-01-01T00:00:05.000Z", "batchId": 0, "durationMs": {"addBatch": 1}}
    assert fed(ReportLog(), bare) == [Batch(0, planned=5, finished=5, begin=0, end=0, arrived=None, rows=0)]


def test_an_idle_query_has_nothing_more_arriving() -> None:
    log = ReportLog(window=10, smoothing=10)
    log.idle = 0
    assert log.arrival_rate is None
    fed(log, report(0, 0, 1000, 1000), report(10, 1000, 2000, 2000, id=1))
    assert (log.arrival_rate, log.backlog(20)) == (100, 1000)  # 10 s at 100/s, nobody said otherwise
    log.idle = 20
    assert (log.arrival_rate, log.backlog(20), log.backlog(30)) == (0, 0, 0)


def test_what_had_arrived_never_goes_back() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 100, 500), report(4, 100, 200, 400, id=1), report(4, 200, 300, 900, id=2))
    assert (log.arrival_rate, log.backlog(4)) == (0, 200)  # 500, 500; the third is not later than the second


def test_latency_is_the_age_of_the_oldest_record_when_its_batch_finished() -> None:
    log = ReportLog()  # 100 records/s
    fed(log, report(10, 0, 500, 1000, spent=4))
    assert log.latency == 4  # record 0 was there when the first report was planned; how long is not known
    fed(log, report(20, 500, 1500, 2000, spent=4, id=1))
    assert log.latency == 14  # record 500: there at 10 s; done at 24 s
    fed(log, report(30, 1500, 2500, 3000, spent=4, id=2))
    assert log.latency == 19  # record 1500: half way between 1000 at 10 s and 2000 at 20 s; done at 34 s
    fed(log, report(40, 2500, 2500, 3000, spent=1, id=3))
    assert log.latency is None  # a batch of no records


def test_records_that_tell_when_they_were_created_are_as_old_as_they_say() -> None:
    told = {"tidegate_records": {"times": [1_500, 2_000, 3_250], "malformed": 0}}
    log = ReportLog()
    (batch,) = fed(log, report(4, 0, 2000, 4000, observedMetrics=told))
    assert (batch.times, log.latency) == ((1.5, 2.0, 3.25), 3.5)  # planned at 4, finished at 5
    # an empty batch has no times
    (empty,) = fed(ReportLog(), report(4, 0, 0, 0, observedMetrics={"tidegate_records": {"times": None}}))
    assert empty.times == ()


def test_records_after_an_idle_time_are_not_older_than_it() -> None:
    log = ReportLog()
    fed(log, report(0, 0, 1000, 1000), report(10, 1000, 2000, 2000, id=1))
    log.idle = 50
    fed(log, report(60, 2000, 3000, 3000, id=2, spent=2))
    assert log.latency == 12  # record 2000 came after 50 s, when 2000 had come; done at 62 s


def test_rows_of_tasks_that_ran_twice_are_no_records() -> None:
    log = ReportLog()
    batches = fed(
        log,
        report(0, 0, 1000, 1000, rows=1030),
        report(5, 1000, 2000, 2500, rows=1030, id=1),
    )
    assert [(b.begin, b.end, b.rows) for b in batches] == [(0, 1000, 1030), (1000, 2000, 1030)]
    assert (log.arrival_rate, log.backlog(5)) == (300, 500)  # 1500 in 5 s; not 3 % more


def test_state_is_summed_over_the_operators() -> None:
    log = ReportLog()
    assert (log.state_rows, log.state_bytes, log.watermark) == (None, None, None)
    operators = [
        {"numRowsTotal": 100, "memoryUsedBytes": 5000, "numRowsDroppedByWatermark": 2},
        {"numRowsTotal": 20, "memoryUsedBytes": 700},
    ]
    event_time = {"watermark": "2015-07-15T00:00:00.917Z"}
    fed(log, report(0, 0, 10, 10, stateOperators=operators, eventTime=event_time))
    assert (log.state_rows, log.state_bytes, log.rows_dropped) == (120, 5700, 2)
    fed(log, report(5, 10, 20, 20, id=1, stateOperators=operators, eventTime={}))
    assert (log.state_rows, log.rows_dropped) == (120, 4)  # rows are now, what was dropped adds up
    assert log.watermark == "2015-07-15T00:00:00.917Z"
    fed(log, report(9, 20, 30, 30, id=2))
    assert log.state_rows == 120  # not told again


def loading(stores: int, loaded: int, took: int, size: int) -> dict[str, Any]:
    """An operator that loaded stores in `took` ms; `size` is the bytes of them all."""
    metrics = {"rocksdbNumLoadedFromDfs": loaded, "rocksdbLoadLatencyMs": took, "rocksdbSstFileSize": size}
    return {"numRowsTotal": 1, "memoryUsedBytes": 1, "numStateStoreInstances": stores, "customMetrics": metrics}


def test_the_rate_at_which_state_was_last_loaded() -> None:
    log = ReportLog()
    operators = [loading(4, 2, 1500, 400_000_000), loading(4, 1, 500, 80_000_000)]
    fed(log, report(0, 0, 10, 10, stateOperators=operators))
    assert log.load_rate == (200_000_000 + 20_000_000) / 2.0
    for number, unknown in enumerate(
        [
            loading(4, 0, 8, 400_000_000),  # nothing was loaded
            loading(4, 2, 300, 4_000_000),  # small stores: their time is not that of their bytes
            loading(4, 2, 0, 400_000_000),  # Spark does not know how long it took
            {"numRowsTotal": 1},  # another store than RocksDB
        ]
    ):
        fed(log, report(5 * number + 5, 10, 20, 20, id=1 + number, stateOperators=[unknown]))
        assert log.load_rate == 110_000_000
    fed(log, report(90, 10, 20, 20, id=9, stateOperators=[loading(4, 1, 1000, 80_000_000)]))
    assert log.load_rate == 20_000_000


@settings(max_examples=50, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 10**9), min_size=2, max_size=12).map(sorted),
    waiting=st.lists(st.integers(0, 10**6), min_size=12, max_size=12),
)
def test_batches_are_contiguous_however_a_counter_is_cut(cuts: list[int], waiting: list[int]) -> None:
    log = ReportLog()
    spans = list(pairwise(cuts))
    reports = [report(4 * k, a, b, b + waiting[k], id=k) for k, (a, b) in enumerate(spans)]
    batches = fed(log, *reports)
    assert [b.end for b in batches[:-1]] == [b.begin for b in batches[1:]]
    assert sum(b.end - b.begin for b in batches) == sum(b.rows for b in batches) == cuts[-1] - cuts[0]
    assert all(b.arrived is not None and b.arrived >= b.end for b in batches)
    backlog = log.backlog(0)
    assert backlog is not None
    assert backlog >= waiting[len(spans) - 1]


@pytest.fixture
def recorded() -> list[dict[str, Any]]:
    """A real run: 30,000 records/s offered, at most 60,000 per batch, a trigger every 3 s."""
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def test_recorded_batches_are_contiguous(recorded: list[dict[str, Any]]) -> None:
    batches = fed(ReportLog(base=0), *recorded)
    assert [b.id for b in batches] == list(range(8))
    assert [b.begin for b in batches] == [0, *(b.end for b in batches[:-1])]
    assert [b.end - b.begin for b in batches] == [b.rows for b in batches] == [57_526, 52_375, *[60_000] * 6]
    assert batches[0].planned == seconds("2026-11-16T02:33:37.945Z")
    assert all(b.finished <= later.planned for b, later in pairwise(batches))
    # the base is where the first report starts, which is 0 here
    assert fed(ReportLog(), *recorded) == batches


def test_recorded_arrivals_are_seen_through_the_limit(recorded: list[dict[str, Any]]) -> None:
    log = ReportLog(base=0)
    rates = []
    for one in recorded:
        log.add(one)
        rates.append(log.arrival_rate)
    assert rates[0] is None
    assert rates[2:] == [pytest.approx(30_000, rel=0.03)] * 6
    assert log.processing_rate == pytest.approx(20_000, rel=0.05)  # 60,000 every 3 s
    assert log.trigger == pytest.approx(3, abs=0.01)


def test_recorded_backlog_grows_as_it_must(recorded: list[dict[str, Any]]) -> None:
    log = ReportLog(base=0)
    waiting = []
    for one in recorded:
        batch = log.add(one)
        assert batch is not None
        waiting.append(log.backlog(batch.planned))
    assert waiting[-1] == 629_208 - 469_901
    # from the third on, 90,000 arrive and 60,000 are taken every 3 s
    growth = [later - earlier for earlier, later in pairwise(waiting[2:])]
    assert growth == [pytest.approx(30_000, rel=0.01)] * 5
    assert log.latency is not None
    # record 409,901 came 409,901 / 30,000 = 13.66 s after the start, 9.1 s before 02:33:58.815, when its batch was done
    assert log.latency == pytest.approx(9.1, abs=0.1)
    assert (log.state_rows, log.state_bytes, log.rows_dropped) == (9308, 1_666_352, 0)
    assert log.watermark == "2015-07-15T00:00:12.663Z"


# Reports that are wrong: none raises, each is counted, and what follows is right again.


def steady(count: int, begin: int = 0) -> list[dict[str, Any]]:
    """1000 records/s, a batch every 4 s with what arrived since the last one."""
    return [report(4.0 * k, 4000 * k, 4000 * (k + 1), 4000 * (k + 1), id=k) for k in range(begin, begin + count)]


def figures(log: ReportLog, now: float) -> tuple[float | None, ...]:
    return (log.arrival_rate, log.backlog(now), log.trigger, log.duration)


@pytest.mark.parametrize(
    "wrong",
    [None, [], "report", 7, {}, {"timestamp": None}, {"timestamp": 1.7e12}, {"timestamp": "16/11/2026 02:33"}],
)
def test_a_report_that_says_nothing_of_time_is_skipped_and_counted(wrong: Any) -> None:
    log = ReportLog()
    fed(log, *steady(3))
    before = figures(log, 8)
    assert log.add(wrong) is None
    assert (figures(log, 8), log.unreadable) == (before, 1)
    assert len(log.take_problems()) == 1
    assert log.take_problems() == ()


def test_a_report_without_a_time_is_from_when_it_came() -> None:
    one = report(4, 4000, 8000, 8000, id=1, spent=1.5)
    del one["timestamp"]
    log = ReportLog()
    fed(log, report(0, 0, 4000, 4000))
    batch = log.add(one, received=5.5)
    assert batch is not None
    assert (batch.planned, batch.finished) == (4, 5.5)
    assert (log.trigger, log.unreadable) == (4, 1)


@pytest.mark.parametrize(("at", "received"), [(4.0, 4 + 86_400 * 366.0), (1e9, 6.0), (100.0, 6.0)])
def test_a_time_that_cannot_be_is_that_of_receipt(at: float, received: float) -> None:
    log = ReportLog()
    batch = log.add(report(at, 0, 4000, 4000, spent=1.0), received)
    assert batch is not None
    assert (batch.planned, log.unreadable) == (received - 1, 1)


@pytest.mark.parametrize("received", [5.0, 6.5, 86_000.0])
def test_a_time_that_can_be_is_kept(received: float) -> None:
    log = ReportLog()
    batch = log.add(report(4.0, 0, 4000, 4000, spent=1.0), received)
    assert batch is not None
    assert (batch.planned, log.unreadable) == (4, 0)  # a report may be read late


def test_a_time_without_a_zone_is_utc() -> None:
    assert seconds("1970-01-01T00:01:00") == seconds("1970-01-01T01:01:00+01:00") == 60
    assert [seconds(odd) for odd in (None, 5, "", "soon", [])] == [None] * 5


def test_texts_that_are_no_report() -> None:
    log = ReportLog()
    assert log.parse('{"batchId": 3}') == {"batchId": 3}
    for text in ("", "{", "[]", "null", "[" * 100_000):
        assert log.parse(text) is None
    assert log.unreadable == 5


def test_problems_do_not_pile_up() -> None:
    log = ReportLog()
    for k in range(1000):
        log.add({"batchId": k})
    assert (log.unreadable, len(log.problems)) == (1000, 20)
    assert log.take_problems()[-1].startswith("report of batch 999: need a time like")


def test_a_report_that_comes_twice_counts_once() -> None:
    once, twice = ReportLog(), ReportLog()
    reports = steady(5)
    fed(once, *reports)
    batches = fed(twice, *(one for one in reports for _ in range(2)))
    assert [b.id for b in batches] == [0, 1, 2, 3, 4]
    assert figures(twice, 20) == figures(once, 20) == (1000, 4000, 4, 1)
    assert twice.unreadable == 5


def test_a_report_that_comes_late_is_in_what_followed_already() -> None:
    log, (a, b, c, d) = ReportLog(), steady(4)
    batches = fed(log, a, c, b, d)
    assert [(batch.id, batch.begin, batch.end) for batch in batches] == [
        (0, 0, 4000),
        (2, 8000, 12_000),
        (3, 12_000, 16_000),
    ]
    assert (log.trigger, log.arrival_rate, log.backlog(12)) == (4, 1000, 0)


def test_a_batch_that_is_rerun_after_a_restart_counts_once() -> None:
    log = ReportLog()
    fed(log, *steady(2))
    (again,) = fed(log, report(20, 4000, 8000, 8000, id=1))
    assert (again.begin, again.end) == (8000, 8000)
    (after,) = fed(log, report(24, 8000, 24_000, 24_000, id=2))
    assert (after.begin, after.end) == (8000, 24_000)


def test_a_source_that_begins_anew_goes_on_counting() -> None:
    log = ReportLog()  # the topic was deleted and made again
    fed(log, *steady(2))
    (batch,) = fed(log, report(8, 0, 3000, 3000, id=2))
    assert (batch.begin, batch.end) == (8000, 11_000)


def test_one_offset_far_ahead_is_forgotten() -> None:
    log = ReportLog()
    fed(log, *steady(3), report(12, 12_000, 16_000, 10**15, id=3))
    assert log.backlog(12) == 10**15 - 16_000  # there is no knowing
    fed(log, *steady(2, begin=4))
    assert (log.arrival_rate, log.backlog(20)) == (1000, 0)


def test_offsets_that_contradict_the_rows_are_not_believed() -> None:
    log = ReportLog(base=0)
    fed(log, *steady(2), report(8, 8000, 10**12, 10**12, id=2, rows=4000), *steady(2, begin=3))
    assert log.batch is not None
    assert (log.batch.begin, log.batch.end) == (16_000, 20_000)
    assert log.take_problems() == ("report of batch 2: its offsets span 1e+12 records, but it read 4000 rows",)


def test_a_time_far_ahead_is_forgotten() -> None:
    wrong = report(12, 12_000, 16_000, 16_000, id=3) | {"timestamp": "2126-01-01T00:00:00Z"}
    log = ReportLog()
    fed(log, *steady(3), wrong, *steady(8, begin=4))
    assert figures(log, 44) == (1000, 0, 4, 1)
    assert log.processing_rate == pytest.approx(1000)


def test_a_duration_far_too_long_is_forgotten() -> None:
    log = ReportLog()
    fed(log, *steady(3), report(12, 12_000, 16_000, 16_000, id=3, spent=10_000.0), *steady(8, begin=4))
    assert log.processing_rate == pytest.approx(1000)


def test_counts_that_no_source_can_have_are_unknown() -> None:
    one = report(0, 0, 4000, 4000, rows=4000)
    one["numInputRows"] = 1e300
    log = ReportLog()
    (batch,) = fed(log, one)
    assert (batch.end, batch.rows) == (4000, 4000)  # from the offsets
    one["numInputRows"] = -5
    (batch,) = fed(ReportLog(), one)
    assert batch.rows == 4000


def test_more_records_than_can_be_counted_start_anew() -> None:
    log = ReportLog()
    fed(log, *(report(4.0 * k, None, "shard", rows=2**52, id=k) for k in range(3)))
    assert log.batch is not None
    assert log.batch.end <= 2**53
    assert log.take_problems() == ("report of batch 2: its records are more than can be counted: counting starts anew",)


def test_a_source_without_records_in_its_offsets_still_has_rows() -> None:
    def delta(version: int) -> dict[str, Any]:
        return {
            "sourceVersion": 1,
            "reservoirId": "a",
            "reservoirVersion": version,
            "index": 1,
            "isStartingVersion": False,
        }

    log = ReportLog()
    batches = fed(log, *(report(4.0 * k, delta(k), delta(k + 1), rows=4000, id=k) for k in range(5)))
    assert [(b.begin, b.end, b.arrived) for b in batches] == [(4000 * k, 4000 * (k + 1), None) for k in range(5)]
    assert (log.arrival_rate, log.backlog(20), log.latency) == (None, None, None)
    assert log.processing_rate == pytest.approx(1000)
    assert log.unreadable == 0


def test_metrics_of_the_source_tell_what_waits_where_its_offset_does_not() -> None:
    reports = [report(4.0 * k, {"v": "a"}, {"v": "b"}, rows=4000, id=k) for k in range(4)]
    for one in reports:
        one["sources"][0]["metrics"] = {"numBytesOutstanding": "0", "numFilesOutstanding": "0"}
    log = ReportLog()
    fed(log, *reports)
    assert (log.arrival_rate, log.backlog(12)) == (1000, 0)


def test_a_position_that_is_lost_is_told() -> None:
    log = ReportLog()
    fed(log, *steady(2), report(8, "?", "?", "?", id=2, rows=4000))
    assert log.take_problems() == ("report of batch 2: its sources have no position, those of earlier reports had one",)
    fed(log, *steady(3, begin=3))
    assert (log.arrival_rate, log.backlog(20)) == (1000, 0)


def test_latency_and_trigger_are_never_negative() -> None:
    told = {"tidegate_records": {"times": [9_000, 9_500]}}
    log = ReportLog()
    fed(log, report(4, 0, 2000, 4000, observedMetrics=told))
    assert log.latency == 0  # finished at 5; the clock of the producer is ahead
    fed(log, report(2, 2000, 4000, 4000, id=1))
    assert (log.trigger, log.latency) == (None, 0)


@pytest.mark.parametrize("times", [[3, 2], [1, None], ["a"], 5, {"a": 1}, [float("nan")], [0] * 20_000])
def test_creation_times_that_are_none_are_left_out(times: Any) -> None:
    log = ReportLog()
    (batch,) = fed(log, report(4, 0, 2000, 4000, observedMetrics={"tidegate_records": {"times": times}}))
    assert (batch.times, log.unreadable) == ((), 1)


@pytest.mark.parametrize("key", ["durationMs", "sources", "stateOperators", "eventTime", "observedMetrics", "batchId"])
@pytest.mark.parametrize("value", ["x", 7, [3], {"a": {"b": 1}}, True, None, float("inf")])
def test_every_part_may_be_anything(key: str, value: Any) -> None:
    log = ReportLog()
    fed(log, *steady(2))
    (batch,) = fed(log, report(8, 8000, 12_000, 12_000, id=2) | {key: value})
    assert (batch.planned, batch.rows) == (8, 4000)
    fed(log, *steady(2, begin=3))
    assert figures(log, 16) == (1000, 0, 4, 1)


def test_a_batch_far_ahead_in_number_and_time_does_not_hide_all_that_follow() -> None:
    wrong = report(12, 12_000, 16_000, 16_000, id=10**9) | {"timestamp": "2126-01-01T00:00:00Z"}
    log = ReportLog()
    fed(log, *steady(3), wrong, *steady(10, begin=4))
    assert figures(log, 52) == (1000, 0, 4, 1)
    assert log.unreadable == 5
