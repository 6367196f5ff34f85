"""A score over any length of run: what `figures` says of all its ticks, from the few that are kept."""

import math
import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from threading import Event as Signal
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, Step, Tick
from tidegate.score import Figures, Objective, RollingScore, figures, trace_from_ticks
from tidegate.score.figures import Backlog, Rescales, Throughput
from tidegate.score.folded_view import FoldedView
from tidegate.score.folding import Bounds, Past, weight
from tidegate.score.recovery import Recovery

START = 1000.0


@dataclass(frozen=True)
class Chances:
    """How likely something is, per tick or per batch."""

    #: a pause of some minutes without ticks and data, and a clock that is set back by some seconds
    pause: float = 0.0
    set_back: float = 0.0
    #: a batch that takes up to a minute
    slow: float = 0.02
    #: records that no batch reads, and a batch whose report is missed
    skipped: float = 0.0
    missed: float = 0.0
    #: a batch that does not say how many records had arrived, and one whose records tell when they were created
    silent: float = 0.0
    created: float = 0.0
    #: an executor that is lost
    lost: float = 0.0
    #: records that arrive per second, for each that can be read
    load: float = 0.6


class LongRun:
    def __init__(self, seed: int, chances: Chances) -> None:
        self._random = random.Random(seed)
        self._chances = chances
        self._time = self._busy = self._looked = START
        self._arrived = self._end = 0.0
        self._arrivals = [(START, 0.0)]
        self._waiting: list[Batch] = []
        self._executors = self._requested = 1

    def ticks(self, count: int) -> Iterator[Tick]:
        draw, chances = self._random, self._chances
        for number in range(count):
            self._time += draw.choice([1.0, 1.0, 1.0, 2.0, 7.0])
            if self._happens(chances.pause):
                self._time += draw.randint(50, 400)
                self._busy = self._time
            if self._happens(chances.set_back):
                self._time -= draw.choice([1.0, 2.0])
            while self._busy <= self._time - 1:
                self._plan()
            done = tuple(batch for batch in self._waiting if batch.finished <= self._time)
            self._waiting = [batch for batch in self._waiting if batch.finished > self._time]
            if self._happens(0.1):
                self._executors = max(1, self._executors + draw.choice([-1, 1]))
            yield self._tick(number, done)

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance

    def _tick(self, number: int, done: tuple[Batch, ...]) -> Tick:
        lost = (Event(self._time, "ExecutorLost", ""),) if self._happens(self._chances.lost) else ()
        events = (Event(self._time, "Other", ""), *lost)
        obs = Observation(
            self._time, self._executors, self._requested, batches=done, events=events, rerun_tasks=number // 10
        )
        if not self._happens(0.1):
            return Tick(obs)
        before = self._requested
        self._requested = max(1, before + self._random.choice([-1, 0, 1]))
        return Tick(obs, (Step("test", Decision(self._requested, "because")),), acted=before != self._requested)

    def _plan(self) -> None:
        draw, chances, planned = self._random, self._chances, self._busy
        passed, self._looked = planned - self._looked, planned
        self._arrived = float(round(self._arrived + 100 * chances.load * draw.choice([0.5, 1.0, 1.5]) * passed))
        self._arrivals.append((planned, self._arrived))
        if self._happens(chances.skipped):
            self._end = min(self._end + draw.randint(1, 40), self._arrived)
        took = draw.randint(10, 60) if self._happens(chances.slow) else draw.choice([0.5, 1.0, 2.0])
        begin, self._end = self._end, min(self._arrived, self._end + 100 * max(took, 1.0))
        self._busy = planned + max(took, 1.0)
        unread = 3 if self._happens(0.05) else 0
        batch = Batch(
            0,
            planned,
            planned + took,
            begin,
            self._end,
            arrived=None if self._happens(chances.silent) else self._arrived,
            rows=max(0, int(self._end - begin) - unread),
            times=self._creation(begin) if self._happens(chances.created) else (),
        )
        if not self._happens(chances.missed):
            self._waiting.append(batch)

    def _creation(self, begin: float) -> tuple[float, ...]:
        """When records came, and a little before, as clocks differ."""
        times, totals = np.array(self._arrivals).T
        created = np.interp(np.linspace(begin, self._end, self._random.choice([1, 3, 5])), totals, times)
        return tuple((created - 0.2 * self._random.random()).tolist())


def whole(ticks: Iterable[Tick], slo: float, native: bool = False) -> Figures:
    return figures(trace_from_ticks(ticks, START, native=native), Objective(slo))


def rolled(ticks: Iterable[Tick], slo: float = 3.0, native: bool = False, **bounds: int) -> RollingScore:
    score = RollingScore(slo, START, native, Bounds(**{"kept": 300, "carried": 150} | bounds))
    for tick in ticks:
        score.take(tick)
    return score


def past(score: RollingScore) -> Past:
    assert score._state is not None
    return score._state[0]


#: percentiles to 1 %, or to the millisecond; everything else to the nine digits that figures have
TOLERANCES = dict.fromkeys(("p50", "p95", "p99"), (0.0101, 1.5e-3))


def same(found: Any, expected: Any, name: str = "") -> bool:
    if isinstance(expected, dict):
        return found is not None and all(same(found[key], expected[key], key) for key in expected)
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if expected is None or isinstance(expected, int):
        return bool(found == expected)
    relative, absolute = TOLERANCES.get(name, (2e-8, 1e-7))
    return found is not None and math.isclose(found, expected, rel_tol=relative, abs_tol=absolute)


def different(found: Figures, expected: Figures) -> dict[str, Any]:
    """The figures that differ: nothing, as it should be."""
    pairs = zip(asdict(found).items(), asdict(expected).values(), strict=True)
    return {key: (a, b) for (key, a), b in pairs if not same(a, b, key)}


RUNS = {
    "calm": Chances(),
    "overloaded": Chances(load=1.1),
    "pauses": Chances(pause=0.03),
    "clocks set back": Chances(set_back=0.05),
    "records skipped": Chances(skipped=0.05),
    "reports missed": Chances(missed=0.05),
    "arrivals not always told": Chances(silent=0.2),
    "arrivals never told": Chances(silent=1.0),
    "creation times": Chances(created=1.0, skipped=0.05),
    "creation times only": Chances(created=1.0, silent=1.0),
    "creation times until one batch lacks them": Chances(created=0.995),
    "creation times only, until one batch lacks them": Chances(created=0.99, silent=1.0),
    "some creation times": Chances(created=0.5),
    "executors lost": Chances(lost=0.03, slow=0.05),
    "all of it": Chances(0.01, 0.02, 0.02, 0.02, 0.02, 0.05, 0.5, 0.02, 0.9),
}


@pytest.mark.parametrize("chances", RUNS.values(), ids=RUNS)
def test_a_run_that_is_folded_over_and_over_has_the_figures_of_the_whole(chances: Chances) -> None:
    ticks = list(LongRun(1, chances).ticks(150))
    score = rolled(())
    for number, tick in enumerate(ticks, 1):
        score.take(tick)
        if number % 50 == 0:
            assert different(score.figures(), whole(ticks[:number], slo=3.0)) == {}
            assert score.until == max(tick.observation.time for tick in ticks[:number]) - START
    assert past(score).processed > 0
    assert score.failures == sum(event.kind == "ExecutorLost" for tick in ticks for event in tick.observation.events)


@pytest.mark.parametrize("chances", RUNS.values(), ids=RUNS)
def test_a_run_that_is_kept_whole_has_the_very_same_figures(chances: Chances) -> None:
    ticks = list(LongRun(3, chances).ticks(60))
    score = rolled(ticks, kept=10_000)
    assert score.figures() == whole(ticks, slo=3.0)
    assert score.figures(Objective(1.0, price=0.5)) == figures(trace_from_ticks(ticks, START), Objective(1.0, 0.5))
    assert score.figures(1.0) == score.figures(Objective(1.0))


def test_where_nobody_acts_every_change_of_the_number_is_a_move() -> None:
    ticks = list(LongRun(5, Chances(lost=0.1)).ticks(150))
    score = rolled(ticks, native=True)
    assert different(score.figures(), whole(ticks, slo=3.0, native=True)) == {}
    assert score.figures().rescales.count > 10
    assert (score.failures, score.figures().recovery) == (0, ())


def batch(number: int, size: float = 5000.0, every: float = 10.0, **other: Any) -> Batch:
    """One of records that came evenly: the last just when it was planned, a second before it was finished."""
    planned = START + every * (number + 1)
    known = {"arrived": size * (number + 1), "rows": int(size)} | other
    return Batch(number, planned, planned + 1, size * number, size * (number + 1), **known)


def test_all_of_43_million_records_count() -> None:
    # a day at 500/s, of which less than an hour is kept; a batch every 50 s
    count = 1728
    score = rolled((), slo=41.0, kept=1000)
    for number in range(count):
        done = batch(number, 25_000.0, 50.0)
        score.take(Tick(Observation(done.finished, 2, 2, batches=(done,))))
    found = score.figures()
    assert (found.processed, found.lost) == (43_200_000, 0)
    assert found.latency is not None
    # records took 1 to 51 s
    assert (found.latency.mean, found.latency.max) == pytest.approx((26.0, 51.0))
    assert (found.latency.p50, found.latency.p99) == pytest.approx((26.0, 50.5), rel=0.01)
    assert found.slo.violated == pytest.approx(0.2)
    assert found.throughput == Throughput(
        offered=pytest.approx(500, rel=1e-4), processed=pytest.approx(500, rel=1e-4), ratio=1.0
    )
    assert found.workers is not None
    assert (found.workers.seconds, score.until) == (2 * 50 * (count - 1), 50 * count + 1)


def test_records_that_wait_longer_than_what_is_kept_are_as_late_as_they_are() -> None:
    # twice as many come as can be read: record n of 1000 comes at n/1000 s and is done after 2n/1000 s
    ticks = []
    for number in range(1000):
        told = 1000.0 * 2 * (number + 1)
        done = replace(batch(number, 1000.0, 1.0), begin=1000.0 * number, end=1000.0 * (number + 1), arrived=told)
        ticks.append(Tick(Observation(done.finished, 1, 1, batches=(done,))))
    found, expected = rolled(ticks, slo=10.0, kept=300).figures(), whole(ticks, slo=10.0)
    assert found.latency is not None
    assert expected.latency is not None
    assert expected.latency.max > 400
    assert asdict(found.latency) == pytest.approx(asdict(expected.latency), rel=0.01)
    assert found.latency.max == pytest.approx(expected.latency.max, rel=1e-3)
    assert found.slo.violated == pytest.approx(expected.slo.violated, rel=1e-6)
    assert found.backlog == expected.backlog


def test_records_that_nobody_read_grow_old() -> None:
    # of the first ten batches every second report is missed; at the end their records are the oldest by far
    ticks = [
        Tick(Observation(batch(number).finished, 1, 1, batches=() if number in {1, 3, 5} else (batch(number),)))
        for number in range(400)
    ]
    found, expected = rolled(ticks, slo=2000.0).figures(), whole(ticks, slo=2000.0)
    assert (found.lost, different(found, expected)) == (15_000, {})
    assert found.latency is not None
    assert found.latency.max == pytest.approx(4001 - 10)
    assert found.slo.violated == pytest.approx(3 / 400)


def test_arrivals_of_long_ago_are_thinned_and_those_of_late_are_not() -> None:
    points = np.column_stack([np.arange(1000.0), np.arange(1000.0)])
    view = FoldedView.beginning(points, first=0.0)
    assert view.thinned(1000.0, most=1000) is view
    # neighbours are 2 s apart, which is 1 % of 200 s: at 798 s and before that
    once = view.thinned(1000.0, most=999).points[:, 0]
    assert np.setdiff1d(points[:, 0], once).tolist() == list(range(1, 800, 2))
    for _ in range(9):
        view = view.thinned(1000.0, most=9)
    assert (view.points[0, 0], view.points[-1, 0]) == (0.0, 999.0)
    assert (np.diff(view.points[:, 0]) <= np.maximum(1.0, 0.01 * (1000 - view.points[1:, 0]))).all()


def test_a_pause_is_no_backlog() -> None:
    # nothing comes for ten minutes: the ticks of it are neither kept nor forgotten
    times = [START + 12.0 + second for second in range(600)]
    quiet = [Tick(Observation(time, 1, 1)) for time in times]
    first = Tick(Observation(START + 11.5, 1, 1, batches=(batch(0),)))
    later = Batch(1, START + 700, START + 701, 5000, 5001, arrived=5001.0, rows=1)
    score = rolled([first, *quiet], kept=500)
    assert len(past(score).ticks) == 1
    assert score.figures().backlog == Backlog(max=0.0, final=0.0)
    last = Tick(Observation(START + 702, 1, 1, batches=(later,)))
    score.take(last)
    assert score.figures().backlog == whole([first, *quiet, last], slo=3.0).backlog


def test_a_clock_that_is_set_back_does_not_bring_the_end_of_the_run_nearer() -> None:
    # 300 s after the start the clock is set back by 200 s; of these ticks all but the last few are folded
    times = [300.0, *(100.0 + second for second in range(100))]
    score = rolled(Tick(Observation(START + time, 1, 1)) for time in times)
    assert past(score).until == score.until == 300.0


def test_batches_are_carried_until_they_are_more_than_may_be() -> None:
    # two batches of 9 numbers each, of which nobody tells when their records arrived
    silent = [batch(number, arrived=None) for number in range(3)]
    ticks = [Tick(Observation(done.finished, 1, 1, batches=(done,))) for done in silent]
    carried = []
    for most in (18, 17):
        _, (standing, _) = Past(3.0, START, bounds=Bounds(carried=most)).fold(ticks, 2)
        carried.append([done.id for done in standing.observation.batches])
    assert carried == [[0, 1], []]


def test_a_failure_long_ago_is_not_forgotten() -> None:
    # an executor is lost at 1000 s, and what comes then is done at 3001 s at the earliest
    ticks = []
    for number in range(600):
        done = batch(number)
        if 1000 < done.planned - START < 3000:
            done = replace(done, finished=START + 3001)
        lost = (Event(START + 1000, "ExecutorLost", ""),) if number == 100 else ()
        ticks.append(Tick(Observation(batch(number).finished, 1, 2, batches=(done,), events=lost)))
    score = rolled(ticks, kept=400)
    assert score.figures().recovery == whole(ticks, slo=3.0).recovery == (Recovery(1000.0, 2001.0),)
    assert score.failures == 1


def test_of_very_many_failures_the_last_ones_are_kept_and_all_counted() -> None:
    batched = Tick(Observation(START, 1, 2, batches=(batch(-1, 10.0, 1.0),)))
    ticks = [
        Tick(
            Observation(START + k, 1, 2, batches=(batch(k, 10.0, 1.0),), events=(Event(START + k, "ExecutorLost", ""),))
        )
        for k in range(200)
    ]
    score = rolled([batched, *ticks], failures=10)
    kept = score.figures().recovery
    assert (score.failures, kept) == (200, whole([batched, *ticks], slo=3.0).recovery[-len(kept) :])
    assert 10 <= len(kept) <= 10 + 200 / 10


ENDLESS = {
    "calm": Chances(),
    "arrivals told once": Chances(silent=0.999),
    "arrivals never told": Chances(silent=1.0),
    "creation times": Chances(created=1.0),
    "executors lost": Chances(lost=0.5),
    "pauses": Chances(pause=0.01, load=0.3),
}


@pytest.mark.parametrize("chances", ENDLESS.values(), ids=ENDLESS)
def test_what_is_kept_does_not_grow(chances: Chances) -> None:
    score, sizes = rolled((), points=30, recent=30, failures=10), []
    for tick in LongRun(7, chances).ticks(300):
        score.take(tick)
        sizes.append(size(score))
    # the ticks would be 3000 numbers, and the batches as many again
    assert max(sizes) < 700


def size(score: RollingScore) -> int:
    """Numbers kept, without the bins, whose number is fixed."""
    assert score._state is not None
    folded, rows = score._state
    views = [view for view in (folded.by_arrival, folded.by_creation) if view is not None]
    points = sum(view.points.size + 4 * len(view.lost.counts) for view in views)
    failures = 5 * len(folded.recovery.failures) + 2 * len(folded.recovery.times)
    return sum(map(weight, rows)) + points + failures + folded.ticks.size


def test_a_tick_with_more_batches_than_can_be_kept() -> None:
    many = tuple(batch(number, 10.0, 1.0) for number in range(500))
    ticks = [
        Tick(Observation(many[-1].finished + later, 1, 1, batches=many if later == 0 else ())) for later in range(9)
    ]
    score = rolled(ticks, kept=100)
    assert score.figures().processed == 5000
    assert different(score.figures(), whole(ticks, slo=3.0)) == {}


def test_what_cannot_be_folded_does_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(Past, "fold", fail)
    score = rolled(())
    for second in range(100):
        with suppress(ValueError):
            score.take(Tick(Observation(START + second, 1, 1)))
        assert score._weight == size(score) <= 300
    assert score.until == 99.0


def test_what_a_tick_weighs() -> None:
    batches = (batch(0), replace(batch(1), times=(1.0, 2.0, 3.0)))
    assert [weight(Tick(Observation(0.0, 1, 1, batches=batches[:count]))) for count in range(3)] == [13, 22, 34]


def test_a_quarter_is_left_after_a_fold() -> None:
    score, left = rolled((), kept=1300), list[int]()
    for second in range(200):
        before = score._weight
        score.take(Tick(Observation(START + second, 1, 1)))
        if score._weight < before:
            left.append(score._weight)
    # 25 of at most 100 ticks, and one that stands for the folded
    assert left == [26 * 13] * 2


def test_without_a_start_it_is_the_first_tick() -> None:
    score = RollingScore(slo=1.0)
    assert (score.until, score.failures, score.figures().workers) == (0.0, 0, None)
    score.take(Tick(Observation(500.0, 1, 1)))
    score.take(Tick(Observation(530.0, 1, 1)))
    assert score.until == 30.0


def test_only_what_is_scored_is_kept_of_a_tick() -> None:
    busy = tuple(ExecutorSample(str(k), cpu=0.5) for k in range(10))
    steps = (Step("test", Decision(1, "first")), Step("limits", Decision(2, "long reason", {"evidence": 1.0})))
    events = (Event(1.0, "Other", "long text"), Event(1.0, "ExecutorLost", "long text"))
    empty = Batch(0, START, START, 5.0, 5.0, arrived=7.0)
    score = rolled(
        [Tick(Observation(START, 1, 1, per_executor=busy, events=events, batches=(empty,)), steps, acted=True)]
    )
    assert score._state is not None
    (row,) = score._state[1]
    assert (row.observation.per_executor, row.observation.batches) == ((), ())
    assert [event.kind for event in row.observation.events] == ["ExecutorLost"]
    assert [(step.decision.executors, step.decision.reason) for step in row.steps] == [(2, "")]
    assert score.figures().rescales == Rescales(count=1, up=1, down=0)


def test_figures_may_be_asked_for_while_ticks_come() -> None:
    score, over, found = rolled((), kept=100), Signal(), list[Figures]()

    def ask() -> None:
        while not over.is_set():
            found.append(score.figures())

    asking = Thread(target=ask)
    asking.start()
    number = 0
    while len(found) < 5 or number < 300:
        done = batch(number, 10.0, 1.0)
        score.take(Tick(Observation(done.finished, 1, 1, batches=(done,))))
        number += 1
    over.set()
    asking.join()
    processed = [figures.processed for figures in found]
    assert processed == sorted(processed)
    assert all(figures.lost == 0 and figures.processed % 10 == 0 for figures in found)
    assert all(figures.latency is None or figures.latency.max == 2.0 for figures in found)
