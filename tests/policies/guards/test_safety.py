"""Executors on their way or stalled, late records, a backlog, and a scale-up that did not help."""

from dataclasses import replace

import pytest

from tidegate.core import Decision, ExecutorSample, Observation
from tidegate.policies.guards import Arriving, CatchingUp, Effect, Late, Stalled, Uneven


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


def coming(time: float, executors: int, requested: int) -> Observation:
    return Observation(time, executors, requested)


def moving(time: float, uneven: str = "9 state partitions are on their way") -> Observation:
    return Observation(time, 4, 4, uneven=uneven)


def test_state_on_its_way_is_waited_for_in_both_directions() -> None:
    guard = Uneven(patience=60)
    reason = "hold: 6 wished (wished), but 9 state partitions are on their way, since 15 s; waiting up to 60 s"
    assert guard.temper(wish(4), moving(0)) == wish(4)
    assert guard.temper(wish(6), moving(15)).reason == reason
    assert guard.temper(wish(2), moving(59)).executors == 4
    assert guard.temper(wish(6), moving(60)) == wish(6)  # it does not wait for ever


def test_each_move_of_state_is_waited_for_anew() -> None:
    guard = Uneven(patience=60)
    assert guard.temper(wish(6), moving(0)).executors == 4
    assert guard.temper(wish(6), moving(50, uneven="")) == wish(6)
    assert guard.temper(wish(6), moving(100)).executors == 4


def test_a_clock_that_goes_back_does_not_make_the_wait_for_state_longer() -> None:
    guard = Uneven(patience=60)
    assert guard.temper(wish(6), moving(1000)).executors == 4
    assert guard.temper(wish(6), moving(10)).executors == 4
    assert guard.temper(wish(6), moving(70)) == wish(6)


def test_executors_on_their_way_are_waited_for() -> None:
    guard = Arriving(patience=60)
    assert guard.temper(wish(4), coming(0, 2, 2)).executors == 4
    assert guard.temper(wish(6), coming(15, 2, 4)).executors == 4
    reason = "hold: 6 wished (wished), but 1 of 4 executors are still to come, since 15 s; waiting up to 60 s"
    assert guard.temper(wish(6), coming(30, 3, 4)).reason == reason
    assert guard.temper(wish(1), coming(30, 3, 4)).executors == 4  # nor fewer, by figures of three
    assert guard.temper(wish(6), coming(45, 4, 4)).executors == 6


def test_a_cluster_that_never_gives_them_does_not_block_for_ever() -> None:
    guard = Arriving(patience=60)
    executors = [guard.temper(wish(2), coming(t, 2, 4)).executors for t in (0, 30, 59, 60, 75)]
    assert executors == [4, 4, 4, 2, 2]


def test_a_new_request_is_waited_for_anew_and_a_loss_too() -> None:
    guard = Arriving(patience=60)
    guard.temper(wish(4), coming(0, 2, 4))
    assert guard.temper(wish(8), coming(70, 2, 6)).executors == 6
    assert guard.temper(wish(8), coming(80, 6, 6)).executors == 8
    assert guard.temper(wish(8), coming(90, 5, 6)).executors == 6


def test_waiting_survives_a_clock_that_goes_back() -> None:
    guard = Arriving(patience=60)
    guard.temper(wish(6), coming(1000, 2, 4))
    assert guard.temper(wish(6), coming(10, 2, 4)).executors == 4
    assert guard.temper(wish(6), coming(70, 2, 4)).executors == 6


@pytest.mark.parametrize(
    ("figures", "rule"),
    [
        ({"backlog": 6000, "arrival_rate": 20}, None),  # 300 s are not more than 300
        ({"backlog": 8000, "arrival_rate": 20}, "but the backlog is 400 s of arrivals, more than 300 s"),
        ({"backlog": 8000, "arrival_rate": 0, "processing_rate": 10}, "but the backlog is 800 s of work, more than"),
        ({"backlog": 0}, None),
        ({"backlog": 0, "arrival_rate": 0, "latency": 900}, None),  # the last batch was late, and all is done since
        ({"latency": 301}, "but the latency is 301 s, more than 300 s: still catching up"),
        ({"latency": 5, "arrival_rate": 100}, None),
        ({"latency": 301, "processing_rate": 50}, "but the latency is 301 s, more than 300 s: still catching up"),
        ({"arrival_rate": 0}, None),  # a query that never got a record
        ({"arrival_rate": 5}, "but neither backlog nor latency is known: it may be catching up"),
        ({"backlog": 5, "arrival_rate": 0}, "but neither backlog nor latency is known: it may be catching up"),
        ({"backlog": 5}, "but neither backlog nor latency is known: it may be catching up"),
        ({}, "but neither backlog nor latency is known: it may be catching up"),
    ],
)
def test_no_fewer_while_catching_up(figures: dict[str, float], rule: str | None) -> None:
    obs = replace(Observation(0, 4, 4), **figures)  # type: ignore[arg-type]
    decision = CatchingUp(seconds=300).temper(wish(2), obs)
    assert decision == wish(2) if rule is None else decision.reason.startswith(f"hold: 2 wished (wished), {rule}")
    assert CatchingUp(seconds=300).temper(wish(6), obs) == wish(6)  # more is always welcome
    assert CatchingUp(seconds=300).temper(wish(4), obs) == wish(4)


@pytest.mark.parametrize("figures", [{"backlog": 0}, {"backlog": 0, "latency": 9}, {"arrival_rate": 0}])
def test_nothing_to_do_is_no_second_behind(figures: dict[str, float]) -> None:
    obs = replace(Observation(0, 4, 4), **figures)  # type: ignore[arg-type]
    assert CatchingUp(seconds=0.5).temper(wish(2), obs) == wish(2)


@pytest.mark.parametrize(
    ("backlog", "trigger", "pause", "held"),
    [
        (2000, 10, 8, False),  # 20 s of arrivals, two triggers: what waits and what runs
        (2001, 10, 8, True),
        (2000, 10, 1.1, False),  # it still waits for its trigger, if only for a tenth of it
        (501, 10, 1, True),  # without a pause, 5 s count
        (501, 10, 0, True),
        (500, 10, 0, False),
        (501, 2, 1, True),  # two triggers are less than 5 s
        (501, None, 1, True),
        (501, 10, None, True),
    ],
)
def test_the_arrivals_of_two_triggers_are_no_backlog(
    backlog: float, trigger: float | None, pause: float | None, held: bool
) -> None:
    obs = Observation(0, 4, 4, backlog=backlog, arrival_rate=100, trigger=trigger, batch_duration=2, pause=pause)
    decision = CatchingUp(seconds=5).temper(wish(2), obs)
    assert decision.executors == (4 if held else 2)
    if held:
        allowed = 20 if pause == 8 else 5
        assert decision.reason.endswith(f"of arrivals, more than {allowed} s: still catching up")


@pytest.mark.parametrize(
    ("figures", "held"),
    [
        ({"latency": 10.5}, True),
        ({"latency": 10}, False),
        ({"latency": None}, False),  # `catching-up` decides what is not known
        ({"latency": 27, "backlog": 0}, False),  # the last batch was late, and nothing is left
        ({"latency": 27, "backlog": 1}, True),
        ({"latency": 70, "trigger": 60, "pause": 50}, False),  # the trigger alone takes longer
        ({"latency": 12, "trigger": 10, "pause": 8}, False),
        ({"latency": 12, "trigger": 9, "pause": 6}, True),  # more executors can make it 10
        ({"latency": 130, "trigger": 65, "pause": 0}, True),  # no pause: batches are what takes so long
    ],
)
def test_no_fewer_while_the_last_batch_was_late(figures: dict[str, float], held: bool) -> None:
    obs = replace(Observation(0, 3, 3, backlog=5e6), **figures)  # type: ignore[arg-type]
    decision = Late(seconds=10).temper(wish(2), obs)
    assert decision.executors == (3 if held else 2)
    if held:
        rule = f"but the last batch was late: its latency is {obs.latency:.0f} s, more than 10 s"
        assert decision.reason == f"hold: 2 wished (wished), {rule}"
    assert Late(seconds=10).temper(wish(3), obs) == wish(3)
    assert Late(seconds=10).temper(wish(4), obs) == wish(4)


def responding(*stalled: bool) -> Observation:
    return Observation(0, 5, 5, per_executor=tuple(ExecutorSample(str(k), stalled=s) for k, s in enumerate(stalled)))


def test_no_fewer_by_the_figures_of_executors_that_do_not_respond() -> None:
    assert Stalled().temper(wish(2), responding(False, True, False)).reason == (
        "hold: 2 wished (wished), but executor 1 does not respond, and its figures are not those of an idle one"
    )
    assert Stalled().temper(wish(4), responding(True, True)).reason == (
        "hold: 4 wished (wished), but 2 executors (0, 1) do not respond, and their figures are not those of idle ones"
    )
    assert "3 executors (0, 1, 2) do" in Stalled().temper(wish(4), responding(True, True, True)).reason
    assert "4 executors (0, 1, 2 …) do" in Stalled().temper(wish(4), responding(True, True, True, True)).reason


def test_more_is_welcome_beside_a_stalled_executor_and_fewer_where_there_is_none() -> None:
    assert Stalled().temper(wish(6), responding(True)) == wish(6)
    assert Stalled().temper(wish(5), responding(True)) == wish(5)
    assert Stalled().temper(wish(4), responding(False, False)) == wish(4)
    assert Stalled().temper(wish(4), responding()) == wish(4)


def ran(time: float, executors: int, rate: float | None, backlog: float | None, requested: int = 0) -> Observation:
    return Observation(time, executors, requested or executors, processing_rate=rate, backlog=backlog)


def after(*seen: Observation) -> Decision:
    guard = Effect(threshold=0.1, hold=600, after=30)
    decisions = [guard.temper(wish(8), obs) for obs in seen]
    assert all(decision == wish(8) for decision in decisions[:-1])
    return decisions[-1]


BEFORE = ran(0, 2, 100, 500)


def test_a_scale_up_that_did_not_help_stops_the_next_one() -> None:
    # 2 -> 4: 200 expected, 101 seen: 1 of 100 more, and the backlog went from 900 to 1500
    assert after(BEFORE, ran(15, 4, 100, 900), ran(45, 4, 101, 1500)).reason == (
        "hold: 8 wished (wished), but adding executors did not help: 2 -> 4 gave +1 % where +100 % was expected; "
        "is the sink the bottleneck? No more for another 600 s"
    )


def test_ten_per_cent_of_the_expected_are_enough() -> None:
    assert after(BEFORE, ran(15, 4, 100, 900), ran(45, 4, 110, 1500)) == wish(8)
    assert after(BEFORE, ran(15, 4, 100, 900), ran(45, 4, 109, 1500)).executors == 4


def test_what_is_expected_grows_with_the_executors() -> None:
    # 2 -> 6: 300 expected, and a quarter of the 200 more is enough
    def judged(rate: float) -> Decision:
        guard = Effect(threshold=0.25, hold=600, after=30)
        for obs in (BEFORE, ran(15, 6, 100, 900)):
            guard.temper(wish(8), obs)
        return guard.temper(wish(8), ran(45, 6, rate, 1500))

    assert judged(150) == wish(8)
    assert "2 -> 6 gave +49 % where +200 % was expected" in judged(149).reason


def test_what_arrives_no_faster_than_it_is_processed_tells_nothing() -> None:
    def judged(arrivals: float) -> Decision:
        return after(BEFORE, ran(15, 4, 100, 900), replace(ran(45, 4, 101, 1500), arrival_rate=arrivals))

    assert judged(101) == wish(8)
    assert judged(102).executors == 4


@pytest.mark.parametrize(
    "seen",
    [
        (BEFORE, ran(15, 4, 100, 900), ran(45, 4, 101, 900)),  # the backlog does not grow: no more was to be done
        (BEFORE, ran(15, 4, 100, 900), replace(ran(45, 4, 101, 1500), arrival_rate=90)),  # nor by the rates
        (BEFORE, ran(15, 4, 100, 900), ran(45, 4, None, 1500)),
        (BEFORE, ran(15, 4, 100, 900), ran(45, 4, 101, None)),
        (BEFORE, ran(15, 4, 100, None), ran(45, 4, 101, 1500)),
        (ran(0, 2, 100, None), ran(15, 4, 100, 900), ran(45, 4, 101, 1500)),
        (ran(0, 2, 100, 0), ran(15, 4, 100, 900), ran(45, 4, 101, 1500)),  # two were not at their limit
        (ran(0, 2, None, 500), ran(15, 4, 100, 900), ran(45, 4, 101, 1500)),
        (ran(0, 0, 0, 500), ran(15, 4, 100, 900), ran(45, 4, 101, 1500)),
        (BEFORE, ran(15, 2, 100, 900, requested=4), ran(60, 3, 101, 1500, requested=4)),  # they never came
        (BEFORE, ran(15, 4, 100, 900), ran(30, 3, 90, 1100, requested=4), ran(45, 4, 101, 1500)),  # one was lost
        (BEFORE, ran(15, 4, 100, 900), ran(45, 3, 101, 1500)),  # a scale-in since
        (BEFORE, ran(15, 4, 100, 900), ran(14, 4, 101, 1500), ran(45, 4, 101, 1600)),  # the clock went back
        (ran(0, 4, 100, 900), ran(45, 4, 101, 1500)),  # no scale-up at all
    ],
)
def test_where_it_cannot_be_told_there_is_no_judgement(seen: tuple[Observation, ...]) -> None:
    assert after(*seen) == wish(8)


def test_one_executor_is_enough_to_judge_two_by() -> None:
    # 1 -> 2: 200 expected
    decision = after(ran(0, 1, 100, 500), ran(15, 2, 100, 900), ran(45, 2, 101, 1500))
    assert "1 -> 2 gave +1 % where +100 % was expected" in decision.reason


def test_the_wait_begins_when_the_executors_are_there() -> None:
    late = (BEFORE, ran(15, 2, 100, 600, requested=4), ran(50, 4, 100, 900), ran(79, 4, 101, 1400))
    assert after(*late) == wish(8)
    assert after(*late, ran(80, 4, 101, 1500)).executors == 4


def test_long_batches_are_given_the_time_for_two() -> None:
    # the batch that was running at 15 ends by 55, the first with all four by 95
    slow = [replace(ran(t, 4, 101, backlog), batch_duration=40) for t, backlog in [(15, 900), (94, 1500), (95, 1600)]]
    assert after(BEFORE, *slow[:2]) == wish(8)
    assert after(BEFORE, *slow).executors == 4


def test_two_scale_ups_in_a_row_are_judged_as_one() -> None:
    # 2 -> 4 -> 6: 300 expected, 105 seen: 5 of 200 more
    decision = after(BEFORE, ran(15, 4, 100, 900), ran(30, 6, 103, 1200), ran(60, 6, 105, 1500))
    assert "2 -> 6 gave +5 % where +200 % was expected" in decision.reason


def test_the_block_ends_and_fewer_than_sufficed_may_be_made_up_for() -> None:
    guard = Effect(threshold=0.1, hold=600, after=30)
    for obs in (BEFORE, ran(15, 4, 100, 900), ran(45, 4, 101, 1500)):
        guard.temper(wish(8), obs)
    assert guard.temper(wish(2), ran(60, 4, 101, 1500)) == wish(2)  # fewer are no question
    assert guard.temper(wish(8), ran(70, 2, 101, 1500)).executors == 2
    assert guard.temper(wish(8), ran(80, 1, 50, 1500)) == wish(8)  # with less than two it is another matter
    assert guard.temper(wish(8), ran(644, 4, 101, 1500)).executors == 4
    assert guard.temper(wish(8), ran(645, 4, 101, 1500)) == wish(8)
