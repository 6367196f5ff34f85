import numpy as np
import pytest

from tidegate.core import InvalidInput, UnknownName
from tidegate.workloads import NAMED, Constant, Wave, minutes, named
from tidegate.workloads.draws import JavaRandom

every_name = pytest.mark.parametrize("name", sorted(NAMED))


def test_all_names() -> None:
    assert set(NAMED) == {
        *("tide", "constant", "increasing", "decreasing", "cosine", "random"),
        *("steps", "spikes", "sine", "advertising", "traffic"),
    }


@every_name
def test_a_name_gives_the_native_or_a_scaled_pattern(name: str) -> None:
    native, scaled = named(name), named(name, 100, 1100)
    assert (scaled.duration, scaled.highest()) == (100, pytest.approx(1100, rel=1e-12))
    assert scaled.means(50) / 1100 == pytest.approx(native.means(50) / native.highest(), rel=1e-6, abs=1e-9)
    assert named(name, peak=1100).duration == native.duration
    assert named(name, duration=100).highest() == native.highest()


@every_name
def test_the_same_arguments_give_the_same_workload(name: str) -> None:
    assert named(name, 60, 500, seed=4, noise=0.1) == named(name, 60, 500, seed=4, noise=0.1)
    drawn = name in {"increasing", "decreasing", "cosine", "random", "spikes"}
    assert (named(name, 60, 500, seed=4) != named(name, 60, 500, seed=5)) == drawn
    assert named(name, 60, 500, seed=4, noise=0.1) != named(name, 60, 500, seed=5, noise=0.1)


def test_the_tide_rises_from_its_lowest_and_falls_again() -> None:
    assert named("tide", 100, 1100) == Wave(100, mean=600, swing=500, period=100, shift=0.5)
    tide = named("tide", 100, 1100)
    # the whole wave's mean is 600/s
    assert (tide.rate(0), tide.rate(50), tide.total(100)) == (pytest.approx(100), 1100, 60_000)


def test_random_numbers_match_java() -> None:
    # the first nextDouble of java.util.Random(1066) determines the first minute of the cosine:
    # int(1.2e6 + 1.0e6 + u * 2e5 - 1e5) = 2227166
    first = JavaRandom(1066).double()
    assert int(2.2e6 + first * 2e5 - 1e5) == 2_227_166
    # the first number of new Random(0) in Java; only the lowest 48 bits of a seed matter
    assert JavaRandom(0).double() == 0.730967787376657
    assert JavaRandom(-1).double() == JavaRandom((1 << 48) - 1).double()


def test_the_random_walk_of_the_paper() -> None:
    rates = minutes.random().levels
    # from the authors' run: mean 1.286 M, 0 in 9 minutes, the cap in 15
    assert (round(sum(rates) / 140 / 1e6, 3), rates.count(0), rates.count(2_500_000)) == (1.286, 9, 15)


def test_the_drifts_of_the_paper() -> None:
    up, down = minutes.increasing().levels, minutes.decreasing().levels
    # from the authors' runs, in millions: up to 2.402, 2.273 at the end; from 2.515 down to 0.551
    assert (round(max(up) / 1e6, 3), round(up[-1] / 1e6, 3)) == (2.402, 2.273)
    assert (round(down[0] / 1e6, 3), round(down[-1] / 1e6, 3)) == (2.515, 0.551)
    assert (len(up), len(down), minutes.increasing().duration) == (140, 140, 8400)


def test_spikes_differ_from_the_cosine_in_some_minutes() -> None:
    assert minutes.cosine(chance=0.0) == named("cosine")
    spikes = np.array(minutes.cosine(chance=0.05).levels)
    cosine = 1.2e6 + 1.0e6 * np.cos(2 * np.pi * np.arange(140) / 60)
    outliers = np.abs(spikes - cosine) > 100_000  # more than the noise
    # a spike starts in about one of ten free minutes and lasts one or two
    assert 5 <= outliers.sum() <= 28
    assert (spikes > cosine + 500_000 - 100_000).any()
    assert (spikes < cosine - 100_000).any()


def test_advertising_and_traffic_resemble_the_traces_of_daedalus() -> None:
    clicks, cars = named("advertising"), named("traffic")
    # YSB: mean 153.7 k/s of 400 k/s, the peak at 55 %; traffic: 30.0 k/s of 100 k/s with two spikes
    assert clicks.average() / clicks.highest() == pytest.approx(0.384, abs=0.005)
    assert clicks.rate(0.55 * clicks.duration) == clicks.highest() == 400_000
    assert cars.average() / cars.highest() == pytest.approx(0.300, abs=0.005)
    rates = cars.means(1000)
    assert np.count_nonzero(np.diff((rates > 70_000).astype(int)) == 1) == 2


def test_the_sine_of_daedalus() -> None:
    sine = named("sine")
    # (40000 + 5000) / 2 + (40000 - 5000) / 2 * sin(2 pi 2 t / 21600) at t = 0, an eighth and three eighths of six hours
    assert [round(sine.rate(t), 6) for t in (0, 2700, 8100)] == [22_500, 40_000, 5_000]


def test_noise_varies_around_the_peak() -> None:
    noisy = named("constant", 100, 1000, noise=0.1)
    rates = noisy.rates(np.arange(100))
    assert noisy.highest() == 1000
    assert 1000 < rates.max() <= 1100
    assert 900 <= rates.min() < 1000


def test_without_noise_a_constant_is_plain() -> None:
    assert named("constant", 60, 100) == Constant(60, level=100)


def test_invalid_values() -> None:
    with pytest.raises(UnknownName, match=r"no workload is named 'cosin'; did you mean 'cosine'\? .*trace:FILE"):
        named("cosin", 10, 10)
    with pytest.raises(InvalidInput, match=r"^workload tide: need a peak rate > 0 records/s, got -1$"):
        named("tide", 10, -1)
    with pytest.raises(InvalidInput, match=r"^workload tide: need duration > 0 s, got 0$"):
        named("tide", 0, 10)
    with pytest.raises(InvalidInput, match=r"need 0 <= noise <= 1, a share of the rate, got -0\.1"):
        named("tide", 10, 10, noise=-0.1)
