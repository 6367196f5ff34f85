"""What `tidegate plan` carries out: an exploration, a validation run and a partition trial, as far as its budget goes.

All of them are kept in the folder of the plan as soon as they are there, and used again by later commands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from tidegate.cli.console import complain
from tidegate.cli.plan_measurements import PlanFolder
from tidegate.cli.plan_progress import Budget, PlanProgress, say
from tidegate.cli.plan_stored import KeptFigures
from tidegate.experiment.settings import Experiment
from tidegate.planner.answer import Answer, Knowledge, Wanted, answer
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.explorer import Exploration, ExplorationRules, Probe
from tidegate.planner.space import Configuration, Space
from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.partition_trial import TrialVerdict
from tidegate.profiling import campaign
from tidegate.profiling.partition_trial_runs import PartitionTrial, TrialProbe, run_trial
from tidegate.profiling.search_run import Searcher, SearchRun, configured
from tidegate.profiling.validation_run import validation_run

#: an increase of the error that no measurement makes
NEVER = 1e9
#: searches of a trial, and most of the budget that is reserved for other runs than those of the exploration
TRIAL_SEARCHES, MOST_RESERVED = 3, 0.5
#: budgets of so many trials have time for one that nobody asked for
TRIALS = 3


@dataclass(frozen=True, slots=True)
class Earlier:
    """What to do about earlier measurements."""

    more: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Extra:
    """Runs beside the exploration: one with `validate` executors, and the trial of partitions; if `trial` is None, a
    trial where the budget is large, or something is left of it.
    """

    validate: int | None = None
    trial: bool | None = None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """`e` is the query with the size of its executors, `seconds` the time for all runs."""

    e: Experiment
    wanted: Wanted
    executors: tuple[int, ...]
    heaps: tuple[int, ...]
    seconds: float
    extra: Extra = Extra()
    earlier: Earlier = Earlier()

    @property
    def space(self) -> Space:
        return Space.of([number * self.e.cores for number in self.executors], self.heaps)


@dataclass(frozen=True, slots=True)
class PlanDone:
    """`omitted` says what was asked for and could not be done."""

    request: PlanRequest
    exploration: Exploration
    answer: Answer
    trials: tuple[TrialProbe, ...] = ()
    omitted: tuple[str, ...] = ()


class PlanRun:
    """From a request to its answer; exits with code 4 if nothing could be measured."""

    def __init__(self, request: PlanRequest) -> None:
        self._request = request
        self._folder = PlanFolder(request.e, fresh=request.earlier.fresh)
        self._budget = Budget(request.seconds)
        self._progress = PlanProgress(self._budget, simulated=request.e.engine == "sim")
        testbed = campaign.simulated_testbed if request.e.engine == "sim" else campaign.spark_testbed
        self._searcher = Searcher(request.e, SHORT, testbed, self._progress.phase)
        self._omitted: list[str] = []
        self._measured = False

    def carry_out(self) -> PlanDone:
        with self._folder.locked():
            exploration = self._explored()
            if not exploration.measurements:
                reason = exploration.probes[-1].failure if exploration.probes else "there was no time for a search"
                complain(f"no configuration could be measured: {reason}")
                raise typer.Exit(4)
            known = self._validated(exploration)
            answered = answer(self._request.wanted, known)
            trials, verdict = self._tried(exploration, answered)
            if verdict is not None:
                answered = answer(self._request.wanted, known, verdict)
            return PlanDone(self._request, exploration, answered, trials, tuple(self._omitted))

    def _explored(self) -> Exploration:
        request, kept = self._request, self._folder.read()
        # what was measured before took its time then
        spent = math.fsum(probe.minutes for probe in kept)
        rules = ExplorationRules(minutes=spent + (request.seconds - self._reserved) / 60)
        # who asks for more wants it although the last measurement has raised the error
        exploration = Exploration(request.space, replace(rules, worse=NEVER) if request.earlier.more else rules, kept)
        if kept:
            say(f"{len(kept)} measurements in {self._folder.path} are used again (--more adds, --fresh replaces them)")
        space = exploration.space
        measured = {(m.slots, m.memory) for m in exploration.measurements} & {(c.slots, c.memory) for c in space}
        if len(measured) >= min(len(space), len(space.corners) + 1) and not request.earlier.more:
            return exploration
        return campaign.Campaign(self._searcher, self._keep).run(exploration)

    @property
    def _reserved(self) -> float:
        """Seconds for runs that were asked for, unless the exploration would have none."""
        validation = self._searcher.enough_seconds if self._request.extra.validate else 0.0
        reserved = min(validation + self._for_trial, MOST_RESERVED * self._request.seconds)
        return reserved if self._searcher.within(self._request.seconds - reserved) else 0.0

    @property
    def _for_trial(self) -> float:
        """Seconds for one that was asked for, or that the budget has time for."""
        asked, seconds = self._request.extra.trial, TRIAL_SEARCHES * self._searcher.enough_seconds
        large = asked is None and self._request.seconds >= TRIALS * seconds
        return seconds if asked or large else 0.0

    def _keep(self, now: Exploration, run: SearchRun) -> None:
        probe = now.probes[-1]
        self._budget.spend(probe.minutes)
        self._measured = True
        self._folder.write(now)
        if probe.rate is not None:
            self._folder.keep_figures(KeptFigures(probe.configuration, run.figures, run.no_figures))
        self._progress.probe(probe, run)

    def _known(self, exploration: Exploration) -> Knowledge:
        figures, reason = self._folder.figures()
        return Knowledge(exploration.measurements, figures, reason, self._folder.validations())

    def _validated(self, exploration: Exploration) -> Knowledge:
        known, executors = self._known(exploration), self._request.extra.validate
        if executors is None:
            return known
        slots = executors * self._request.e.cores
        if any(validation.measurement.slots == slots for validation in known.validations):
            return known
        capacity = known.capacity(self._request.wanted.partitions)
        left = self._budget.left
        seconds = max(min(left, self._searcher.enough_seconds), left - self._for_trial)
        shown = validation_run(self._searcher, capacity, slots, seconds)
        self._budget.spend(shown.minutes)
        if shown.validation is None or shown.run is None:
            self._omitted.append(shown.failure)
            return known
        say(shown.validation.sentence)
        self._folder.keep_validation(shown.validation)
        of, run = Configuration(slots, capacity.memory), shown.run
        self._folder.keep_figures(KeptFigures(of, run.figures, run.no_figures))
        return self._known(exploration)

    def _tried(self, exploration: Exploration, answered: Answer) -> tuple[tuple[TrialProbe, ...], TrialVerdict | None]:
        wish, trial = self._request.extra.trial, self._trial(exploration, answered)
        if wish is False:
            return (), None
        if isinstance(trial, str):
            if wish:
                self._omitted.append(trial)
            return (), None
        known = (*self._folder.trials(), *self._as_trials(exploration))
        if wish or self._measured:
            probes = run_trial(trial, known, self._searcher, self._budget.left, self._keep_trial)
        else:
            probes = known
        verdict = trial.verdict(probes, answered.capacity.noise)
        for count in trial.missing(probes) if wish else ():
            reason = trial.failure(count, probes) or "no time was left: a longer --budget has some"
            self._omitted.append(f"partition trial: nothing is known of {count.planned:,} partitions: {reason}")
        return probes, verdict

    def _keep_trial(self, probe: TrialProbe) -> None:
        self._budget.spend(probe.minutes)
        self._folder.keep_trial(probe)
        rate = probe.failure or f"{probe.rate:,.0f} records/s"
        say(f"trial of {probe.partitions} partitions with {probe.slots} slots: {rate}")

    def _trial(self, exploration: Exploration, answered: Answer) -> PartitionTrial | str:
        """Or why there is none."""
        configuration = answered.configuration
        if not isinstance(configuration, SparkConfiguration):
            return "no partition trial: there is no configuration to try"
        if configuration.state is None:
            return "no partition trial: the query has no state"
        if answered.wanted.partitions:
            return "no partition trial: --partitions says that they are fixed"
        largest = max(exploration.measurements, key=lambda m: (m.slots, m.memory))
        if largest.slots < 2:
            return "no partition trial: on a testbed of one slot any number of partitions is even"
        return PartitionTrial(configuration.state, Configuration(largest.slots, largest.memory))

    def _as_trials(self, exploration: Exploration) -> Sequence[TrialProbe]:
        """Searches of the exploration, with the partitions that they had."""
        return [self._as_trial(probe) for probe in exploration.probes if probe.rate is not None]

    def _as_trial(self, probe: Probe) -> TrialProbe:
        partitions = configured(self._request.e, probe.slots, 1.0, probe.memory).partition_count
        return TrialProbe(probe.slots, probe.memory, partitions, probe.rate)
