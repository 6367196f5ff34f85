"""What partitions can keep busy, and what a quota of cores allows."""

from tidegate.core import Decision, ExecutorSample, Observation, OperatorSample, Target
from tidegate.policies.guards import Ceiling, Quota


def at(requested: int, ceiling: int | None = None, cores: int = 1) -> Observation:
    return Observation(0, requested, requested, ceiling=ceiling, per_executor=(ExecutorSample("1", cores=cores),))


def wish(executors: int) -> Decision:
    return Decision(executors, "wished")


def test_no_more_executors_than_partitions_keep_busy() -> None:
    assert Ceiling().temper(wish(9), at(2, ceiling=4, cores=2)).reason == (
        "4 for now: 9 wished (wished), but 4 executors at most have work: "
        "more partitions, or more even keys, would help"
    )
    assert Ceiling().temper(wish(4), at(2, ceiling=4)) == wish(4)
    assert Ceiling().temper(wish(9), at(2)) == wish(9)  # not known
    assert Ceiling().temper(wish(9), at(1, ceiling=0)).executors == 1


def test_what_is_above_the_ceiling_already_goes_only_if_wished() -> None:
    assert Ceiling().temper(wish(9), at(6, ceiling=4)).reason.startswith("hold: 9 wished (wished), but 4 executors")
    assert Ceiling().temper(wish(9), at(6, ceiling=4)).executors == 6
    assert [Ceiling().temper(wish(n), at(6, ceiling=4)).executors for n in (6, 5, 4, 3)] == [6, 5, 4, 3]


def test_a_quota_of_cores_holds_always() -> None:
    decision = Quota(cores=10).temper(wish(9), at(2, cores=4))  # floor(10 / 4) = 2
    assert decision == Decision(2, "hold: 9 wished (wished), but the quota of 10 cores is 2 executors of 4")
    assert Quota(cores=10).temper(wish(6), at(6, cores=4)).executors == 2  # those too many go
    assert Quota(cores=10).temper(wish(2), at(1, cores=4)) == wish(2)
    assert Quota(cores=2).temper(wish(3), at(1, cores=4)).reason.endswith("the quota of 2 cores is 1 executor of 4")


def test_executors_whose_cores_are_unknown_count_as_one() -> None:
    assert Quota(cores=3).temper(wish(9), at(1, cores=0)).reason.endswith("the quota of 3 cores is 3 executors of 1")
    assert Quota(cores=3).temper(wish(9), Observation(0, 1, 1)).executors == 3


def test_operators_follow_a_cap() -> None:
    samples = (OperatorSample("map", parallelism=2), OperatorSample("window", parallelism=2))
    obs = Observation(0, 4, 4, operators=samples, isolated=True)
    # f = (8 - 2) / (14 - 2) = 1/2; map 1 + round(1.5) = 3, window 1 + round(4.5) = 5 (halves go to the even number)
    decision = Quota(cores=8).temper(Decision(Target(14, {"map": 4, "window": 10}), "busy"), obs)
    assert (decision.executors, decision.per_operator) == (8, {"map": 3, "window": 5})
