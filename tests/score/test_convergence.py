from dataclasses import replace

import numpy as np
import pytest

from tidegate.core import InvalidInput
from tidegate.score import Cumulative, Finished, Move, RunTrace
from tidegate.score.convergence import Convergence, convergence, step_times, steps_of

NONE = np.array([])


def trace(rates: list[tuple[float, float]], executors: dict[float, int], moves: tuple[float, ...] = ()) -> RunTrace:
    """Ticks every 10 s; `rates` last so many seconds each, `executors` from a time on."""
    times = np.cumsum([0.0, *(seconds for seconds, _ in rates)])
    totals = np.cumsum([0.0, *(seconds * rate for seconds, rate in rates)])
    ticks = np.arange(0.0, times[-1] + 1, 10.0)
    seen = np.array([executors[max(t for t in executors if t <= tick)] for tick in ticks], dtype=float)
    told = tuple(Move(time, 1, 2) for time in moves)
    return RunTrace(Cumulative(times, totals), Finished(NONE, NONE, NONE), ticks, seen, seen, float(times[-1]), told)


def oracle(run: RunTrace, executors: dict[float, int]) -> np.ndarray:
    return np.array([executors[max(t for t in executors if t <= tick)] for tick in run.times], dtype=float)


STEP = [(600.0, 100.0), (1200.0, 300.0)]


def test_time_and_moves_until_it_stays_near_the_oracle() -> None:
    # 6 are wanted from 600 s on: 5 from 700 to 720 are near but do not stay, 7 from 800 on do
    run = trace(STEP, {0: 2, 700: 5, 720: 3, 800: 7}, moves=(100, 650, 710, 790, 900))
    assert convergence(run, oracle(run, {0: 2, 600: 6})) == [Convergence(at=600.0, seconds=200.0, steps=3)]


def test_already_there() -> None:
    run = trace(STEP, {0: 5}, moves=(600,))
    assert convergence(run, oracle(run, {0: 5, 600: 6})) == [Convergence(600.0, 0.0, 0)]


def test_never_there() -> None:
    run = trace(STEP, {0: 2, 1510: 6})  # near for the last 290 s only
    assert convergence(run, oracle(run, {0: 2, 600: 6})) == [Convergence(600.0, None, None)]
    run = trace(STEP, {0: 2, 1500: 6})
    assert convergence(run, oracle(run, {0: 2, 600: 6})) == [Convergence(600.0, 900.0, 0)]


def test_the_next_step_ends_the_time_there_was() -> None:
    run = trace([(600, 100), (400, 300), (800, 100)], {0: 2, 750: 6, 1100: 2})
    found = convergence(run, oracle(run, {0: 2, 600: 6, 1000: 2}))
    # 6 from 750 s on: only 250 s to the next step; 2 from 1100 s on, 100 s after it
    assert found == [Convergence(600.0, None, None), Convergence(1000.0, 100.0, 0)]


def test_a_step_between_two_ticks_finds_what_the_tick_before_saw() -> None:
    run = trace([(605, 100), (1195, 300)], {0: 2, 610: 6})
    assert convergence(run, oracle(run, {0: 2, 600: 6})) == [Convergence(605.0, 5.0, 0)]


def test_steps_may_be_given() -> None:
    run = trace([(1000, 100)], {0: 2})
    assert convergence(run, oracle(run, {0: 2}), steps=[500.0, 100.0]) == [
        Convergence(100.0, 0.0, 0),
        Convergence(500.0, 0.0, 0),
    ]
    assert convergence(run, oracle(run, {0: 2})) == []


def test_the_oracle_needs_a_number_for_each_tick() -> None:
    with pytest.raises(InvalidInput, match=r"each tick, got 1 for 181"):
        convergence(trace(STEP, {0: 1}), np.array([1.0]))


def test_small_changes_and_slopes_are_no_steps() -> None:
    # 60 of a peak of 300 is a fifth, not more; then up by 61, and down by 300
    run = trace([(300, 239), (300, 179), (300, 240), (300, 300), (300, 0)], {0: 1})
    assert steps_of(run) == (600.0, 1200.0)
    slow = Cumulative(np.arange(601.0), np.cumsum(np.minimum(np.arange(601.0), 300)))  # 300 s up to the peak
    assert step_times(slow, 600, tick=15) == ()


def test_noise_around_a_step_is_one_step() -> None:
    rng = np.random.default_rng(3)
    rates = np.repeat([100.0, 300.0], 600) * (1 + 0.2 * rng.standard_normal(1200))
    noisy = Cumulative(np.arange(1201.0), np.append(0.0, np.cumsum(rates)))
    found = step_times(noisy, 1200, tick=1)
    assert len(found) == 1
    assert found[0] == pytest.approx(600, abs=3)


def test_a_step_within_a_second() -> None:
    half = Cumulative(np.array([0.0, 600.5, 1200.0]), np.array([0.0, 60_050.0, 60_050.0 + 599.5 * 140]))
    assert step_times(half, 1200, tick=1) in {(600.0,), (601.0,)}  # 40 of 140


def test_too_short_for_a_step() -> None:
    assert step_times(Cumulative(np.array([0.0, 100.0]), np.array([0.0, 5.0])), 100) == ()
    assert step_times(Cumulative(np.array([0.0]), np.array([0.0])), 0) == ()


def test_a_step_before_the_first_tick() -> None:
    run = trace([(1000, 100)], {0: 9, 500: 2})
    late = replace(run, times=run.times[10:], executors=run.executors[10:], requested=run.requested[10:])
    # the first tick, at 100 s, sees 9; at 500 s there are 2, which is right
    assert convergence(late, np.full(len(late.times), 2.0), steps=[50.0]) == [Convergence(50.0, 450.0, 0)]


def test_how_near_and_how_long() -> None:
    # 1 off is near, 2 off is not; 300 s are enough
    run = trace([(600, 100), (900, 300)], {0: 2, 700: 5, 1000: 6, 1200: 7})
    assert convergence(run, oracle(run, {0: 2, 600: 6})) == [Convergence(600.0, 100.0, 0)]
    assert convergence(run, oracle(run, {0: 2, 600: 7})) == [Convergence(600.0, 400.0, 0)]
    assert convergence(run, oracle(run, {0: 2, 600: 8})) == [Convergence(600.0, 600.0, 0)]
    assert convergence(run, oracle(run, {0: 2, 600: 9})) == [Convergence(600.0, None, None)]


def test_a_ramp_of_half_a_minute_is_a_step_for_ticks_of_a_minute_only() -> None:
    rates = np.interp(np.arange(600.0), [300.0, 330.0], [100.0, 300.0])  # in 5 s by 33, a ninth of the peak
    ramp = Cumulative(np.arange(601.0), np.append(0.0, np.cumsum(rates)))
    assert step_times(ramp, 600, tick=1) == ()
    assert len(step_times(ramp, 600, tick=60)) == len(step_times(ramp, 600, tick=900)) == 1


def test_steps_a_minute_apart_are_two() -> None:
    def steps(seconds: float) -> int:
        times = np.cumsum([0.0, 300.0, seconds, 300.0])
        return len(step_times(Cumulative(times, np.cumsum([0.0, 300 * 100, seconds * 200, 300 * 300])), times[-1]))

    assert [steps(50.0), steps(90.0)] == [1, 2]
