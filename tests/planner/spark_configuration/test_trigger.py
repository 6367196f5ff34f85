import pytest

from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.trigger import BatchTime, batch_limit, plan_trigger


def test_the_trigger_of_the_run_is_kept_where_it_does() -> None:
    plan = plan_trigger(BatchTime(fixed=1.0, load=0.6), measured=5.0, slo=10.0)
    assert (plan.trigger, plan.latency, plan.fixed_share, plan.notes) == (5.0, 9.0, 0.2, ())


def test_a_long_fixed_time_needs_a_longer_trigger() -> None:
    plan = plan_trigger(BatchTime(fixed=1.5, load=0.5), measured=4.0)
    assert (plan.trigger, plan.fixed_share) == (6.0, 0.25)
    # (1 - 1.5 / 6) / (1 - 1.5 / 4) = 1.2
    assert plan.notes == (
        "capacity was measured with a trigger of 4 s, and with 6 s it is 20 % larger, as every batch takes 1.5 s"
        " without records: measured with it, fewer slots may do",
    )
    other = plan_trigger(BatchTime(fixed=1.5, load=0.5), 4.0, rules=ConfigurationRules(fixed_share=0.1))
    assert other.trigger == 15.0


def test_an_slo_needs_a_shorter_trigger_which_costs_capacity() -> None:
    # T + 0.5 + 0.5 T <= 5: T <= 3
    plan = plan_trigger(BatchTime(fixed=0.5, load=0.5), measured=10.0, slo=5.0)
    assert (plan.trigger, plan.latency) == (3.0, 5.0)
    # (1 - 0.5 / 3) / (1 - 0.5 / 10) = 0.877
    assert plan.notes == (
        "capacity was measured with a trigger of 10 s, and with 3 s it is 12.3 % smaller, as every batch takes 0.5 s"
        " without records",
    )


def test_both_cannot_be_had() -> None:
    # the fixed time asks for 4 s, which has latencies up to 4 + 1 + 0.5 * 4 = 7 s; the SLO for (5 - 1) / 1.5 = 2.7 s
    plan = plan_trigger(BatchTime(fixed=1.0, load=0.5), measured=4.0, slo=5.0)
    assert plan.trigger == 4.0
    assert plan.notes == (
        "a latency within 5 s and at most 25 % of the trigger for the 1 s that a batch takes without records cannot "
        "both be had: a trigger of 4 s has latencies up to 7 s, one of 2.7 s spends 37.5 % on it",
    )


def test_an_slo_that_no_trigger_keeps() -> None:
    # (2 - 1) / 1.5 = 0.67 s is shorter than the fixed time
    plan = plan_trigger(BatchTime(fixed=1.0, load=0.5), measured=4.0, slo=2.0)
    assert plan.trigger == 4.0
    assert plan.notes[0].endswith("with any trigger that holds the SLO batches would not end in time")


def test_an_unknown_fixed_time_is_said() -> None:
    plan = plan_trigger(BatchTime(fixed=None, load=1.0), measured=4.0, slo=5.0)
    assert (plan.trigger, plan.fixed_share) == (2.5, None)
    assert plan.notes == (
        "capacity was measured with a trigger of 4 s, and with a shorter one it is smaller",
        "what a batch takes without records is unknown: the run had batches of one size only",
    )


@pytest.mark.parametrize(
    ("capacity", "rate", "trigger", "limit"),
    [(100_000.0, 80_000.0, 4.0, 400_000), (33_333.0, 20_000.0, 10.0, 333_000), (7.7, 5.0, 1.0, 7)],
)
def test_a_batch_is_limited_to_what_a_trigger_can_do(capacity: float, rate: float, trigger: float, limit: int) -> None:
    assert batch_limit(capacity, rate, trigger) == limit


def test_a_limit_never_holds_back_what_arrives() -> None:
    assert batch_limit(50_000.0, 80_000.0, 4.0) == 320_000
