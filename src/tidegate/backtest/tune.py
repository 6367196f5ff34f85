"""Search a policy's settings for an objective: the fewest worker-seconds with no more late records than allowed.

From where the policy is set now: candidates drawn from within a factor of four, then rounds of smaller changes around
the best so far; then changes that are not worth anything are undone one after another. Draws are seeded, and depend on
results only through whole rounds, so the same search finds the same settings on any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from tidegate.backtest.recommendation import order
from tidegate.backtest.search_space import REACH, Knob, knobs, turned
from tidegate.compare.pool import Pool
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import simulate
from tidegate.profiling.profile import with_profile
from tidegate.score.figures import rescales, workers
from tidegate.score.latency import LatencyDistribution

TRIALS = 60
#: of the trials, the share drawn from the whole range, and that kept for undoing; how far the rounds between reach
WIDE, UNDOING, ROUNDS = 0.45, 0.15, (2.0, 1.5, 1.25)
#: share of the worker-seconds that a change must save to be worth it
WORTH = 0.005
#: draws until a candidate is new and one that the policy admits
DRAWS = 50

Settings = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Score:
    """What settings have led to: share of late records, worker-seconds, latency, rescales; means over seeds."""

    late: float
    seconds: float
    p95: float
    rescales: float


@dataclass(frozen=True, slots=True)
class Tried:
    settings: Settings
    score: Score


@dataclass(frozen=True, slots=True)
class Found:
    """The settings of the start, the best, and how many were tried. `options` are only what differs from the start."""

    start: Tried | None
    best: Tried | None
    options: Settings
    trials: int
    interrupted: bool = False


#: scores of candidates by their place in the list, handed on as they are known
Measure = Callable[[Sequence[Settings], Callable[[Mapping[int, Score]], None]], None]


@dataclass(frozen=True, slots=True)
class Aim:
    allowed: float = 0.01
    trials: int = TRIALS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """How trials are made; `watch` is told how many there are."""

    seeds: Sequence[int] = (0,)
    processes: int = 1
    watch: Callable[[int], None] = lambda done: None


def search(found: Sequence[Knob], measure: Measure, aim: Aim, admits: Callable[[Settings], bool]) -> Found:
    """The best of so many trials; an interrupt ends it with the best so far."""
    made = _Search(found, measure, aim, admits)
    interrupted = False
    try:
        made.look()
        made.undo()
    except KeyboardInterrupt:
        interrupted = True
    first = next((one for one in made.tried if one.settings == made.start), None)
    return Found(first, made.best, made.changes(made.best), len(made.tried), interrupted)


class _Search:
    def __init__(self, found: Sequence[Knob], measure: Measure, aim: Aim, admits: Callable[[Settings], bool]) -> None:
        self._knobs, self._measure, self._aim, self._admits = found, measure, aim, admits
        self._random = Random(aim.seed)
        self.start: Settings = {knob.name: knob.start for knob in found}
        self.tried: list[Tried] = []
        self.best: Tried | None = None

    def look(self) -> None:
        self._batch([self.start])
        for count, reach in _rounds(self._aim.trials - 1):
            now = self.start if reach == REACH or self.best is None else self.best.settings
            self._batch(self._candidates(count, now, reach))

    def undo(self) -> None:
        """Settings that do nothing only confuse: undo each alone, then at once all that were not missed."""
        while self.best is not None and self._left():
            now = self.best
            alone = self._undone(now, [{name: self.start[name]} for name in self.changes(now)])
            if not alone:
                return
            needless = [name for one in alone for name in now.settings if one.settings[name] != now.settings[name]]
            together = self._undone(now, [{name: self.start[name] for name in needless}])
            self.best = min(together or alone, key=self._order)

    def _undone(self, now: Tried, changes: Sequence[Settings]) -> list[Tried]:
        """Those that are as good as now."""
        before = len(self.tried)
        self._batch([one for change in changes if self._new(one := {**now.settings, **change})][: self._left()])
        return [one for one in self.tried[before:] if self._as_good(one.score, now.score)]

    def _left(self) -> int:
        return self._aim.trials - len(self.tried)

    def changes(self, one: Tried | None) -> Settings:
        settings = one.settings if one else {}
        return {name: value for name, value in settings.items() if value != self.start[name]}

    def _batch(self, candidates: Sequence[Settings]) -> None:
        known: dict[int, Score] = {}
        try:
            if candidates:
                self._measure(candidates, known.update)
        finally:
            new = [Tried(candidates[k], known[k]) for k in sorted(known)]
            self.tried += new
            self.best = min([*([self.best] if self.best else []), *new], key=self._order, default=None)

    def _order(self, one: Tried) -> tuple[bool, float, float]:
        return order(one.score.late, one.score.seconds, self._aim.allowed)

    def _as_good(self, one: Score, other: Score) -> bool:
        return one.late <= max(self._aim.allowed, other.late) and one.seconds <= other.seconds * (1 + WORTH)

    def _new(self, settings: Settings) -> bool:
        return all(one.settings != settings for one in self.tried) and self._admits(settings)

    def _candidates(self, count: int, now: Settings, reach: float) -> list[Settings]:
        """So many that are new and admitted; fewer where there are no more to be found."""
        made: list[Settings] = []
        for _ in range(count * DRAWS):
            if len(made) == count:
                break
            one = turned(self._knobs, now, reach, self._random)
            if one not in made and self._new(one):
                made.append(one)
        return made


def _rounds(trials: int) -> Iterator[tuple[int, float]]:
    """How many candidates, and how far from the best they may be.

    >>> list(_rounds(59))
    [(26, 4.0), (8, 2.0), (8, 1.5), (8, 1.25)]
    """
    wide = int(trials * WIDE)
    yield wide, REACH
    for reach in ROUNDS:
        yield int((trials - wide - trials * UNDOING) / len(ROUNDS)), reach


def tune(e: Experiment, aim: Aim, means: Means) -> Found:
    """Search the settings of an experiment's policy by simulating it."""
    found = knobs(e.policy, e.options)
    if not found:
        raise InvalidInput(f"policy {e.policy} has no settings to search for")
    ready = with_profile(e)  # once, before processes are forked

    def made(settings: Settings) -> Experiment:
        changed = {knob.name: settings[knob.name] for knob in found if settings[knob.name] != knob.start}
        return replace(ready, options={**ready.options, **changed})

    def admits(settings: Settings) -> bool:
        try:
            made(settings)
        except InvalidInput:
            return False
        return True

    done = 0

    def measure(candidates: Sequence[Settings], keep: Callable[[Mapping[int, Score]], None]) -> None:
        def count(scores: Mapping[int, Score]) -> None:
            nonlocal done
            done += len(scores)
            keep(scores)
            means.watch(done)

        _measure([made(one) for one in candidates], count, means)

    return search(found, measure, aim, admits)


def _measure(runs: Sequence[Experiment], keep: Callable[[Mapping[int, Score]], None], means: Means) -> None:
    parts, do = list(enumerate(runs)), partial(_scored, seeds=means.seeds)
    if means.processes > 1 and len(parts) > 1:
        pool: Pool[tuple[int, Experiment], tuple[int, Score]] = Pool(min(means.processes, len(parts)), do)
        pool.run(parts, lambda results: keep(dict(results)))
        return
    for part in parts:
        keep(dict(do(part)))


def _scored(part: tuple[int, Experiment], seeds: Sequence[int]) -> list[tuple[int, Score]]:
    place, e = part
    return [(place, score(e, seeds))]


def score(e: Experiment, seeds: Sequence[int] = (0,)) -> Score:
    """Simulate it under each seed."""
    found = [_score(replace(e, seed=seed)) for seed in seeds]
    return Score(*(sum(values) / len(found) for values in zip(*found, strict=True)))


def _score(e: Experiment) -> tuple[float, float, float, float]:
    trial = simulate(e)
    ages, spent = LatencyDistribution.of(trial), workers(trial)
    seconds = spent["seconds"] if spent else 0.0
    count = float(rescales(trial)["count"])
    if not len(ages.counts):
        return 0.0, seconds, 0.0, count
    return ages.share_above(e.slo), seconds, ages.percentile(0.95), count
