"""Random search for the settings of a policy with the fewest worker-seconds and no more late records than allowed.

Starting from the current settings, candidates are drawn within a factor of four, followed by rounds of smaller changes
around the best candidate. Finally, changes that gain nothing are undone. Draws are seeded and depend on results only
through whole rounds, so a search finds the same settings on any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from tidegate.backtest.search_space import REACH, Knob, knobs, turned
from tidegate.compare.pool import Pool
from tidegate.compare.ranking import ALLOWED, order
from tidegate.core import InvalidInput
from tidegate.deployment.simulated import simulate
from tidegate.experiment.settings import Experiment
from tidegate.profiling.profile import with_profile
from tidegate.score.figures import distribution, rescales, workers

TRIALS = 60
#: share of trials drawn from the whole range, share reserved for undoing changes, and reach of the rounds between
WIDE, UNDOING, ROUNDS = 0.45, 0.15, (2.0, 1.5, 1.25)
#: share of worker-seconds that a change must save to be worth keeping
WORTH = 0.005
#: draws per candidate to find one that is new and valid for the policy
DRAWS = 50

Settings = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Score:
    """Results of settings, averaged over seeds: share of late records, worker-seconds, latency, rescales."""

    late: float
    seconds: float
    p95: float
    rescales: float


@dataclass(frozen=True, slots=True)
class Trial:
    settings: Settings
    score: Score


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The initial and the best settings, and the number of trials. `options` holds only what differs from the start."""

    start: Trial | None
    best: Trial | None
    options: Settings
    trials: int
    interrupted: bool = False


#: runs candidates and passes on scores, by index of the candidate, as they become known
Measure = Callable[[Sequence[Settings], Callable[[Mapping[int, Score]], None]], None]


@dataclass(frozen=True, slots=True)
class Aim:
    allowed: float = ALLOWED
    trials: int = TRIALS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Execution:
    """How trials are run; `watch` is called with the number of finished trials."""

    seeds: Sequence[int] = (0,)
    processes: int = 1
    watch: Callable[[int], None] = lambda done: None


def search(tunable: Sequence[Knob], measure: Measure, aim: Aim, admits: Callable[[Settings], bool]) -> SearchResult:
    """The best of `aim.trials` trials; an interrupt ends the search with the best so far."""
    state = _Search(tunable, measure, aim, admits)
    interrupted = False
    try:
        state.explore()
        state.undo()
    except KeyboardInterrupt:
        interrupted = True
    first = next((trial for trial in state.trials if trial.settings == state.start), None)
    return SearchResult(first, state.best, state.changes(state.best), len(state.trials), interrupted)


class _Search:
    def __init__(self, tunable: Sequence[Knob], measure: Measure, aim: Aim, admits: Callable[[Settings], bool]) -> None:
        self._knobs, self._measure, self._aim, self._admits = tunable, measure, aim, admits
        self._random = Random(aim.seed)
        self.start: Settings = {knob.name: knob.start for knob in tunable}
        self.trials: list[Trial] = []
        self.best: Trial | None = None

    def explore(self) -> None:
        self._batch([self.start])
        for count, reach in _rounds(self._aim.trials - 1):
            now = self.start if reach == REACH or self.best is None else self.best.settings
            self._batch(self._candidates(count, now, reach))

    def undo(self) -> None:
        """Undo changes that gain nothing: each one alone, then together all that were not needed."""
        while self.best is not None and self._left():
            now = self.best
            alone = self._undone(now, [{name: self.start[name]} for name in self.changes(now)])
            if not alone:
                return
            needless = [name for trial in alone for name in now.settings if trial.settings[name] != now.settings[name]]
            together = self._undone(now, [{name: self.start[name] for name in needless}])
            self.best = min(together or alone, key=self._order)

    def _undone(self, now: Trial, changes: Sequence[Settings]) -> list[Trial]:
        """Trials with each of the changes that are as good as `now`."""
        before = len(self.trials)
        candidates = [{**now.settings, **change} for change in changes]
        self._batch([settings for settings in candidates if self._new(settings)][: self._left()])
        return [trial for trial in self.trials[before:] if self._as_good(trial.score, now.score)]

    def _left(self) -> int:
        return self._aim.trials - len(self.trials)

    def changes(self, trial: Trial | None) -> Settings:
        settings = trial.settings if trial else {}
        return {name: value for name, value in settings.items() if value != self.start[name]}

    def _batch(self, candidates: Sequence[Settings]) -> None:
        scores: dict[int, Score] = {}
        try:
            if candidates:
                self._measure(candidates, scores.update)
        finally:
            trials = [Trial(candidates[k], scores[k]) for k in sorted(scores)]
            self.trials += trials
            self.best = min([*([self.best] if self.best else []), *trials], key=self._order, default=None)

    def _order(self, trial: Trial) -> tuple[bool, float, float]:
        return order(trial.score.late, trial.score.seconds, self._aim.allowed)

    def _as_good(self, score: Score, reference: Score) -> bool:
        return score.late <= max(self._aim.allowed, reference.late) and score.seconds <= reference.seconds * (1 + WORTH)

    def _new(self, settings: Settings) -> bool:
        return all(trial.settings != settings for trial in self.trials) and self._admits(settings)

    def _candidates(self, count: int, now: Settings, reach: float) -> list[Settings]:
        """Up to `count` new and valid candidates; fewer if no more are found."""
        candidates: list[Settings] = []
        for _ in range(count * DRAWS):
            if len(candidates) == count:
                break
            settings = turned(self._knobs, now, reach, self._random)
            if settings not in candidates and self._new(settings):
                candidates.append(settings)
        return candidates


def _rounds(trials: int) -> Iterator[tuple[int, float]]:
    """Number of candidates and reach of each round.

    >>> list(_rounds(59))
    [(26, 4.0), (8, 2.0), (8, 1.5), (8, 1.25)]
    """
    wide = int(trials * WIDE)
    yield wide, REACH
    for reach in ROUNDS:
        yield int((trials - wide - trials * UNDOING) / len(ROUNDS)), reach


def tune(e: Experiment, aim: Aim, execution: Execution) -> SearchResult:
    """Tune the settings of an experiment's policy by simulation."""
    tunable = knobs(e.policy, e.options)
    if not tunable:
        raise InvalidInput(f"policy {e.policy} has no settings to search for")
    profiled = with_profile(e)  # once, before worker processes are forked

    def with_settings(settings: Settings) -> Experiment:
        changed = {knob.name: settings[knob.name] for knob in tunable if settings[knob.name] != knob.start}
        return replace(profiled, options={**profiled.options, **changed})

    def admits(settings: Settings) -> bool:
        try:
            with_settings(settings)
        except InvalidInput:
            return False
        return True

    done = 0

    def measure(candidates: Sequence[Settings], keep: Callable[[Mapping[int, Score]], None]) -> None:
        def count(scores: Mapping[int, Score]) -> None:
            nonlocal done
            done += len(scores)
            keep(scores)
            execution.watch(done)

        _measure([with_settings(candidate) for candidate in candidates], count, execution)

    return search(tunable, measure, aim, admits)


def _measure(runs: Sequence[Experiment], keep: Callable[[Mapping[int, Score]], None], execution: Execution) -> None:
    candidates, do = list(enumerate(runs)), partial(_scored, seeds=execution.seeds)
    if execution.processes > 1 and len(candidates) > 1:
        pool: Pool[tuple[int, Experiment], tuple[int, Score]] = Pool(min(execution.processes, len(candidates)), do)
        pool.run(candidates, lambda results: keep(dict(results)))
        return
    for candidate in candidates:
        keep(dict(do(candidate)))


def _scored(candidate: tuple[int, Experiment], seeds: Sequence[int]) -> list[tuple[int, Score]]:
    index, e = candidate
    return [(index, score(e, seeds))]


def score(e: Experiment, seeds: Sequence[int] = (0,)) -> Score:
    """Simulate the experiment under each seed and average."""
    profiled = with_profile(e)
    scores = [_score(replace(profiled, seed=seed)) for seed in seeds]
    return Score(*(sum(values) / len(scores) for values in zip(*scores, strict=True)))


def _score(e: Experiment) -> tuple[float, float, float, float]:
    trace = simulate(e)
    latencies, spent = distribution(trace), workers(trace)
    seconds = spent.seconds if spent else 0.0
    count = float(rescales(trace).count)
    if latencies is None:
        return 0.0, seconds, 0.0, count
    return latencies.share_above(e.slo), seconds, latencies.percentile(0.95), count
