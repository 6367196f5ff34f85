from tidegate.control.health import Condition, Health
from tidegate.core import Decision, Event, Observation, Step, Tick


def tick(time: float, *steps: Step, executors: int = 2, requested: int = 2, held: str = "", **event: str) -> Tick:
    events = tuple(Event(time, kind, message) for kind, message in event.items())
    return Tick(Observation(time, executors, requested, events=events, held=held), steps)


WISH = Step("hpa-cpu", Decision(2, "CPU is fine"))


def conditions(health: Health) -> dict[str, tuple[bool, str, float]]:
    return {c.type: (c.status, c.reason, c.since) for c in health.conditions}


def test_it_scales_from_the_start_and_conditions_remember_since_when() -> None:
    health = Health()
    assert (health.status, health.conditions) == ("scaling", ())
    for time in (1.0, 2.0):
        health.take(tick(time, WISH))
    assert health.status == "scaling"
    assert conditions(health) == {
        "AbleToScale": (True, "ReadyForNewScale", 1.0),
        "ScalingActive": (True, "Deciding", 1.0),
        "ScalingLimited": (False, "DesiredWithinRange", 1.0),
    }
    assert health.plain()[1]["message"] == "CPU is fine"


def test_a_monitor_says_so_and_still_tells_if_it_cannot_decide() -> None:
    health = Health(active=False)
    health.take(tick(1.0, WISH))
    assert (health.status, conditions(health)["ScalingActive"]) == ("monitoring", (False, "Monitoring", 1.0))
    health.take(tick(2.0, Step("engine", Decision(2, "hold: observing failed: gone"), "gone")))
    assert health.status == "holding: observing failed: gone"


def test_a_failure_holds_until_a_decision_succeeds() -> None:
    health = Health()
    health.take(tick(1.0, WISH))
    health.take(tick(2.0, Step("hpa-cpu", Decision(2, "hold: the policy failed: ValueError"), "ValueError")))
    assert health.status == "holding: the policy failed: ValueError"
    health.take(tick(3.0))  # nothing was due
    assert health.status == "holding: the policy failed: ValueError"
    assert conditions(health)["ScalingActive"] == (False, "DecisionFailed", 2.0)
    health.take(tick(4.0, WISH))
    assert (health.status, conditions(health)["ScalingActive"]) == ("scaling", (True, "Deciding", 4.0))


def test_a_fallback_and_a_pause_are_named() -> None:
    health = Health()
    failed = Step("hpa-cpu", Decision(2, "hold: the policy failed: E"), "E")
    health.take(tick(1.0, failed, Step("fallback", Decision(4, "fallback to 4"))))
    assert (health.status, conditions(health)["ScalingActive"][1]) == ("holding: fallback to 4", "Fallback")
    health.take(tick(2.0, WISH, Step("pause", Decision(2, "hold: paused by the user"))))
    assert (health.status, conditions(health)["ScalingActive"][1]) == ("holding: paused by the user", "Paused")


def test_a_request_that_is_not_met_degrades_until_it_is() -> None:
    health = Health()
    health.take(tick(1.0, WISH, requested=4, ScaleTimeout="4 requested, 2 there"))
    health.take(tick(2.0, WISH, requested=4))
    assert health.status == "degraded: 4 requested, 2 there"
    assert conditions(health)["AbleToScale"] == (False, "ScaleTimeout", 1.0)
    health.take(tick(3.0, WISH, executors=4, requested=4))
    assert (health.status, conditions(health)["AbleToScale"]) == ("scaling", (True, "ReadyForNewScale", 3.0))


def test_somebody_elses_total_degrades_as_long_as_it_is_respected() -> None:
    health = Health()
    health.take(tick(1.0, WISH, held="somebody else asked for 5"))
    assert health.status == "degraded: somebody else asked for 5"
    health.take(tick(2.0, WISH))
    assert health.status == "scaling"


def test_limits_say_in_which_direction() -> None:
    health = Health()
    wish = Step("hpa-cpu", Decision(9, "busy"))
    health.take(tick(1.0, wish, Step("limits", Decision(8, "maximum 8: busy"))))
    assert conditions(health)["ScalingLimited"] == (True, "TooManyExecutors", 1.0)
    health.take(tick(2.0, Step("hpa-cpu", Decision(0, "idle")), Step("limits", Decision(1, "minimum 1: idle"))))
    assert conditions(health)["ScalingLimited"] == (True, "TooFewExecutors", 1.0)
    health.take(tick(3.0, wish, Step("ceiling", Decision(4, "hold: 4 partitions")), Step("x", Decision(3, ""))))
    assert health.conditions[2] == Condition("ScalingLimited", True, "TooFewPartitions", "hold: 4 partitions", 1.0)


def test_a_cap_that_leaves_the_total_as_it_is_asks_for_no_more_executors() -> None:
    health = Health()
    # three operators keep one worker each, so a quota of 2 cores still gives 3
    wish, quota = Step("hpa-cpu", Decision(3, "busy")), Step("quota", Decision(3, "hold: the quota of 2 cores"))
    health.take(tick(1.0, wish, quota, executors=3, requested=3))
    assert conditions(health)["ScalingLimited"] == (True, "QuotaReached", 1.0)


def test_parts_beside_the_loop_degrade_and_recover_and_the_end_is_the_end() -> None:
    health = Health()
    health.degrade("store", "ticks are not stored: disk full")
    health.degrade("alerts", "slow")
    assert health.status == "degraded: ticks are not stored: disk full; slow"
    health.recover("store")
    health.recover("store")
    assert health.status == "degraded: slow"
    health.end("the query was stopped")
    assert health.status == "ended: the query was stopped"
