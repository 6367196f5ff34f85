"""What a folded stretch must still say."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, OperatorSample, Step, Tick
from tidegate.score import Objective, figures, trace_from_ticks
from tidegate.store.blocks import Numbered
from tidegate.store.folding import MINUTE, OMITTED, TEN_MINUTES, Grain, fold, merge_batches, thin


def numbered(ticks: list[Tick], first: int = 1) -> list[Numbered]:
    return list(enumerate(ticks, first))


def plain(at: float, executors: int = 2, requested: int = 2, **values: object) -> Tick:
    return Tick(Observation(at, executors, requested, **values))  # type: ignore[arg-type]


def decided(at: float, wish: int, acted: bool = False, requested: int = 2) -> Tick:
    return Tick(Observation(at, 2, requested), (Step("p", Decision(wish, f"{wish} at {at:g}", {"x": 1 / 3})),), acted)


#: a tick like the others, so that the first of them is no change
BEFORE = plain(-1)


def times(folded: list[Numbered]) -> list[float]:
    return [tick.observation.time for _, tick in folded]


def test_a_quiet_minute_is_one_tick_with_its_last_number_and_time() -> None:
    folded = fold(numbered([plain(t) for t in range(180)]), MINUTE, BEFORE)
    assert [(n, tick.observation.time) for n, tick in folded] == [(60, 59), (120, 119), (180, 179)]


def test_rates_are_means_over_time_and_latency_and_backlog_the_highest() -> None:
    # the first stands for two seconds, the second for one, the third for four: (20 + 10 + 4 * 40) / 7
    seen = [
        plain(1, arrival_rate=10.0, latency=3.0, backlog=7.0, batch_duration=1.0),
        plain(2, arrival_rate=10.0, latency=9.0, backlog=70.0, batch_duration=4.0),
        plain(6, arrival_rate=40.0, latency=None, backlog=0.0, batch_duration=2.0, processing_rate=5.0),
    ]
    ((_, tick),) = fold(numbered(seen), MINUTE, BEFORE)
    obs = tick.observation
    assert (obs.arrival_rate, obs.processing_rate) == (27.143, 5.0)
    assert (obs.latency, obs.backlog, obs.batch_duration) == (9.0, 70.0, 4.0)


def test_what_is_not_a_number_is_unknown() -> None:
    seen = [plain(1, arrival_rate=float("nan"), latency=float("inf")), plain(2, arrival_rate=4.0)]
    ((_, tick),) = fold(numbered(seen), MINUTE, BEFORE)
    assert (tick.observation.arrival_rate, tick.observation.latency) == (4.0, None)


def test_executors_become_one_sample_and_operators_keep_their_names() -> None:
    def at(time: float, *cpu: float | None) -> Tick:
        samples = tuple(ExecutorSample(str(n), cores=2, cpu=value, rate=10.0) for n, value in enumerate(cpu))
        return plain(time, per_executor=samples, operators=(OperatorSample("a", busy=time), OperatorSample("b")))

    ((_, tick),) = fold(numbered([at(1, 0.2, 0.4), at(2, 0.6, None)]), MINUTE, plain(0))
    assert tick.observation.per_executor == (ExecutorSample("mean", cores=2, cpu=0.4, rate=10.0),)
    assert [(op.name, op.busy) for op in tick.observation.operators] == [("a", 1.5), ("b", None)]


def test_a_tick_at_which_something_changes_stays_its_own() -> None:
    seen = [plain(t, executors=2 + (t >= 20), requested=2 + (t >= 10)) for t in range(60)]
    assert times(fold(numbered(seen), MINUTE)) == [0, 9, 10, 19, 20, 59]


def test_a_change_between_two_blocks_is_seen_from_the_tick_before() -> None:
    seen = numbered([plain(t, executors=3) for t in range(60, 120)])
    assert times(fold(seen, MINUTE, before=plain(59, executors=3))) == [119]
    assert times(fold(seen, MINUTE, before=plain(59, executors=2))) == [60, 119]


def test_actions_stay_and_of_other_decisions_those_with_another_wish_and_the_last() -> None:
    seen = [
        decided(0, 2), plain(1), decided(15, 2), decided(30, 3), decided(45, 3), decided(50, 4, acted=True),
        plain(51, requested=4), decided(55, 4, requested=4), plain(59, requested=4),
    ]  # fmt: skip
    folded = fold(numbered(seen), MINUTE, BEFORE)
    told = [(tick.observation.time, tick.decision and tick.decision.reason, tick.acted) for _, tick in folded]
    assert told == [
        (15, "2 at 15", False),
        (30, "3 at 30", False),
        (45, "3 at 45", False),
        (50, "4 at 50", True),
        (51, None, False),
        (59, "4 at 55", False),
    ]
    assert folded[0][1].steps[0].decision.evidence == {"x": 0.33333}


def test_events_stay_up_to_a_cap_that_is_told() -> None:
    seen = [plain(t, events=(Event(t, "ExecutorLost", str(t)),)) for t in range(5)]
    ((_, tick),) = fold(numbered(seen), replace(MINUTE, events=3), BEFORE)
    *kept, omitted = tick.observation.events
    assert [event.message for event in kept] == ["0", "1", "2"]
    assert (omitted.kind, omitted.message) == (OMITTED, "2 events of this stretch are not kept")


def test_a_policy_that_acts_every_second_cannot_fill_the_store() -> None:
    seen = [decided(t, 2 + t % 2, acted=True, requested=3 - t % 2) for t in range(600)]
    minutes = fold(numbered(seen), MINUTE)
    assert len(minutes) <= 10 * (2 * MINUTE.kept + 1)
    assert sum(tick.acted for _, tick in minutes) >= 10 * MINUTE.kept
    assert {event.kind for _, tick in minutes for event in tick.observation.events} == {OMITTED}
    assert len(fold(minutes, TEN_MINUTES)) <= 2 * TEN_MINUTES.kept + 1


def batch(id: int, begin: float, end: float, finished: float, **values: object) -> Batch:
    return Batch(id, finished - 1, finished, begin, end, **values)  # type: ignore[arg-type]


def test_batches_that_adjoin_are_merged_with_the_last_total_at_its_planning() -> None:
    merged = merge_batches(
        [batch(0, 0, 10, 6.0, arrived=12, rows=11), batch(1, 10, 30, 8.0, arrived=33, rows=20)], 5.0, 9
    )
    assert merged == (Batch(1, 7.0, 8.0, 0, 30, 33, 31),)


def test_a_gap_an_overlap_and_a_later_slot_are_not_merged_away() -> None:
    apart = [batch(0, 0, 10, 1.0), batch(1, 12, 20, 2.0), batch(2, 12, 20, 3.0), batch(3, 20, 30, 6.0)]
    assert len(merge_batches(apart, 5.0, 9)) == 4
    # beyond the cap the number of records stays right
    first, rest = merge_batches(apart, 5.0, 2)
    assert (first.end - first.begin, rest.end - rest.begin) == (10, 26)


def test_creation_times_of_merged_batches_are_quantiles_of_all_their_records() -> None:
    merged = merge_batches([batch(0, 0, 10, 6.0, times=(0.0, 1.0)), batch(1, 10, 40, 7.0, times=(2.0, 5.0))], 5.0, 9)
    assert merged[0].times == (0.0, 5.0)
    three = merge_batches([batch(0, 0, 10, 6, times=(0, 1, 2)), batch(1, 10, 20, 7, times=(2, 3, 6))], 5.0, 9)
    assert three[0].times == (0.0, 2.0, 6.0)
    assert merge_batches([batch(0, 0, 10, 6, times=(0, 1)), batch(1, 10, 20, 7)], 5.0, 9)[0].times == ()


def some_run(seed: int) -> list[Tick]:
    """Ticks of a query that is rescaled now and then and loses an executor, with batches of some seconds."""
    draw, made = random.Random(seed), list[Tick]()
    now, done, requested, executors, number = 1000.0, 0.0, 2, 2, 0
    for _ in range(draw.randint(2, 120)):
        now += draw.choice([1.0, 1.0, 1.0, 1.25, 30.0])
        executors = draw.choice([executors, executors, executors, requested, 1])
        batches = []
        for _ in range(draw.randint(0, 2)):
            size, number = draw.randint(0, 50), number + 1
            batches.append(Batch(number, now - 2, now - 1, done, done + size, done + size + 5, size))
            done += size
        obs = Observation(now, executors, requested, batches=tuple(batches), rerun_tasks=number)
        wish = draw.choice([None, None, requested, requested, 1, 3])
        steps = () if wish is None else (Step("p", Decision(wish, "why")),)
        made.append(Tick(obs, steps, acted=wish is not None and wish != requested))
        requested = wish or requested
    return made


RUNS = st.integers(0, 1_000_000).map(some_run)

#: nothing is left out for being too much, which has tests of its own
WIDE = (replace(MINUTE, kept=1000), replace(TEN_MINUTES, kept=1000))


@given(RUNS)
@settings(max_examples=25, deadline=None)
def test_executor_seconds_actions_and_records_are_the_same_before_and_after(ticks: list[Tick]) -> None:
    minutes = fold(numbered(ticks), WIDE[0])
    coarse = fold(minutes, WIDE[1])
    whole = figures(trace_from_ticks(ticks, 1000.0), Objective(10.0))
    for folded in (minutes, coarse):
        again = figures(trace_from_ticks([tick for _, tick in folded], 1000.0), Objective(10.0))
        assert again.processed == whole.processed
        assert again.lost == whole.lost
        assert again.rescales == whole.rescales
        assert again.rerun_tasks == whole.rerun_tasks
        assert again.workers == whole.workers


@given(RUNS, st.integers(10, 60))
@settings(max_examples=25, deadline=None)
def test_numbers_and_times_rise_and_the_last_tick_is_the_last(ticks: list[Tick], at_most: int) -> None:
    every, end = numbered(ticks, 7), ticks[-1].observation.time
    for folded in (fold(every, MINUTE), thin(every, at_most, end)):
        assert folded[-1][0] == every[-1][0]
        assert times(folded)[-1] == ticks[-1].observation.time
        assert all(a < b for (a, _), (b, _) in pairwise(folded))
    assert len(thin(every, at_most, end)) <= at_most
    records = sum(b.end - b.begin for tick in ticks for b in tick.observation.batches)
    assert sum(b.end - b.begin for _, tick in thin(every, at_most, end) for b in tick.observation.batches) == records


def test_folding_in_two_steps_is_as_good_as_in_one() -> None:
    seen = numbered([plain(t, arrival_rate=float(t), latency=t % 7) for t in range(600)])
    twice, once = fold(fold(seen, MINUTE, BEFORE), TEN_MINUTES, BEFORE), fold(seen, TEN_MINUTES, BEFORE)
    assert [(n, tick.observation.latency) for n, tick in twice] == [(n, tick.observation.latency) for n, tick in once]
    assert twice[0][1].observation.arrival_rate == pytest.approx(once[0][1].observation.arrival_rate, rel=1e-2)


def test_many_ticks_are_folded_in_pieces_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = numbered([plain(t, executors=2 + t // 500 % 2, arrival_rate=float(t)) for t in range(3000)])
    at_once = thin(seen, 100, 2999.0)
    monkeypatch.setattr("tidegate.store.folding.PIECE", 70)
    assert thin(iter(seen), 100, 2999.0) == at_once
    assert 70 <= len(at_once) <= 100


def test_nothing_folds_into_nothing() -> None:
    assert fold([], MINUTE) == []
    assert thin([], 10, 0.0) == []
    assert thin(numbered([plain(5.0)] * 30), 10, 5.0)[-1][0] == 30


def test_a_grain_of_any_width_is_a_grain() -> None:
    assert times(fold(numbered([plain(t) for t in range(10)]), Grain(5.0, batch=5.0))) == [0, 4, 9]
