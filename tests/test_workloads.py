import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core import InvalidInput, UnknownName, Workload
from tidegate.workloads import NAMED, Constant, Shape, Steps, Wave, from_spec, named

shapes = st.builds(named, st.sampled_from(sorted(NAMED)), st.floats(5, 500), st.floats(10, 1e5))


@given(shapes, st.floats(0, 1))
def test_total_is_the_integral_of_rate(shape: Shape, share: float) -> None:
    end, steps = shape.duration * share, 2000
    # midpoint rule; a step may be cut in the middle, which costs at most one interval of the peak
    by_hand = math.fsum(shape.rate(end * (k + 0.5) / steps) for k in range(steps)) * end / steps
    assert shape.total(end) == pytest.approx(by_hand, rel=2e-3, abs=2)


@given(shapes, st.integers(0, 10_000))
def test_a_record_is_created_when_the_total_passes_it(shape: Shape, record: int) -> None:
    record %= max(1, shape.total(shape.duration))
    moment = shape.created(record)
    assert shape.total(moment + 1e-6) >= record + 1
    assert shape.total(moment - 1e-6) <= record + 1


@given(shapes)
def test_it_stands_still_after_its_end_and_comes_back_from_its_spec(shape: Shape) -> None:
    assert shape.total(shape.duration + 1e6) == shape.total(shape.duration)
    assert shape.rate(shape.duration + 1) == 0
    assert shape.total(-5) == 0
    assert from_spec(shape.spec()) == shape
    assert isinstance(shape, Workload)


def test_peak_is_the_highest_rate_and_the_tide_starts_at_its_lowest() -> None:
    for name in NAMED:
        shape = named(name, duration=100, peak=1100)
        assert max(shape.rate(t / 10) for t in range(1000)) == pytest.approx(1100, rel=1e-2)
    tide, cosine = named("tide", 100, 1100), named("cosine", 100, 1100)
    assert (tide.rate(0), tide.rate(50)) == (pytest.approx(100), pytest.approx(1100))
    assert (cosine.rate(0), cosine.rate(50)) == (pytest.approx(1100), pytest.approx(100))


def test_bad_values_are_named() -> None:
    with pytest.raises(UnknownName, match="no workload is named 'cosin'; did you mean 'cosine'"):
        named("cosin", 10, 10)
    with pytest.raises(InvalidInput, match="need a peak rate > 0 records/s, got -1"):
        named("tide", 10, -1)
    with pytest.raises(InvalidInput, match="need duration > 0 s, got 0"):
        Constant(0, level=1)
    with pytest.raises(InvalidInput, match="its lowest is -5"):
        Wave(10, mean=5, swing=10, period=10)
    with pytest.raises(InvalidInput, match="need period > 0 s"):
        Wave(10, mean=5, swing=1, period=0)
    with pytest.raises(InvalidInput, match="its lowest is -inf"):
        Steps(10, levels=())
    with pytest.raises(UnknownName, match="no kind of workload is named 'wavy'"):
        from_spec({"kind": "wavy"})
