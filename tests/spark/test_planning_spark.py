"""A testbed of real executors: phases of a capacity search, and a query that begins again on the same executors."""

from __future__ import annotations

import pytest

from tidegate.experiment import Experiment
from tidegate.planner.estimator.phases import Measurement, Phase, Probe, WarmUp
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.profiling.campaign import spark_testbed
from tidegate.profiling.search_run import configured
from tidegate.profiling.testbed import Testbed

pytestmark = pytest.mark.spark
E = Experiment(job="q11", engine="spark", trigger=1.0, policy="static", maximum=1, duration=3600.0, period=1.0)
#: a slow machine needs more of them until two batches are finished
ATTEMPTS = 20


def measured(testbed: Testbed, phase: Phase) -> Measurement:
    for _ in range(ATTEMPTS):
        shown = testbed.measure(phase)
        if shown.failure or shown.processed_rate is not None:
            break
    return shown


def test_a_search_on_spark_measures_what_it_offers() -> None:
    limit = SHORT.for_trigger(E.trigger).batch_limit(2_000.0)
    with spark_testbed(configured(E, 1, 1_000.0)) as testbed:
        warm = measured(testbed, WarmUp(1_000.0, 5.0, limit))
        assert warm.failure == ""
        assert warm.processed_rate is not None
        assert warm.processed_rate > 0
        assert warm.state_rows is not None
        again = testbed.begin_again(2_000.0)
        probe = measured(again, Probe(2_000.0, cooldown_rate=100.0, cooldown=2.0, injection=8.0, observation=6.0))
        assert probe.failure == ""
        assert probe.offered_rate == 2_000.0
        assert probe.processed_rate is not None
        # another query, with records and state of its own
        assert probe.state_rows is not None
        assert again is not testbed
        # what costs are learnt from, and what this machine had left
        assert again.observations
        assert again.machine is not None


def test_an_overload_is_a_rate_that_was_not_processed() -> None:
    e = configured(E, 1, 1_000.0)
    with spark_testbed(e) as testbed:
        # the limit lets at most 500 records/s through, whatever the machine could do
        shown = measured(testbed, Probe(5_000.0, 100.0, cooldown=1.0, injection=8.0, observation=6.0, batch_limit=500))
    assert shown.processed_rate is not None
    assert shown.processed_rate < 2_500.0
    assert shown.backlog_end is not None
    assert shown.backlog_begin is not None
    assert shown.backlog_end > shown.backlog_begin
