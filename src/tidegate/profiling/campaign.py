"""An exploration carried out: for each configuration that it asks for, a capacity search on a deployment of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tidegate.core import QueryFailed
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment.settings import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate
from tidegate.planner.estimator.phases import Phase
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.explorer import Exploration, Probe, Question
from tidegate.profiling.pilot import FIRST_RATE, pilot
from tidegate.profiling.testbed import Testbed

#: a deployment of an experiment with its executors, ready for the first phase
OpenTestbed = Callable[[Experiment], AbstractContextManager[Testbed]]
#: told the phases of a search before they begin
OnPhase = Callable[[Question, Phase, float], None]
OnProbe = Callable[[Exploration, CapacityEstimate | None], None]
#: a search begins with so many times the rate that is expected
CHALLENGE = 1.5
#: seconds from a question to the first phase that are expected: Spark starts, and executors use up their grace
OPENING = 75.0
#: least share of a search's own budget that it gets, even if other configurations must do without, and the number of
#: configurations beyond which it does not care
SENSIBLE, MOST_DUE = 0.4, 5


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is explored, and how. `e` is the query, with its trigger, its partitions and the size of its executors."""

    e: Experiment
    settings: SearchSettings
    testbed: OpenTestbed
    on_phase: OnPhase = lambda question, phase, seconds: None
    on_probe: OnProbe = lambda exploration, estimate: None
    clock: Callable[[], float] = time.monotonic

    def run(self, exploration: Exploration) -> Exploration:
        """The exploration with all answers, within its budget. It goes on after a query has failed, and ends where a
        testbed cannot be opened.
        """
        while isinstance(question := exploration.ask(), Question):
            settings = self._settings(exploration, question)
            if settings is None:
                break
            probe, estimate = self._probe(question, exploration, settings)
            exploration = exploration.tell(probe)
            self.on_probe(exploration, estimate)
        return exploration

    def _settings(self, exploration: Exploration, question: Question) -> SearchSettings | None:
        """Those of the next search, which takes its share of the time that is left: what the configurations that were
        not measured yet leave to it. None if there is not enough for a search.
        """
        settings = self.settings.for_trigger(self.e.trigger)
        if not exploration.rules.minutes:
            return settings
        left = 60 * (exploration.rules.minutes - exploration.minutes) - OPENING
        if left < settings.least_seconds:
            return None
        probed = {probe.configuration for probe in exploration.probes}
        due = min(MOST_DUE, sum(configuration not in probed for configuration in exploration.space))
        share = (left + OPENING) / max(1, due) - OPENING
        sensible = SENSIBLE * settings.budget
        return replace(settings, budget=min(settings.budget, left, max(settings.least_seconds, sensible, share)))

    def _probe(
        self, question: Question, exploration: Exploration, settings: SearchSettings
    ) -> tuple[Probe, CapacityEstimate | None]:
        began, failure, seconds, estimate = self.clock(), "", 0.0, None
        expected = _expected(exploration, question)
        e = configured(self.e, question.slots, expected or FIRST_RATE, question.memory)
        # a configuration that is measured again gets other noise
        e = replace(e, seed=e.seed + len(exploration.probes))
        try:
            with self.testbed(e) as testbed:
                if expected is None:
                    shown = pilot(testbed, e.trigger, lambda phase, spent: self.on_phase(question, phase, spent))
                    expected, seconds = shown.rate, shown.seconds
                    testbed = testbed.begin_again(expected)  # noqa: PLW2901, the same testbed
                search = CapacitySearch(CHALLENGE * expected, settings)
                estimate = search.estimate()
                for phase in search:
                    self.on_phase(question, phase, seconds + search.estimate().seconds)
                    search.tell(testbed.measure(phase))
                    estimate = search.estimate()
        except QueryFailed as error:
            failure = str(error)
        # a simulated search takes no time, but would have
        minutes = max(seconds + (estimate.seconds if estimate else 0.0), self.clock() - began) / 60
        return _answer(question, minutes, failure, estimate), estimate


def _answer(question: Question, minutes: float, failure: str, estimate: CapacityEstimate | None) -> Probe:
    if estimate is None or estimate.rate is None or failure:
        reason = failure or (estimate.ending.value if estimate else "the query failed")
        return Probe(question.slots, question.memory, None, minutes, reason)
    return Probe(
        question.slots,
        question.memory,
        estimate.rate,
        minutes,
        low=estimate.interval[0],
        high=estimate.interval[1],
        ending=estimate.ending.value,
        limit=estimate.limit.value if estimate.limit else "",
    )


def _expected(exploration: Exploration, question: Question) -> float | None:
    """In proportion to the measurement with the closest number of slots. None without any."""
    if not exploration.measurements:
        return None
    nearest = min(exploration.measurements, key=lambda m: abs(m.slots - question.slots))
    return nearest.rate * question.slots / nearest.slots


def configured(e: Experiment, slots: int, rate: float, memory: float | None = None) -> Experiment:
    """The experiment of a search. Event time advances at the rate that is expected, so that windows hold what they
    would hold at that rate. Unless their number is given, there are as many partitions for each slot as there will be
    in production, so that a slot spends as much on its tasks.
    """
    executors = slots // e.cores
    numbers: dict[str, Any] = {"minimum": executors, "maximum": executors, "initial": executors}
    # a search limits batches itself
    load: dict[str, Any] = {"workload": "constant", "peak": rate, "limit": max(1, round(100 * rate))}
    return replace(
        e,
        policy="static",
        options={"executors": executors},
        memory=e.memory if memory is None else int(memory),
        verify=False,
        **numbers,
        **load,
    )


@contextmanager
def simulated_testbed(e: Experiment) -> Iterator[Testbed]:
    def begin(rate: float) -> Testbed:
        deployment = SimulatedDeployment(configured(e, e.maximum * e.cores, rate))
        return Testbed(deployment, e.maximum, e.trigger, restart=begin)

    yield begin(e.peak)


@contextmanager
def spark_testbed(e: Experiment) -> Iterator[Testbed]:
    """A Spark session of its own, whose executors are warm and under their quota."""
    from tidegate.cluster.session import workspace  # noqa: PLC0415, imports Spark
    from tidegate.deployment.replayed import connector_jars, replayed_feed  # noqa: PLC0415
    from tidegate.deployment.spark import SparkDeployment, spark_host, warm_up  # noqa: PLC0415

    with workspace() as folder, spark_host(e, folder, connector_jars(e)) as host, ExitStack() as deployed:
        warm_up(host, e, bind=True)

        def begin(rate: float) -> Testbed:
            deployed.close()
            expected = configured(e, e.maximum * e.cores, rate)
            feed = deployed.enter_context(replayed_feed(expected)) if expected.kafka else None
            deployment = SparkDeployment(host, expected, feed)
            deployed.callback(deployment.close)
            deployment.start()
            return Testbed(deployment, e.maximum, e.trigger, deployment.resume, begin)

        yield begin(e.peak)
