"""An exploration carried out: for each configuration that it asks for, a capacity search on a deployment of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
from tidegate.profiling.pilot import FIRST_RATE, Pilot, pilot
from tidegate.profiling.testbed import Testbed

#: a deployment of an experiment with its executors, ready for the first phase
OpenTestbed = Callable[[Experiment], AbstractContextManager[Testbed]]
#: told the phases of a search before they begin
OnPhase = Callable[[Question, Phase, float], None]
OnProbe = Callable[[Exploration, CapacityEstimate | None], None]
#: a search begins with so many times the rate that is expected
CHALLENGE = 1.5


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
        settings = self.settings.for_trigger(self.e.trigger)
        while isinstance(question := exploration.ask(), Question):
            left = (
                60 * (exploration.rules.minutes - exploration.minutes) if exploration.rules.minutes else settings.budget
            )
            if left < settings.least_seconds:
                break
            # a configuration that is measured again gets other noise
            e = replace(self.e, seed=self.e.seed + len(exploration.probes))
            expected = _expected(exploration, question) or self._pilot(question, e)
            left = max(settings.least_seconds, left - expected.seconds)
            search = replace(settings, budget=min(settings.budget, left))
            probe, estimate = self._probe(
                question, configured(e, question.slots, expected.rate, question.memory), search
            )
            exploration = exploration.tell(replace(probe, minutes=probe.minutes + expected.seconds / 60))
            self.on_probe(exploration, estimate)
        return exploration

    def _pilot(self, question: Question, e: Experiment) -> Pilot:
        """What to expect of the first configuration. Windows hold more or less records by the rate at which event time
        advances, so the search itself must begin with about the right one.
        """
        began, shown = self.clock(), Pilot(FIRST_RATE, 0.0)
        try:
            with self.testbed(configured(e, question.slots, FIRST_RATE, question.memory)) as testbed:
                shown = pilot(testbed, self.e.trigger, lambda phase, seconds: self.on_phase(question, phase, seconds))
        except QueryFailed:
            pass  # the search fails, too, and says why
        # simulated windows take no time, but would have
        return replace(shown, seconds=max(shown.seconds, self.clock() - began))

    def _probe(
        self, question: Question, e: Experiment, settings: SearchSettings
    ) -> tuple[Probe, CapacityEstimate | None]:
        search = CapacitySearch(CHALLENGE * e.peak, settings)
        began, failure = self.clock(), ""
        try:
            with self.testbed(e) as testbed:
                for phase in search:
                    self.on_phase(question, phase, search.estimate().seconds)
                    search.tell(testbed.measure(phase))
        except QueryFailed as error:
            failure = str(error)
        estimate = search.estimate()
        # a simulated search takes no time, but would have
        minutes = max(estimate.seconds, self.clock() - began) / 60
        if failure or estimate.rate is None:
            return Probe(question.slots, question.memory, None, minutes, failure or estimate.ending.value), estimate
        return Probe(question.slots, question.memory, estimate.rate, minutes), estimate


def _expected(exploration: Exploration, question: Question) -> Pilot | None:
    """In proportion to the measurement with the closest number of slots. None without any."""
    if not exploration.measurements:
        return None
    nearest = min(exploration.measurements, key=lambda m: abs(m.slots - question.slots))
    return Pilot(nearest.rate * question.slots / nearest.slots, 0.0)


def configured(e: Experiment, slots: int, rate: float, memory: float | None = None) -> Experiment:
    """The experiment of a search. Event time advances at the rate that is expected, so that windows hold what they
    would hold at that rate.
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
    yield Testbed(SimulatedDeployment(e), e.maximum, e.trigger)


@contextmanager
def spark_testbed(e: Experiment) -> Iterator[Testbed]:
    """A Spark session of its own, whose executors are warm and under their quota."""
    from tidegate.cluster.session import workspace  # noqa: PLC0415, imports Spark
    from tidegate.deployment.spark import SparkDeployment, spark_host, warm_up  # noqa: PLC0415

    with workspace() as folder, spark_host(e, folder) as host:
        warm_up(host, e, bind=True)
        deployment = SparkDeployment(host, e)
        try:
            deployment.start()
            yield Testbed(deployment, e.maximum, e.trigger, deployment.resume)
        finally:
            deployment.close()
