from dataclasses import replace

import pytest

from tidegate.planner.estimator.phases import Measurement
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.estimator.verdict import Limit, Outcome, outcomes

SETTINGS = SearchSettings()
CALM = Measurement(
    75.0,
    offered_rate=1000.0,
    processed_rate=1000.0,
    backlog_begin=5000.0,
    backlog_end=5000.0,
    latency_begin=4.0,
    latency_end=4.0,
)


def sustained(settings: SearchSettings = SETTINGS, **changes: float) -> bool:
    (outcome,) = outcomes(1000.0, replace(CALM, **changes), settings)  # type: ignore[arg-type]
    return outcome.sustained


def test_at_least_99_percent_must_be_processed() -> None:
    assert sustained(processed_rate=990.0)
    assert not sustained(processed_rate=989.0)


def test_the_backlog_must_not_grow() -> None:
    # by 1 % of 1000/s in 30 s: 300 records
    assert sustained(backlog_end=5300.0)
    assert not sustained(backlog_end=5301.0)
    assert sustained(backlog_end=0.0)


def test_latency_must_stay() -> None:
    # 25 % of 4 s
    assert sustained(latency_end=5.0)
    assert not sustained(latency_end=5.1)
    # 1 % of 30 s for a latency that is very short
    assert sustained(latency_begin=0.1, latency_end=0.39)
    assert not sustained(latency_begin=0.1, latency_end=0.41)


def test_latency_may_have_a_limit() -> None:
    limited = replace(SETTINGS, latency_limit=3.0)
    assert not sustained(limited)
    assert sustained(limited, latency_begin=2.9, latency_end=3.0)
    (outcome,) = outcomes(1000.0, replace(CALM, latency_begin=None), limited)
    assert not outcome.sustained


def test_what_is_unknown_is_not_judged() -> None:
    (outcome,) = outcomes(1000.0, Measurement(75.0, processed_rate=1000.0), SETTINGS)
    assert outcome == Outcome(1000.0, True, 1000.0)
    assert outcomes(1000.0, Measurement(75.0, offered_rate=1000.0), SETTINGS) == ()


def test_a_backlog_that_is_processed_besides_does_not_raise_the_rate() -> None:
    (outcome,) = outcomes(1000.0, replace(CALM, processed_rate=1300.0), SETTINGS)
    assert outcome == Outcome(1000.0, True, reached=1000.0)


def test_a_source_that_cannot_offer_the_target_is_a_limit_at_what_it_offers() -> None:
    short = replace(CALM, offered_rate=800.0, processed_rate=800.0, source_able=False)
    passed, bound = outcomes(1000.0, short, SETTINGS)
    assert passed == Outcome(800.0, True, 800.0)
    assert bound == Outcome(1000.0, False, 800.0, Limit.SOURCE)
    # the query could not even process that much
    (failed,) = outcomes(1000.0, replace(short, processed_rate=700.0), SETTINGS)
    assert failed == Outcome(800.0, False, 700.0, Limit.QUERY)
    # it nearly could, and nothing at all
    (close,) = outcomes(1000.0, replace(short, offered_rate=995.0, processed_rate=995.0), SETTINGS)
    assert close == Outcome(1000.0, True, 995.0)
    assert outcomes(1000.0, replace(short, offered_rate=0.0), SETTINGS) == ()


def test_under_backpressure_the_target_counts_and_not_what_the_source_got_rid_of() -> None:
    (outcome,) = outcomes(1000.0, replace(CALM, offered_rate=700.0, processed_rate=700.0), SETTINGS)
    assert outcome == Outcome(1000.0, False, 700.0, Limit.QUERY)


@pytest.mark.parametrize(
    ("driver", "machine", "limit"),
    [
        (None, False, Limit.QUERY),
        (0.49, False, Limit.QUERY),
        (0.5, False, Limit.DRIVER),
        (0.1, True, Limit.MACHINE),
        (0.9, True, Limit.MACHINE),
    ],
)
def test_what_an_overload_was_due_to(driver: float | None, machine: bool, limit: Limit) -> None:
    overload = replace(CALM, processed_rate=700.0, driver_share=driver, machine_saturated=machine)
    (outcome,) = outcomes(1000.0, overload, SETTINGS)
    assert outcome.limit is limit
