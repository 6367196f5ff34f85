"""Profiles: parsing, retention, and capacity."""

import json
import math
import os
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.capacity.profile import Profile, ProfileCapacity, normal_until, saturated
from tidegate.capacity.profiletext import parse, text
from tidegate.capacity.shapes import Linear, Reciprocal
from tidegate.capacity.usl import Usl
from tidegate.core import InvalidInput, Observation, ProfilePoint, build, parameters
from tidegate.memory import memory, recall
from tidegate.policies import Phoebe, Twres

DEFAULT_FOLDER = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", DEFAULT_FOLDER))
POINTS = st.lists(
    st.builds(ProfilePoint, st.integers(1, 24), st.floats(0, 1e6), st.floats(0, 1e4), st.booleans()), max_size=40
)


#: CRC of the file that the literal figures below refer to; another profile may be installed in its place
TOP_SPEED = 4031429612


def published(crc: int | None = None) -> tuple[ProfilePoint, ...]:
    path = FOLDER / "phoebe_tsw_profile.csv"
    if not path.exists():
        pytest.skip(f"no {path.name} in {FOLDER}")
    if crc is not None and crc32(path.read_bytes()) != crc:
        pytest.skip(f"{path} is another profile")
    return parse(path.read_text())


def overload(time: float, executors: int = 2, **changes: float | None) -> Observation:
    """90/s arrive, 80/s are processed, batches of 5 s run back to back; the backlog is above 2 * 90 * 5 = 900."""
    figures = {"arrival_rate": 90.0, "processing_rate": 80.0, "backlog": 1000.0, "trigger": 5.0, "batch_duration": 5.0}
    return Observation(time, executors, executors, **(figures | changes))  # type: ignore[arg-type]


def test_capacities_of_the_published_profile() -> None:
    capacities = Profile.of(published(TOP_SPEED)).capacities()
    assert {n: round(rate / 1000, 1) for n, rate in capacities.items()} == {
        2: 36.5,
        5: 83.5,
        8: 129.6,
        11: 195.8,
        14: 221.0,
        17: 288.4,
        20: 319.7,
        23: 369.7,
    }


def test_capacities_are_the_rates_under_full_backpressure() -> None:
    saturated_rates: dict[int, list[float]] = {}
    for point in published():
        saturated_rates.setdefault(point.executors, []).extend([point.rate] if point.saturated else [])
    capacities = Profile.of(published()).capacities()
    for executors, rates in saturated_rates.items():
        assert not rates or min(rates) <= capacities[executors] <= max(rates)


def test_the_line_through_the_published_profile() -> None:
    points = list(Profile.of(published(TOP_SPEED)).capacities().items())
    free, ridge = Linear.fit(points, alphas=(0.0,)), Linear.fit(points)
    assert free.slope == pytest.approx(15_934, rel=0.001)
    assert free.intercept == pytest.approx(6_371, rel=0.001)
    # cross-validation selects a penalty of 1: 378 / 379 of the slope, and the same mean
    assert ridge.slope == pytest.approx(free.slope * 378 / 379)
    for workers in range(5, 25):
        assert ridge.at(workers) == pytest.approx(free.at(workers), rel=0.01)


def test_without_saturated_points_the_published_profile_gives_the_highest_normal_rates() -> None:
    points = [p for p in published(TOP_SPEED) if not p.saturated]
    capacities = Profile.of(points).capacities()
    # of 5 workers: 60,278/s in 1.02 s, 87,422/s in 16.5 s
    assert capacities[5] == pytest.approx(60_278, abs=1)
    assert capacities[2] == pytest.approx(19_965, abs=1)
    assert set(capacities) == {2, 5, 8, 11, 14, 17, 20, 23}


def test_reading_our_own_format() -> None:
    points = parse("executors,rate,latency,saturated\n2,1000,0.5,0\n\n4,2000.5,30,true\n")
    assert points == (ProfilePoint(2, 1000.0, 0.5), ProfilePoint(4, 2000.5, 30.0, True))


def test_reading_columns_in_another_order_among_others() -> None:
    assert parse("x,isBckPres,avgThr,scaleOut,avgLat(ms)\n7,1,100,3,250\n") == (ProfilePoint(3, 100.0, 0.25, True),)


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("", "line 1: need the columns executors,rate,latency,saturated or scaleOut,.* got nothing"),
        ("executors,rate\n1,2\n", "line 1: need the columns .* got executors,rate"),
        ("executors,rate,latency,saturated\n2,10,1,0\n0,10,1,0\n", "line 3: need executors to be a whole .* got '0'"),
        ("executors,rate,latency,saturated\n2.5,10,1,0\n", "line 2: need executors to be a whole .* got '2.5'"),
        ("executors,rate,latency,saturated\n2,-1,1,0\n", "line 2: need rate to be a number from 0 to 1e.12, got '-1'"),
        ("executors,rate,latency,saturated\n2,1,fast,0\n", "line 2: need latency to be a number .* got 'fast'"),
        ("executors,rate,latency,saturated\n1e308,1,1,0\n", "line 2: need executors to be a number .* got '1e308'"),
        ("executors,rate,latency,saturated\n1e9,1,1,0\n", "line 2: need executors to be a whole .* got '1e9'"),
        ("executors,rate,latency,saturated\n2,1,inf,0\n", "line 2: need latency to be a number .* got 'inf'"),
        ("executors,rate,latency,saturated\n2,1,1,maybe\n", "line 2: need saturated to be 0, 1, true or false"),
        ("executors,rate,latency,saturated\n2,1\n", "line 2: need a value for each of executors, .* got '2,1'"),
    ],
)
def test_invalid_values_are_reported_with_their_line(csv: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"profile, {message}"):
        parse(csv)


@given(POINTS)
def test_parse_is_the_inverse_of_text(points: list[ProfilePoint]) -> None:
    assert parse(text(points)) == tuple(points)


def test_the_cut_between_two_clusters() -> None:
    # logs 0, 0, 0 and log 16: half way is log 4
    assert normal_until([1, 16, 1, 1]) == pytest.approx(4)
    # means log 2 (of 1 and 4) and log 200 (of 100 and 400): sqrt(2 * 200) = 20
    assert normal_until([1, 4, 100, 400]) == pytest.approx(20)


def test_clusters_that_are_close_are_merged() -> None:
    assert normal_until([1.0, 2.9]) == math.inf
    assert normal_until([1.0, 3.0]) == pytest.approx(math.sqrt(3))
    assert normal_until([1.0]) == normal_until([]) == normal_until([2.0, 2.0]) == math.inf
    assert normal_until([0.0, 0.001]) == math.inf  # clipped to a millisecond


@given(st.lists(st.floats(1e-3, 1e4), min_size=2, max_size=12))
def test_the_cut_is_the_best_of_all(latencies: list[float]) -> None:
    cut = normal_until(latencies, separation=1.0)
    logs = sorted(math.log(x) for x in latencies)

    def within(part: list[float]) -> float:
        return sum((x - sum(part) / len(part)) ** 2 for x in part) if part else 0.0

    least = min(within(logs[:k]) + within(logs[k:]) for k in range(1, len(logs)))
    low, high = [x for x in logs if x <= math.log(cut)], [x for x in logs if x > math.log(cut)]
    assert within(low) + within(high) == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_a_new_point_replaces_the_one_at_its_rate() -> None:
    profile = Profile.of([ProfilePoint(2, 100, 1.0), ProfilePoint(2, 110, 2.0), ProfilePoint(3, 100, 3.0)])
    profile.add(ProfilePoint(2, 101, 4.0))  # within 2 % of 101, which are 2.02
    assert [p.latency for p in profile.points] == [2.0, 3.0, 4.0]
    profile.add(ProfilePoint(2, 101, 5.0, saturated=True))  # a measurement of another kind
    assert [p.latency for p in profile.points] == [2.0, 3.0, 4.0, 5.0]


def test_capacity_is_the_median_of_the_last_five_measurements() -> None:
    profile = Profile.of(ProfilePoint(2, rate, 9.0, True) for rate in (10, 100, 101, 90, 130, 102))
    assert profile.capacities() == {2: 101}  # 10 is gone; of 90, 100, 101, 102, 130
    assert len(profile.points) == 5


def test_a_full_profile_drops_the_oldest_unsaturated_point() -> None:
    profile = Profile(limit=3)
    for rate, is_saturated in ((50.0, True), (10.0, False), (20.0, False), (30.0, False), (40.0, False)):
        profile.add(ProfilePoint(1, rate, 1.0, is_saturated))
    assert [p.rate for p in profile.points] == [50.0, 30.0, 40.0]


def test_a_rate_without_overload_is_not_a_capacity() -> None:
    light = [ProfilePoint(8, 10.0, 1.0), ProfilePoint(8, 20.0, 1.1)]
    assert Profile.of(light).capacities() == {}
    assert ProfileCapacity(Profile.of(light)).capacity(8) is None
    heavy = [ProfilePoint(2, 10.0, 1.0), ProfilePoint(2, 20.0, 60.0)]
    assert Profile.of(light + heavy).capacities() == {
        2: 10.0
    }  # 20/s overloaded 2 executors; the capacity of 8 is unknown


def test_the_capacity_is_the_highest_of_several_normal_rates() -> None:
    # 20/s overloaded them, 10/s and 15/s did not
    points = [ProfilePoint(2, 10.0, 1.0), ProfilePoint(2, 15.0, 1.0), ProfilePoint(2, 20.0, 60.0)]
    assert Profile.of(points).capacities() == {2: 15.0}


@given(POINTS)
def test_profiles_are_bounded_and_capacities_positive(points: list[ProfilePoint]) -> None:
    profile = Profile(limit=7)
    for point in points:
        profile.add(point)
    assert len(profile.points) == min(7, len(profile.points))
    assert points[-1:] == list(profile.points[-1:])
    assert all(0 < rate < math.inf for rate in profile.capacities().values())


def test_saturation() -> None:
    assert saturated(overload(0))
    assert not saturated(overload(0, backlog=900.0))  # the batch in progress and the next one: 2 * 90 * 5
    draining = {"arrival_rate": 60.0, "processing_rate": 80.0}
    assert saturated(overload(0, **draining))  # 80 * 5 * 2 = 800 < 1000, back to back
    assert not saturated(overload(0, batch_duration=4.0, **draining))  # pauses, and it catches up
    assert saturated(overload(0, batch_duration=4.0))  # pauses, but more arrives than is processed: a limit per trigger
    assert saturated(overload(0, trigger=None, backlog=901.0))
    for unknown in ("arrival_rate", "processing_rate", "backlog"):
        assert not saturated(overload(0, **{unknown: None}))


def test_saturation_begins_at_its_thresholds() -> None:
    assert not saturated(overload(0, backlog=900.0), waiting=2.0)
    assert saturated(overload(0, backlog=901.0), waiting=2.0)
    assert saturated(overload(0, backlog=451.0), waiting=1.0)
    level = {"arrival_rate": 80.0, "processing_rate": 80.0}
    assert saturated(overload(0, batch_duration=4.75, **level))  # 95 % of 5 s are back to back
    assert not saturated(overload(0, batch_duration=4.7, **level))
    assert not saturated(overload(0, trigger=None, **level))
    assert not saturated(overload(0, batch_duration=None, **level))


def test_saturation_is_measured_in_cycles_of_the_trigger() -> None:
    # 2 * 90 * 10 = 1800 records of two cycles of 10 s, 2 * 90 * 2 = 360 of two of 2 s
    assert not saturated(overload(0, trigger=10.0, backlog=1800.0))
    assert saturated(overload(0, trigger=10.0, backlog=1801.0))
    assert not saturated(overload(0, trigger=2.0, backlog=360.0))
    assert saturated(overload(0, trigger=2.0, backlog=361.0))


def test_rates_are_the_same_up_to_their_distance() -> None:
    profile = Profile(near=0.02)
    for rate in (100.0, 98.0):  # 2 % of 98 are 1.96
        profile.add(ProfilePoint(2, rate, 1.0))
    assert [p.rate for p in profile.points] == [100, 98]
    profile = Profile(near=0.5)
    for rate in (50.0, 100.0):  # half of 100 is 50
        profile.add(ProfilePoint(2, rate, 1.0))
    assert [p.rate for p in profile.points] == [100]


def test_a_latency_on_the_boundary_is_normal() -> None:
    # 1 and 16: the boundary is 4, and 60/s at 4.0 s is the highest normal rate
    points = [ProfilePoint(1, 50.0, 1.0), ProfilePoint(2, 60.0, 1.0), ProfilePoint(2, 90.0, 16.0)]
    assert Profile.of(points).capacities() == {2: 60}


def test_every_settle_seconds_of_saturation_add_a_point() -> None:
    model = ProfileCapacity(settle=30)
    for time in range(0, 61, 10):  # from 0 on: points at 30 and 60
        model.update(overload(time))
        assert len(model.profile.points) == (time >= 30) + (time >= 60)
    assert model.capacity(4) == 160  # 80/s on 2
    # latency is unknown: a backlog of 1000 at 80/s
    assert model.profile.points[0] == ProfilePoint(2, 80.0, 12.5, True)


def test_the_settle_time_restarts_after_a_rescale_and_after_a_pause() -> None:
    model = ProfileCapacity(settle=30)
    for obs in (overload(0), overload(20), overload(25, executors=3), overload(40, executors=3)):
        model.update(obs)
    model.update(overload(50, executors=3, backlog=0.0))
    model.update(overload(60, executors=3))
    model.update(overload(85, executors=3))
    assert model.profile.points == ()
    model.update(overload(90, executors=3))
    assert [p.executors for p in model.profile.points] == [3]


def test_no_point_is_added_while_executors_are_pending() -> None:
    model = ProfileCapacity(settle=30)
    for time in range(0, 100, 10):
        model.update(Observation(time, 2, 3, 90.0, 80.0, 1000.0, trigger=5.0, batch_duration=5.0))
    assert model.profile.points == ()


@given(POINTS)
def test_the_state_survives_json(points: list[ProfilePoint]) -> None:
    model = ProfileCapacity(Profile.of(points), shape="usl", _since=3.0, _executors=2)
    restored = recall(ProfileCapacity(shape="usl"), json.loads(json.dumps(memory(model))))
    assert restored == model
    assert restored.capacity(5) == model.capacity(5)


def test_the_fitted_shape_is_updated_when_the_profile_changes() -> None:
    model = ProfileCapacity(Profile.of([ProfilePoint(2, 30.0, 9.0, True)]))
    assert model.capacity(4) == 60
    model.profile.add(ProfilePoint(4, 50.0, 9.0, True))
    assert model.capacity(4) == 50
    recall(model, memory(ProfileCapacity(Profile.of([ProfilePoint(2, 10.0, 9.0, True)]))))
    assert model.capacity(4) == 20


def test_parameters_out_of_bounds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="profile capacity: need shape to be one of linear, reciprocal, usl"):
        ProfileCapacity(shape="cubic")
    with pytest.raises(InvalidInput, match="profile: need 1 <= limit, got 0"):
        Profile(limit=0)


@pytest.mark.parametrize(("policy", "default"), [(Phoebe, Linear), (Twres, Reciprocal)])
def test_the_shape_is_an_option_of_the_policies_with_a_profile(policy: type[Phoebe | Twres], default: type) -> None:
    csv = text([ProfilePoint(2, 30.0, 9.0, True), ProfilePoint(4, 50.0, 9.0, True)])
    assert parameters(policy)["shape"].choices == ("linear", "reciprocal", "usl")
    assert isinstance(build(policy, {"profile": csv}).profiled.capacity.fitted(), default)
    for name, shape in (("linear", Linear), ("reciprocal", Reciprocal), ("usl", Usl)):
        assert isinstance(build(policy, {"profile": csv, "shape": name}).profiled.capacity.fitted(), shape)
    with pytest.raises(InvalidInput, match="need shape to be one of linear, reciprocal, usl, got 'cubic'"):
        build(policy, {"shape": "cubic"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "executors,rate,latency,saturated\n" + "1,1,1,0\n" * 10_001,
            "profile: need at most 10,000 lines, it has more",
        ),
        ('executors,rate,latency,saturated\n"' + "x" * 200_000, "profile: is no CSV: field larger than field limit"),
    ],
)
def test_texts_that_are_no_profile(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse(text)
