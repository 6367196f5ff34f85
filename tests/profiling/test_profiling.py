from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.capacity.profile import Profile
from tidegate.capacity.profiletext import parse
from tidegate.core import InvalidInput
from tidegate.deployment.simulated import simulate
from tidegate.experiment.settings import Experiment
from tidegate.profiling.profile import cost, needs, numbers, profile, with_profile
from tidegate.runs import ProfilingCost
from tidegate.sim.batch_model import BatchModel, text

#: one operator of 16,325 records/s a worker, latency 1.1 s
TSW = Experiment(
    engine="operators", job="phoebe-tsw", policy="phoebe", maximum=3, duration=600.0, peak=30_000.0, trigger=10.0
)


@pytest.fixture
def plain(tmp_path: Path) -> Experiment:
    """Batches of 1 s and 10 µs a record for an executor, of at most 400,000 records."""
    path = tmp_path / "plain.json"
    path.write_text(text(BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-5, tasks=12, noise=0.0)))
    return Experiment(
        engine="sim",
        job="plain",
        model=str(path),
        policy="phoebe",
        maximum=2,
        peak=10_000.0,
        trigger=10.0,
        limit=400_000,
    )


def test_of_operators_the_capacity_and_an_overload_at_each_number() -> None:
    found = profile(TSW)
    assert Profile.of(found.points).capacities() == pytest.approx({1: 16_325.0, 2: 32_650.0, 3: 48_975.0})
    # saturated, 0.4, 0.7, 0.9 and 1.2 of it
    assert [round(p.rate / 16_325, 3) for p in found.points[:5]] == [1.0, 0.4, 0.7, 0.9, 1.2]
    assert [p.saturated for p in found.points[:5]] == [True, False, False, False, False]
    assert [round(p.latency, 1) for p in found.points[1:4]] == [1.1, 1.1, 1.1]
    # a sixth of what came in the last 300 to 420 s still waits: 50 to 70 s, 60 in the middle, and 1.1
    assert found.points[4].latency == pytest.approx(61.1, abs=0.1)


def test_all_deployments_are_paid_for() -> None:
    found = profile(TSW)
    assert found.seconds == 3 * 5 * 420
    assert found.worker_seconds == (1 + 2 + 3) * 5 * 420
    assert cost(TSW) == ProfilingCost(seconds=6300.0, worker_seconds=12_600.0, points=15)


def test_of_micro_batches_the_capacity_is_that_of_the_largest_batches(plain: Experiment) -> None:
    # 400,000 records take 1 + 4 s with one executor, but none starts before the trigger: 400,000 in 10 s
    assert Profile.of(profile(plain).points).capacities() == pytest.approx({1: 40_000.0, 2: 40_000.0})
    # 4,000,000 take 1 + 40 s and 1 + 20 s
    found = Profile.of(profile(replace(plain, limit=4_000_000)).points)
    assert found.capacities() == pytest.approx({1: 4e6 / 41, 2: 4e6 / 21})
    # calm: ten seconds for the trigger and a batch; overloaded: a minute and more
    assert 20 < found.normal_until() < 60


def test_long_batches_are_waited_for(plain: Experiment) -> None:
    # 20,000,000 records take 201 s, five batches 1,005 s and more: twice 420 s are too short, four times are not
    found = profile(replace(plain, maximum=1, limit=20_000_000))
    assert found.points[0].rate == pytest.approx(2e7 / 201)
    assert found.seconds == 4 * 420 + 4 * 420


def test_runs_that_differ_in_what_does_not_matter_share_a_profile() -> None:
    other = replace(TSW, policy="twres", workload="steps", seed=7, slo=99.0, options={"window": 300.0})
    assert profile(other) is profile(TSW)
    assert profile(replace(TSW, maximum=2)) is not profile(TSW)


def test_numbers_are_spread_over_the_limits() -> None:
    assert numbers(TSW) == [1, 2, 3]
    assert numbers(replace(TSW, minimum=2, maximum=2)) == [2]
    assert numbers(replace(TSW, maximum=24)) == [1, 4, 8, 11, 14, 17, 21, 24]
    assert numbers(replace(TSW, job="espa-q11", maximum=4)) == [3, 4]  # source, window and sink need one each
    with pytest.raises(InvalidInput, match="profiling espa-q11: its operators need 3 workers, the most are 2"):
        numbers(replace(TSW, job="espa-q11", maximum=2))


def test_only_policies_without_a_profile_of_their_own_get_one(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("executors,rate,latency,saturated\n1,5.0,1.0,1\n")
    assert needs(TSW)
    assert parse(str(with_profile(TSW).options["profile"])) == profile(TSW).points
    for e in (replace(TSW, policy="ds2"), replace(TSW, options={"profile": str(tmp_path / "own.csv")})):
        assert not needs(e)
        assert with_profile(e) is e
        assert cost(e) is None


def test_a_simulated_run_decides_by_it() -> None:
    e = replace(TSW, workload="constant", options={"interval": 60.0, "horizon": 60.0, "downtime": 10.0})
    moves = simulate(with_profile(e)).moves
    # 30,000/s are too much for one (16,325/s); two (32,650/s) would need 20 s * 30,000 / 2,650 = 226 s to recover, more
    # than 180
    assert moves[0].after == 3
    # by the profile's latency, not by one that it has seen itself
    assert "with 1.1 s latency" in moves[0].reason


def test_spark_is_not_profiled_here() -> None:
    with pytest.raises(InvalidInput, match="need engine sim or operators, got spark"):
        profile(Experiment(policy="static"))
