from tidegate.planner.spark_configuration.limiting_factor import Arrangement, Limit, limiting_factors
from tidegate.planner.spark_configuration.skew import Skew


def sentences(arranged: Arrangement) -> list[str]:
    return [factor.sentence for factor in limiting_factors(arranged)]


def test_nothing_yet() -> None:
    even = Arrangement(slots=24, source=48, state=72, skew=Skew(8, 0.15), state_busy=12.0, fixed=1.0, trigger=5.0)
    assert [factor.limit for factor in limiting_factors(even)] == [Limit.NOTHING]


def test_too_few_partitions() -> None:
    assert sentences(Arrangement(slots=24, source=24, state=8)) == [
        "partitions: state has 8, so 16 of 24 slots are idle while it is updated"
    ]


def test_partitions_that_do_not_fill_the_last_wave() -> None:
    assert sentences(Arrangement(slots=24, source=30, state=48)) == [
        "partitions: the source has 30, 2 waves on 24 slots, which lose 37.5 % of their time"
    ]


def test_the_driver() -> None:
    assert sentences(Arrangement(slots=4, source=8, fixed=2.0, trigger=5.0)) == [
        "driver: planning, starting tasks and commit take 2 s of every batch, 40 % of the run's trigger of 5 s"
    ]


def test_slots_that_wait_for_a_hot_key_or_a_large_partition() -> None:
    # 50 % + 50 % / 48 = 51 %, 24.5 times the mean: 1.2 * (0.5104 - 1 / 24) = 56.25 % of the trigger
    hot = Arrangement(slots=24, source=48, state=48, skew=Skew(5, 0.6), state_busy=1.2)
    assert sentences(hot) == [
        "skew: one key has 50 % of the records, and the slowest of 48 tasks takes 24.5 times the mean: the other slots "
        "wait for it for 56.2 % of the trigger"
    ]
    # twice the mean: as long as two tasks, of which a slot has one
    large = Arrangement(slots=24, source=48, state=24, skew=Skew(8, 0.25), state_busy=12.0)
    assert sentences(large) == [
        "skew: the largest partition has 8.3 % of the records, and the slowest of 24 tasks takes 2.0 times the mean: "
        "the other slots wait for it for 50 % of the trigger"
    ]


def test_skew_that_nobody_waits_for() -> None:
    # with four tasks for each slot the largest is done before they are
    several = Arrangement(slots=24, source=48, state=96, skew=Skew(8, 0.25), state_busy=12.0)
    assert [factor.limit for factor in limiting_factors(several)] == [Limit.NOTHING]
    # tasks that take hardly any time
    light = Arrangement(slots=24, source=48, state=48, skew=Skew(5, 0.6), state_busy=0.1)
    assert [factor.limit for factor in limiting_factors(light)] == [Limit.NOTHING]
