"""Properties of all workloads, checked with Hypothesis, including noise and scaling."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput, UnknownName, Workload
from tidegate.workloads import KINDS, NAMED, Constant, Curve, Noisy, Ramp, Shape, Steps, Wave, from_spec, named
from tidegate.workloads.steps import sums

durations, peaks = st.floats(5, 500), st.floats(10, 1e5)
by_name = st.builds(
    named,
    st.sampled_from(sorted(NAMED)),
    durations,
    peaks,
    seed=st.none() | st.integers(0, 9),
    noise=st.sampled_from([0.0, 0.1, 1.0]),
)
levels = st.lists(st.sampled_from([0.0, 0.0, 0.1, 7.0, 1000.0]), min_size=1, max_size=20).filter(any).map(tuple)
shapes = by_name | st.builds(Steps, durations, levels) | st.builds(Ramp, durations, st.just(0), peaks)


@settings(deadline=None)
@given(shapes, st.floats(0, 1))
def test_the_integral_matches_the_rate(shape: Shape, share: float) -> None:
    end, cells = shape.duration * share, 20_000
    # midpoint rule; a step or a second of noise may be cut in the middle, which costs at most one cell of the peak each
    midpoint_sum = math.fsum(shape.rates((np.arange(cells) + 0.5) * end / cells)) * end / cells
    tolerance = min(700 * 2 / cells, 0.02) * shape.highest() * end + 1e-9
    assert shape.integral(end) == pytest.approx(midpoint_sum, rel=1e-4, abs=tolerance)
    assert shape.total(end) == math.floor(shape.integral(end))


@pytest.mark.parametrize("name", ["tide", "sine", "advertising", "traffic"])
def test_smooth_integrals_are_exact(name: str) -> None:
    shape, cells = named(name, 100, 1000), 100_000
    for end in (0.3, 17.0, 55.0, 99.99, 100.0):
        # the midpoint rule is off by a 24th of cell^2 * end * curvature: here less than 1e-5 of some 10^4 records
        midpoint_sum = math.fsum(shape.rates((np.arange(cells) + 0.5) * end / cells)) * end / cells
        assert shape.integral(end) == pytest.approx(midpoint_sum, rel=1e-8, abs=1e-5)


def test_the_integral_under_noise_is_the_sum_of_its_seconds() -> None:
    noisy = Constant(50, level=1000).noisy(seed=9, share=0.3)
    rates = noisy.rates(np.arange(50))
    assert noisy.integrals(np.arange(51)) == pytest.approx([0, *np.cumsum(rates)], rel=1e-12)
    # a quarter into the eleventh second
    assert noisy.integral(10.25) == pytest.approx(rates[:10].sum() + 0.25 * rates[10], rel=1e-12)


@settings(deadline=None)
@given(shapes, st.floats(0, 1))
def test_a_record_is_created_when_the_total_passes_it(shape: Shape, share: float) -> None:
    whole = shape.total(shape.duration)
    record = min(int(share * whole), whole - 1)
    if record < 0:  # less than one record in all
        assert shape.created(0) == shape.duration
        return
    moment = shape.created(record)
    assert shape.total(moment) >= record + 1
    # a microsecond earlier it did not exist, except where rates are so low that rounding hides it
    assert shape.integral(moment - 1e-6) <= record + 1 + 1e-6
    assert shape.rate(moment - 1e-6) < 1 or shape.total(moment - 1e-6) <= record


@settings(deadline=None)
@given(shapes)
def test_created_all_agrees_with_created(shape: Shape) -> None:
    whole = shape.total(shape.duration)
    records = np.unique(np.linspace(0, max(0, whole - 1), 50).astype(np.int64))
    together = shape.created_all(records)
    assert together.tolist() == [shape.created(int(record)) for record in records]
    assert np.all(np.diff(together) >= 0)


@settings(deadline=None)
@given(shapes)
def test_nothing_is_offered_outside_its_duration(shape: Shape) -> None:
    assert shape.total(shape.duration + 1e6) == shape.total(shape.duration)
    assert (shape.rate(shape.duration), shape.rate(-1e-9), shape.total(-5)) == (0, 0, 0)
    assert shape.created(shape.total(shape.duration)) == shape.duration
    assert isinstance(shape, Workload)


@settings(deadline=None)
@given(shapes)
def test_it_survives_json_and_pickle(shape: Shape) -> None:
    _ = shape.created(0)  # fills the caches, which are not pickled
    assert from_spec(json.loads(json.dumps(shape.spec()))) == shape
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert len(pickle.dumps(shape)) < 1600


@settings(deadline=None)
@given(shapes, durations, peaks)
def test_scaling_keeps_the_pattern(shape: Shape, duration: float, peak: float) -> None:
    other = shape.scaled(duration, peak)
    assert (other.duration, other.highest()) == (duration, pytest.approx(peak, rel=1e-12))
    if isinstance(shape, Noisy):
        shape, other = shape.of, other.of  # type: ignore[attr-defined]
    shares = np.array([0.01371, 0.12345, 0.50123, 0.87317])  # not at the edge of a step
    expected = shape.rates(shares * shape.duration) * (peak / shape.highest())
    assert other.rates(shares * duration) == pytest.approx(expected, rel=1e-6, abs=1e-9 * peak)
    whole = shape.integral(shape.duration) * (duration / shape.duration) * (peak / shape.highest())
    assert other.integral(duration) == pytest.approx(whole, rel=1e-9)


def test_scaling_changes_only_what_is_passed() -> None:
    steps = Steps(10, levels=(1, 3))
    assert steps.scaled() == steps
    assert steps.scaled(peak=6) == Steps(10, levels=(2, 6))
    assert steps.scaled(duration=20) == Steps(20, levels=(1, 3))


def test_the_peak_is_exact_where_a_factor_would_be_rounded() -> None:
    # 2227166 * (1000 / 2227166) need not be 1000
    assert max(named("cosine", 60, 1000).rates(np.arange(0, 60, 0.1))) == 1000.0


def test_steps_have_no_drift_at_their_edges() -> None:
    # summed one by one, ten times 0.1 is 0.9999999999999999 and three thousand times 0.1 is 300.0000000000056
    assert [Steps(n, levels=(0.1,) * n).total(n) for n in (10, 3000)] == [1, 300]
    # 7 s for three levels: 7/3 s is not a binary number, but 3 * 7/3 records are 7
    assert Steps(7, levels=(3, 3, 3)).total(7) == 21
    assert [Steps(7, levels=(3, 3, 3)).integral(k * 7 / 3) for k in (1, 2, 3)] == [7, 14, 21]


def test_whole_and_half_waves_have_no_rounding_error() -> None:
    for cycles in range(1, 200):
        wave = Wave(60.0 * cycles, mean=100, swing=100, period=60, shift=0.5)
        assert [wave.total(30 * half) for half in (2 * cycles, 2 * cycles - 1)] == [6000 * cycles, 6000 * cycles - 3000]


def test_records_around_a_pause() -> None:
    # two records a second for 10 s, nothing for 20 s, one a second for 10 s
    steps = Steps(40, levels=(2, 0, 0, 1))
    assert steps.created_all([0, 18, 19, 20, 29, 30]).tolist() == [0.5, 9.5, 10.0, 31.0, 40.0, 40.0]
    assert [steps.total(t) for t in (9.99, 10, 20, 30.5, 31, 40)] == [19, 20, 20, 20, 21, 30]
    # no records at first: the first one comes after a second at one per second
    assert Steps(20, levels=(0, 1)).created(0) == 11.0


def test_a_workload_without_records() -> None:
    for empty in (Constant(10, level=0), Steps(10, levels=(0, 0)), Ramp(10, 0, 0), Wave(10, 0, 0, period=1)):
        assert (empty.total(10), empty.created(0)) == (0, 10)
        with pytest.raises(InvalidInput, match="all its rates are 0"):
            empty.scaled(peak=5)


def test_arrays_keep_their_shape() -> None:
    wave = named("tide", 60, 100)
    assert wave.created_all(np.arange(20_000).reshape(2, 10_000)).shape == (2, 10_000)  # more than a block
    assert wave.created_all([]).shape == (0,)
    assert wave.rates([[0, 1], [2, 3]]).shape == (2, 2)


def test_means_of_equal_parts() -> None:
    # 0..10 s at 4/s, 10..20 s at 8/s; parts of 20/3 s: 4, then 10/3 s at 4 and 10/3 s at 8, then 8
    assert Steps(20, levels=(4, 8)).means(3) == pytest.approx([4, 6, 8])
    assert Steps(20, levels=(4, 8)).average() == 6


def test_a_ramp_is_undone_by_its_root() -> None:
    # 0 to 100/s in 10 s: 5 t^2 records by t, so record 79 comes at 4 s and record 124 at 5 s
    assert Ramp(10, first=0, last=100).created_all([79, 124]).tolist() == [4.0, 5.0]


def test_a_curve_is_level_at_its_points_and_between_them() -> None:
    curve = Curve(100, points=((0, 10), (0.2, 50), (0.7, 30), (1, 30)))
    assert [curve.rate(t) for t in (0, 20, 70, 80)] == [10, 50, 30, 30]
    # 20 s at 30/s, 50 s at 40/s, 30 s at 30/s
    assert [curve.total(t) for t in (20, 70, 100)] == [600, 2600, 3500]
    times = np.linspace(0, 99.99, 5000)
    assert (curve.rates(times).min(), curve.rates(times).max()) == (10, pytest.approx(50, rel=1e-6))


def test_noise_is_seeded_and_bounded() -> None:
    pattern = Ramp(600, first=0, last=1000)
    noisy, times = pattern.noisy(seed=3, share=0.2), np.arange(0, 600, 0.5)
    factors = noisy.rates(times[1:]) / pattern.rates(times[1:])
    assert noisy.rates(times).min() >= 0
    assert 0.8 <= factors.min() < 0.81  # uniform, of 600 draws: the extremes are near
    assert 1.19 < factors.max() <= 1.2
    assert factors[1::2] == pytest.approx(factors[2::2])  # one factor for both halves of a second
    assert pattern.noisy(3, 0.2) == noisy
    assert np.array_equal(pattern.noisy(3, 0.2).rates(times), noisy.rates(times))
    assert not np.array_equal(pattern.noisy(4, 0.2).rates(times), noisy.rates(times))
    assert noisy.highest() == 1000  # the pattern's


def test_noise_has_at_most_as_many_factors_as_a_day_has_seconds() -> None:
    week = Constant(7 * 86_400, level=100).noisy(0, 0.5)
    # each factor lasts 7 s
    assert week.rate(0.1) == week.rate(6.9) != week.rate(7.1)


def test_invalid_values() -> None:
    with pytest.raises(InvalidInput, match=r"^workload constant: need duration > 0 s, got 0$"):
        Constant(0, level=1)
    with pytest.raises(InvalidInput, match=r"^workload constant: need a duration of at most 400 days, got inf s$"):
        Constant(math.inf, level=1)
    with pytest.raises(InvalidInput, match=r"^workload wave: need rate >= 0 at all times, its lowest is -5$"):
        Wave(10, mean=5, swing=10, period=10)
    with pytest.raises(InvalidInput, match="need period > 0 s"):
        Wave(10, mean=5, swing=1, period=0)
    with pytest.raises(InvalidInput, match="its lowest is -inf"):
        Steps(10, levels=())
    with pytest.raises(InvalidInput, match="need a finite rate at all times, its highest is inf"):
        Constant(10, level=math.inf)
    with pytest.raises(InvalidInput, match=r"need points with increasing shares from 0 to 1, got \[0, 0.5\]"):
        Curve(10, points=((0, 1), (0.5, 1)))
    with pytest.raises(InvalidInput, match=r"workload ramp: need 0 <= noise <= 1, a share of the rate, got 1.5"):
        Ramp(10, 0, 1).noisy(0, 1.5)
    with pytest.raises(InvalidInput, match="its duration is 5 s, that of its pattern 10 s"):
        Noisy(5, Ramp(10, 0, 1), 0, 0.1)
    with pytest.raises(InvalidInput, match="need a peak rate > 0 records/s, got inf"):
        Constant(10, level=1).scaled(peak=math.inf)
    with pytest.raises(UnknownName, match="no kind of workload is named 'wavy'; did you mean 'wave'"):
        from_spec({"kind": "wavy"})


def test_all_kinds_are_registered() -> None:
    assert sorted(KINDS) == ["constant", "curve", "noisy", "ramp", "steps", "wave"]


def test_whole_levels_are_summed_like_any_others() -> None:
    # the sums of whole numbers take a short cut
    levels = (3.0, 0.0, 2.0**30, 7.0)
    assert Steps(8, levels).integral(8) == 2 * sum(levels)
    assert sums(levels, 8) == [0.0, 6.0, 6.0, 6 + 2.0**31, 20 + 2.0**31]
    assert sums((*levels, 0.5), 10)[-1] == 2 * (sum(levels) + 0.5)
    # beyond 2^53 only the exact sum is rounded once
    assert sums((2.0**52, 2.0**53, 1.0, 1.0), 4)[-1] == 2.0**52 + 2.0**53 + 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "constant", "duration": 5, "level": 1e13}, "workload constant: need at most 1e+12 records/s at all"),
        ({"kind": "constant", "duration": 5}, "workload constant: need numbers, or lists of them, as duration, level"),
        ({"kind": "constant", "duration": "5", "level": 1}, "workload constant: need numbers, or lists of them, as"),
        ({"kind": "constant", "duration": 5, "level": [[1]]}, "workload constant: need numbers, or lists of them, as"),
        ({"kind": "constant", "duration": 5, "level": 1, "x": 1}, "workload constant: need numbers, or lists of them"),
        ({"kind": "curve", "duration": 5, "points": [1, 2]}, "workload curve: need numbers, or lists of them, as"),
        ({"kind": "noisy", "duration": 5, "of": 3, "seed": 1, "share": 0.1}, "workload noisy: need numbers, or lists"),
        (
            {
                "kind": "noisy",
                "duration": 5,
                "seed": 1.5,
                "share": 0.1,
                "of": {"kind": "constant", "duration": 5, "level": 1},
            },
            "workload noisy: need a whole number as seed, got 1.5",
        ),
        ({"kind": ["a"]}, "no kind of workload is named"),
        ({}, "no kind of workload is named 'None'"),
    ],
)
def test_specs_that_fit_no_workload(spec: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        from_spec(spec)
    assert str(caught.value).startswith(message)
