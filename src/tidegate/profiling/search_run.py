"""One capacity search carried out, on a testbed of its own, and what it showed beside the capacity."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.core import InvalidInput, Observation, QueryFailed
from tidegate.experiment.settings import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate, Ending
from tidegate.planner.estimator.phases import Phase
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.explorer import Probe, Question
from tidegate.planner.spark_configuration.run_figures import RunFigures, run_figures
from tidegate.profiling.pilot import FIRST_RATE, pilot
from tidegate.profiling.testbed import OpenTestbed

#: told the phases of a search before they begin
OnPhase = Callable[[Question, Phase, float], None]
#: a search begins with so many times the rate that is expected
CHALLENGE = 1.5
#: seconds from a question to the first phase that are expected: Spark starts, and executors use up their grace
OPENING = 75.0
#: least share of a search's own budget with which it is begun: most of such searches find a rate, shorter ones hardly
#: ever (docs/planning.md)
SENSIBLE = 0.5
#: share of it with which almost every search finds a rate: what one gets whose result is compared with others
ENOUGH = 0.6
#: what an ending means for who reads it
MEANING = {
    Ending.NEVER_STEADY: "is its state bounded, as by a watermark, and is the machine left to it?",
    Ending.BUDGET: "a longer one has time for the warm-up and its probes",
}


@dataclass(frozen=True, slots=True)
class SearchRun:
    """`estimate` is None if the query failed before the search began. `figures` are what the run says about costs and
    state; `no_figures` why there are none.
    """

    estimate: CapacityEstimate | None
    minutes: float
    failure: str = ""
    figures: RunFigures | None = None
    no_figures: str = ""

    def probe(self, question: Question) -> Probe:
        estimate = self.estimate
        if estimate is None or estimate.rate is None or self.failure:
            reason = self.failure or (_ending(estimate) if estimate else "the query failed")
            return Probe(question.slots, question.memory, None, self.minutes, reason)
        return Probe(
            question.slots,
            question.memory,
            estimate.rate,
            self.minutes,
            low=estimate.interval[0],
            high=estimate.interval[1],
            ending=estimate.ending.value,
            limit=estimate.limit.value if estimate.limit else "",
        )


@dataclass(frozen=True, slots=True)
class Searcher:
    """Carries out searches for the query of `e`, with its trigger, its partitions and the size of its executors."""

    e: Experiment
    settings: SearchSettings
    testbed: OpenTestbed
    on_phase: OnPhase = lambda question, phase, seconds: None
    clock: Callable[[], float] = time.monotonic

    @property
    def usual(self) -> SearchSettings:
        """Those of a search with all the time that it wants."""
        return self.settings.for_trigger(self.e.trigger)

    @property
    def short_seconds(self) -> float:
        """What the shortest search takes, its start included."""
        return shortest(self.usual)

    @property
    def enough_seconds(self) -> float:
        """What a search takes that is to find a rate for certain, its start included."""
        return max(self.short_seconds, OPENING + ENOUGH * self.usual.budget)

    def within(self, seconds: float, wanted: float = 0.0) -> SearchSettings | None:
        """Those of a search for which there are `seconds`: the shortest one, or one with what is `wanted` if that is
        more. None if there is not enough time for any.
        """
        usual, least = self.usual, self.short_seconds - OPENING
        if seconds < self.short_seconds:
            return None
        return replace(usual, budget=min(usual.budget, seconds - OPENING, max(least, wanted)))

    def run(
        self, question: Question, expected: float | None, settings: SearchSettings, *, repetition: int = 0
    ) -> SearchRun:
        """A search in the configuration of the question. The rate that is `expected` is found out first if it is not
        known; a repetition has other noise.
        """
        began, failure, seconds, estimate = self.clock(), "", 0.0, None
        observations: Sequence[Observation] = ()
        e = configured(self.e, question.slots, expected or FIRST_RATE, question.memory)
        e = replace(e, seed=e.seed + repetition)
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
                # now it also says why it ended
                estimate, observations = search.estimate(), testbed.observations
        except QueryFailed as error:
            failure = str(error)
        # a simulated search takes no time, but would have
        minutes = max(seconds + (estimate.seconds if estimate else 0.0), self.clock() - began) / 60
        return _shown(SearchRun(estimate, minutes, failure), observations, e.trigger)


def shortest(settings: SearchSettings) -> float:
    """Seconds of the shortest search that is begun, its start included.

    >>> shortest(SearchSettings(budget=600.0)), shortest(SearchSettings(budget=300.0))  # a warm-up and a probe: 165 s
    (375.0, 240.0)
    """
    return OPENING + max(settings.least_seconds, SENSIBLE * settings.budget)


def _shown(run: SearchRun, observations: Sequence[Observation], trigger: float) -> SearchRun:
    if run.failure or run.estimate is None or run.estimate.rate is None:
        return replace(run, no_figures="a run that sustained no rate shows no costs")
    try:
        return replace(run, figures=run_figures(observations, trigger))
    except InvalidInput as error:
        return replace(run, no_figures=str(error))


def _ending(estimate: CapacityEstimate) -> str:
    meaning = MEANING.get(estimate.ending)
    return f"{estimate.ending.value}: {meaning}" if meaning else estimate.ending.value


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
