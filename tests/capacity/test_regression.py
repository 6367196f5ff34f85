from dataclasses import replace

import pytest

from tidegate.capacity.line import FadingLine
from tidegate.capacity.regression import CpuRegression
from tidegate.core import Batch, ExecutorSample, InvalidInput, Observation


def observation(time: float, *loads: tuple[float, float], uptime: float = 1000) -> Observation:
    """CPU and rate of each executor, on an engine without batches."""
    samples = tuple(ExecutorSample(str(k), cpu=cpu, rate=rate, uptime=uptime) for k, (cpu, rate) in enumerate(loads))
    return Observation(time, len(loads), len(loads), per_executor=samples)


def feed(model: CpuRegression, loads: list[tuple[float, float]], start: float = 0, seconds: int = 61) -> CpuRegression:
    for k in range(seconds):
        model.update(observation(start + k, *loads))
    return model


def test_constant_cpu_gives_a_line_through_the_origin() -> None:
    # 40 % CPU does 20,000/s: at 100 % it would be 50,000/s
    assert feed(CpuRegression(), [(0.4, 20_000)]).capacity(1) == pytest.approx(50_000)


def test_varying_cpu_reveals_the_intercept() -> None:
    model = CpuRegression()
    for k in range(61):
        cpu = 0.2 + 0.6 * (k % 30) / 30
        model.update(observation(k, (cpu, 100_000 * (cpu - 0.05))))  # 5 % of the CPU is overhead
    capacity = model.capacity(1)
    # least squares: 95,000; the prior (5 points of variance 0.0025 against 61 of 0.03) pulls slightly to the origin
    assert capacity == pytest.approx(95_000, rel=0.01)


def test_when_the_busiest_is_saturated_the_others_are_not() -> None:
    # means 0.8 and 0.4, 1000/s per share of CPU: full is 1.0 and 0.5 of their CPU, 1000 + 500
    assert feed(CpuRegression(), [(0.8, 800.0), (0.4, 400.0)]).capacity(2) == pytest.approx(1500)
    # as released, full less the distance: 1.0 and 1 - 0.4 = 0.6
    assert feed(CpuRegression(additive_skew=1), [(0.8, 800.0), (0.4, 400.0)]).capacity(2) == pytest.approx(1600)


def test_scale_outs_that_were_seen_keep_their_estimate() -> None:
    model = feed(CpuRegression(), [(0.5, 500.0)])
    assert model.capacity(4) == pytest.approx(4000)  # unseen: 4 x 1000
    feed(model, [(0.5, 400.0), (0.5, 400.0)], start=100, seconds=62)
    # at second 120 executor 0 has 61 points of 500/s and 21 of 400/s at half its CPU, 474.4/s on average, and
    # executor 1 only 400/s: 949 + 800
    assert model.capacity(2) == pytest.approx(1749, rel=0.002)
    assert model.capacity(1) == pytest.approx(1000)  # seen
    assert model.capacity(4) == pytest.approx(2 * 1749, rel=0.002)  # unseen: proportional to the latest


def test_the_estimate_of_a_scale_out_is_averaged_with_the_one_before() -> None:
    model = feed(CpuRegression(half_life=1.0), [(0.5, 500.0)])
    feed(model, [(0.5, 300.0)], start=61, seconds=60)  # sixty half-lives: the line knows 600/s only
    assert model.capacity(1) == pytest.approx((1000 + 600) / 2)
    feed(model, [(0.5, 300.0)], start=121, seconds=60)
    assert model.capacity(1) == pytest.approx((800 + 600) / 2)


def test_unknown_until_every_executor_was_warm_for_a_loop() -> None:
    model = CpuRegression()
    for k in range(100):
        model.update(observation(k, (0.5, 500.0), uptime=k))  # warm from 120 s on
    assert model.capacity(1) is None
    assert feed(CpuRegression(), [(0.0, 0.0)]).capacity(1) is None  # idle: no line can be fitted


def batch(k: int, records: float, planned: float, finished: float) -> Batch:
    return Batch(k, planned, finished, k * records, (k + 1) * records, (k + 1) * records)


def test_on_spark_a_point_covers_the_time_between_two_batch_ends() -> None:
    model = CpuRegression(warmup=0)
    for k in range(80):  # a batch of 4000 every 4 s that takes 2 s: CPU 1, 1, 0, 0
        sample = ExecutorSample("0", cpu=1.0 if k % 4 < 2 else 0.0, rate=1000.0, uptime=9999)
        done = (batch(k // 4, 4000, k - 2, k),) if k % 4 == 2 else ()
        model.update(Observation(k, 1, 1, batch_duration=2.0, trigger=4.0, per_executor=(sample,), batches=done))
    assert model.capacity(1) == pytest.approx(2000)  # 1000/s with half of the CPU


def test_a_point_takes_an_eighth_of_a_loop_at_least() -> None:
    """Batches of 5 s make points of 10 s in a loop of 60 s, for which 7.5 s are the least."""
    model = CpuRegression(warmup=0, half_life=0)
    for k in range(61):
        sample = ExecutorSample("0", cpu=0.5, rate=1000.0, uptime=9999)
        done = (batch(k // 5, 5000, k - 5, k),) if k % 5 == 0 and k else ()
        model.update(Observation(k, 1, 1, batch_duration=5.0, trigger=5.0, per_executor=(sample,), batches=done))
    line = model._workers["0"].line
    assert (line.weight, line.x, line.y) == (5, 0.5, 1000)  # from 5 s on: at 15, 25, 35, 45 and 55 s


def test_records_are_split_by_the_executors_rates_and_cpu_is_full_at_most() -> None:
    model = CpuRegression(warmup=0, half_life=0)
    for k in range(61):
        samples = (ExecutorSample("0", cpu=1.3, rate=3000.0), ExecutorSample("1", cpu=0.25, rate=1000.0))
        done = (batch(k // 10, 40_000, k - 10, k),) if k % 10 == 0 and k else ()
        model.update(Observation(k, 2, 2, batch_duration=10.0, trigger=10.0, per_executor=samples, batches=done))
    lines = [model._workers[id].line for id in "01"]
    assert [(line.x, line.y) for line in lines] == [(1.0, 3000), (0.25, 1000)]


def test_executors_that_join_late_begin_with_the_next_point() -> None:
    model = CpuRegression(warmup=30, half_life=0)
    for k in range(61):
        samples = (ExecutorSample("0", cpu=0.5, rate=1000.0), ExecutorSample("1", cpu=0.5, rate=1000.0, uptime=k))
        done = (batch(k // 10, 20_000, k - 10, k),) if k % 10 == 0 and k else ()
        model.update(Observation(k, 2, 2, batch_duration=10.0, trigger=10.0, per_executor=samples, batches=done))
    # the second is warm from 30 s on, in the middle of a point that ends with that observation
    assert [model._workers[id].line.weight for id in "01"] == [5, 3]


@pytest.mark.parametrize(("gap", "points"), [(15, 1), (16, 0)])
def test_a_quarter_of_a_loop_without_observations_ends_a_point(gap: int, points: int) -> None:
    model = CpuRegression(warmup=0, half_life=0)
    for time in (*range(11), 10 + gap):
        sample = ExecutorSample("0", cpu=0.5, rate=1000.0)
        done = (batch(time, 1000, time - 1, time),) if time in (10, 10 + gap) else ()
        model.update(Observation(time, 1, 1, batch_duration=1.0, per_executor=(sample,), batches=done))
    assert model._workers["0"].line.weight == points


def test_executors_that_read_nothing_have_no_records() -> None:
    model = CpuRegression(warmup=0, half_life=0)
    for k in range(21):
        done = (batch(k // 10, 1000, k - 10, k),) if k % 10 == 0 and k else ()
        sample = ExecutorSample("0", cpu=0.5, rate=None)
        model.update(Observation(k, 1, 1, batch_duration=10.0, per_executor=(sample,), batches=done))
    assert model._workers["0"].line.y == 0


def test_an_executor_that_never_worked_makes_the_capacity_unknown() -> None:
    assert feed(CpuRegression(), [(0.5, 500.0), (0.0, 0.0)]).capacity(2) is None
    assert feed(CpuRegression(), [(0.5, 0.25)]).capacity(1) == pytest.approx(0.5)  # however little it does


def test_saturation_may_be_below_full_cpu() -> None:
    # only 90 % of the CPU can be used: 20,000 / 0.4 * 0.9
    assert feed(CpuRegression(saturation=0.9), [(0.4, 20_000)]).capacity(1) == pytest.approx(45_000)


def test_without_cpu_the_busy_share_is_used() -> None:
    model = CpuRegression()
    for k in range(61):
        sample = ExecutorSample("0", busy=0.25, rate=100.0, uptime=9999)
        model.update(Observation(k, 1, 1, per_executor=(sample,)))
    assert model.capacity(1) == pytest.approx(400)


def test_a_clock_jump_starts_a_new_loop() -> None:
    model = feed(CpuRegression(), [(0.5, 500.0)], seconds=30)
    model.update(replace(observation(0, (0.5, 500.0)), time=1e9))
    assert model.capacity(1) is None


def test_batches_longer_than_a_loop_are_learned_from() -> None:
    model = CpuRegression(loop=15, warmup=0)
    for k in range(300):  # one batch every 70 s at full CPU
        sample = ExecutorSample("0", cpu=1.0, rate=1000.0, uptime=9999)
        done = (batch(k // 70, 70_000, k - 70, k),) if k % 70 == 69 else ()
        model.update(Observation(k, 1, 1, batch_duration=70.0, trigger=70.0, per_executor=(sample,), batches=done))
    assert model.capacity(1) == pytest.approx(1000)


def test_gaps_in_the_observations_belong_to_no_point() -> None:
    def observe(model: CpuRegression, start: int) -> None:
        for k in range(40):  # a batch of 4000 every 4 s that takes 2 s of a whole core
            sample = ExecutorSample("0", cpu=1.0 if k % 4 < 2 else 0.0, rate=1000.0, uptime=9999)
            done = (batch(start + k // 4, 4000, start + k - 2, start + k),) if k % 4 == 2 else ()
            time = float(start + k)
            model.update(Observation(time, 1, 1, batch_duration=2.0, trigger=4.0, per_executor=(sample,), batches=done))

    model = CpuRegression(warmup=0)
    observe(model, 0)
    observe(model, 100)  # a minute later
    assert model.capacity(1) == pytest.approx(2000)


def test_a_line_goes_exactly_through_its_only_point() -> None:
    line = FadingLine()
    line.update(0, 0.5, 0.1)
    assert line.at(0.5) == 0.1
    assert line.at(1.0) == 0.2  # and through the origin


def test_old_points_decay() -> None:
    line = FadingLine(half_life=10, points=0)
    for x in (0.2, 0.4):
        line.update(0, x, 100 * x)
    for x in (0.2, 0.4) * 20:
        line.update(200, x, 50 * x)  # twenty half-lives later
    assert line.at(1.0) == pytest.approx(50, rel=1e-3)


def test_invalid_parameters_are_reported() -> None:
    with pytest.raises(InvalidInput, match=r"capacity model regression: need 0 < saturation <= 1, got 1\.2"):
        CpuRegression(saturation=1.2)
