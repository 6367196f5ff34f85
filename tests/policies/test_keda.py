import pytest

from tidegate.core import InvalidInput, Observation
from tidegate.policies.keda import KedaLag


def seen(lag: float | None, *, requested: int = 2, ceiling: int | None = None) -> Observation:
    return Observation(time=0, executors=requested, requested=requested, backlog=lag, ceiling=ceiling)


def test_executors_are_lag_over_threshold_rounded_up() -> None:
    assert KedaLag(lag_threshold=1000).decide(seen(4500)).executors == 5  # ceil(4.5)
    assert KedaLag(lag_threshold=1000).decide(seen(4000)).executors == 4
    assert KedaLag(lag_threshold=10).decide(seen(4500)).executors == 450  # KEDA's default: limits decide
    assert KedaLag(lag_threshold=0.1).decide(seen(0.3)).executors == 3  # 0.3 / 0.1 = 2.9999999999999996


def test_no_more_than_the_partitions_keep_busy() -> None:
    wish = KedaLag(lag_threshold=1000).decide(seen(4500, ceiling=3))
    assert wish.executors == 3
    assert wish.reason == "lag 4500 records, 1000 per executor: 5, but partitions for 3 executors only: 2 -> 3"
    assert wish.evidence == {"lag": 4500, "lag_threshold": 1000}
    assert KedaLag(lag_threshold=1000).decide(seen(4500, ceiling=0)).executors == 1
    assert "partitions" not in KedaLag(lag_threshold=1000).decide(seen(500, ceiling=0)).reason


def test_up_to_the_activation_lag_it_is_inactive() -> None:
    policy = KedaLag(lag_threshold=1000, activation_lag=3000)
    assert (policy.decide(seen(3000)).executors, policy.decide(seen(3001)).executors) == (1, 4)
    assert policy.decide(seen(3000)).reason == "inactive: lag 3000, activated above 3000"


def test_an_unknown_lag_means_hold_and_a_huge_one_a_number() -> None:
    assert KedaLag().decide(seen(None)).reason == "hold: the lag is not known yet"
    assert KedaLag().decide(seen(1e300)).executors == 1_000_000_000


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy keda-lag: need 0 < lag-threshold, got 0"):
        KedaLag(lag_threshold=0)
