"""However long a run was, its report holds a bounded number of points, decisions and events."""

import pytest

from tidegate.report.choices import LISTED, MARKED, Choice, Outcome, decisions
from tidegate.report.events import LISTED as GROUPS
from tidegate.report.events import EventLog, RunEvent
from tidegate.report.thinning import Sampled, Thinning


def choice(time: float, outcome: Outcome, reason: str = "because") -> Choice:
    after = {"up": 3, "down": 1, "hold": 2, "advised": 4}[outcome]
    return Choice(time, 2, after, outcome, (("p", reason),))


def test_samples_are_spread_over_all_items() -> None:
    sampled: Sampled[int] = Sampled(most=10)
    for number in range(1000):
        sampled.add(number)
    # every 128th: 64 would be 16 of them
    assert (sampled.items, sampled.count) == ([0, 128, 256, 384, 512, 640, 768, 896], 1000)


@pytest.mark.parametrize("count", [1, 10, 11, 20, 1000])
def test_thinning_has_at_most_so_many_points_in_order(count: int) -> None:
    thinning = Thinning(columns=1, points=10)
    for number in range(count):
        thinning.add(float(number), (float(number % 5),))
    samples = thinning.samples()
    assert len(samples.times) == len(samples.columns[0]) <= 10
    assert (samples.times[0], samples.times[-1]) == (0.0, count - 1.0)
    assert list(samples.times) == sorted(samples.times)
    assert (samples.width is None) == (count <= 10)


def test_extremes_are_in_the_order_in_which_they_were_reached() -> None:
    thinning = Thinning(columns=2, points=2)
    # up and down again: the second column falls before it rises
    for time, values in enumerate([(1.0, 5.0), (9.0, 5.0), (2.0, 0.0), (2.0, 8.0)]):
        thinning.add(float(time), values)
    samples = thinning.samples()
    assert samples.times == (0.0, 3.0)
    assert samples.columns == ((1.0, 9.0), (0.0, 8.0))


def test_an_interval_without_a_known_value_is_a_gap() -> None:
    thinning = Thinning(columns=1, points=4)
    for time in range(8):
        thinning.add(float(time), (None if time < 4 else 1.0,))
    assert thinning.samples().columns == ((None, None, 1.0, 1.0),)


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    thinning = Thinning(columns=1, points=4)
    for time, value in ((100.0, 1.0), (101.0, 1.0), (102.0, 1.0), (103.0, 1.0), (104.0, 1.0), (50.0, 7.0)):
        thinning.add(time, (value,))
    samples = thinning.samples()
    assert max(value or 0.0 for value in samples.columns[0]) == 7.0
    assert samples.times[0] == 50.0


def test_decisions_to_hold_do_not_push_those_that_acted_off_the_page() -> None:
    made = [choice(0.0, "up"), *(choice(float(n), "hold", "abc"[n % 3]) for n in range(1, 2000))]
    shown = decisions(made)
    assert shown.count == 2000
    assert [fold.last.time for fold in shown.changes.rows] == [0.0]
    assert shown.changes.earlier == 0
    # no two neighbours say the same, so that each is a row
    assert (len(shown.every.rows), shown.every.earlier) == (LISTED, 2000 - LISTED)


def test_advice_does_not_push_those_that_acted_off_the_page() -> None:
    made = [choice(0.0, "down"), *(choice(float(n), "advised", "abc"[n % 3]) for n in range(1, 2000))]
    changes = decisions(made).changes
    assert (changes.rows[0].last.outcome, len(changes.rows)) == ("down", LISTED)
    assert changes.earlier == 2000 - LISTED


def test_only_the_latest_of_very_many_that_acted_are_listed_and_the_rest_is_counted() -> None:
    shown = decisions(choice(float(n), "up" if n % 2 else "down") for n in range(3000))
    assert (len(shown.changes.rows), shown.changes.earlier) == (LISTED, 3000 - LISTED)
    assert shown.changes.rows[-1].last.time == 2999.0
    assert len(shown.marked("up")) <= MARKED["up"]
    assert shown.marks["up"].count == 1500


def test_rows_that_are_not_listed_count_all_their_decisions() -> None:
    """1001 rows: a hold, and then two holds that say the same by turns with an advice."""
    made = [choice(float(3 * n + k), "hold", "x") for n in range(LISTED) for k in range(2)]
    every = decisions([*made[:2], *(choice(1e6 + n, "hold", "ab"[n % 2]) for n in range(LISTED))]).every
    assert every.earlier == 2


def test_events_are_grouped_by_kind_and_message() -> None:
    log = EventLog()
    for time, kind, message in ((1, "A", "x"), (2, "B", "x"), (3, "A", "x"), (4, "A", "y 1"), (5, "A", "y 2")):
        log.add(RunEvent(float(time), kind, message))
    groups = [
        (group.last.kind, group.last.message, group.since, group.last.time, group.count)
        for group in log.events().groups
    ]
    assert groups == [("A", "x", 1, 3, 2), ("B", "x", 2, 2, 1), ("A", "y 1", 4, 4, 1), ("A", "y 2", 5, 5, 1)]


def test_messages_that_differ_in_numbers_are_grouped_where_there_are_too_many() -> None:
    log = EventLog()
    for number in range(GROUPS):
        log.add(RunEvent(float(number), "A", f"executor {number}"))
    assert len(log.events().groups) == GROUPS
    log.add(RunEvent(1e3, "A", "executor 1000"))
    (group,) = log.events().groups
    assert (group.count, group.since, group.last.message) == (GROUPS + 1, 0.0, "executor 1000")


def test_events_beyond_all_groups_are_counted() -> None:
    log = EventLog()
    for number in range(GROUPS + 7):
        log.add(RunEvent(0.0, f"Kind{'x' * number}", ""))
    assert (len(log.events().groups), log.events().unlisted, log.events().count) == (GROUPS, 7, GROUPS + 7)
