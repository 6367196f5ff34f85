"""StreamBed's resource explorer (DEBS'24, section 6): which configuration to measure next, and when to stop.

The corners of the space come first. After them, Bayesian optimisation looks for the configuration that most reduces the
error of the best model: the smallest leave-one-out error among the candidates, learnt from all measurements so far. It
stops, with at least 3 measurements beyond the corners, when that error has risen by more than 10 % between two
measurements, or after 20. Two rules of the released code are parameters: it never stops before 20 (`worse`), and its
error is the mean absolute one (`error`). It also tells its optimiser an error of 0 for each of the corners. Here they
get the error after the last of them.

An exploration is a value: what it asks next is a function of its space, its rules and its probes. So it can be stored
at any time (`Exploration.probes` are plain numbers and text), and goes on with the same question. A probe that failed
has cost its minutes, and its configuration is not asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidegate.core import InvalidInput, check, parameter
from tidegate.planner.candidate import Candidate
from tidegate.planner.least_squares import PAPER
from tidegate.planner.measurement import Array, Measurement
from tidegate.planner.selection import ERRORS, loo_error
from tidegate.planner.space import Configuration, Space
from tidegate.planner.surrogate import expected_improvement
from tidegate.units import share

#: a model of slots and memory with an intercept has three coefficients; its error needs one measurement more
LEAST = 4
#: share of the largest rate that is no error
NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class ExplorationRules:
    beyond: int = parameter(3, "", "measurements beyond the corners before it may stop", least=0)
    worse: float = parameter(0.10, "share", "increase of the error that stops it", least=0)
    most: int = parameter(20, "", "measurements, corners included", least=1)
    runs: int = parameter(0, "", "budget: probes, failed ones included; 0: no limit", least=0)
    minutes: float = parameter(0.0, "min", "budget: time of all probes; 0: no limit", least=0)
    error: str = parameter("rmse", "", "error of a model", choices=ERRORS)
    seed: int = parameter(0, "", "of the optimiser", least=0)

    def __post_init__(self) -> None:
        check(self, "exploration")


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe and its outcome: a rate, or why there is none. A cached rate took no minutes. `low` and `high` are the
    ends of its 90 % interval where known, `ending` and `limit` why the search ended and what prevented a higher rate.
    """

    slots: int
    memory: float
    rate: float | None
    minutes: float = 0.0
    failure: str = ""
    low: float | None = None
    high: float | None = None
    ending: str = ""
    limit: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.minutes) and self.minutes >= 0):
            raise InvalidInput(f"probe with {self.slots} slots: need finite minutes >= 0, got {self.minutes:g}")
        if (self.rate is None) != bool(self.failure):
            raise InvalidInput(f"probe with {self.slots} slots: need either a rate or a failure, got {self.rate}")
        if self.rate is not None:
            Measurement(self.slots, self.memory, self.rate)

    @property
    def configuration(self) -> Configuration:
        return Configuration(self.slots, self.memory)


@dataclass(frozen=True, slots=True)
class Question:
    """The configuration to measure, and why this one."""

    slots: int
    memory: float
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    reason: str


@dataclass(frozen=True, slots=True)
class Exploration:
    """
    >>> exploration = Exploration(Space.of(slots=[2, 4, 8], memory=[512]))
    >>> exploration.ask()
    Question(slots=2, memory=512, reason='corner 1 of 2')
    >>> exploration = exploration.tell(Probe(2, 512, rate=2_000.0, minutes=3.0))
    >>> exploration = exploration.tell(Probe(8, 512, rate=None, minutes=1.0, failure="out of memory"))
    >>> exploration.ask().slots, exploration.minutes
    (4, 4.0)
    """

    space: Space
    rules: ExplorationRules = ExplorationRules()
    probes: tuple[Probe, ...] = ()
    candidates: tuple[Candidate, ...] = PAPER

    def tell(self, probe: Probe) -> Exploration:
        """Any configuration may be told, not only the one that was asked for."""
        return replace(self, probes=(*self.probes, probe))

    def reuse(self, cached: Sequence[Measurement]) -> Exploration:
        """Answer questions from earlier measurements, each of them once, until one is asked that they do not answer."""
        exploration, left = self, list(cached)
        while isinstance(question := exploration.ask(), Question):
            answer = next((m for m in left if (m.slots, m.memory) == (question.slots, question.memory)), None)
            if answer is None:
                break
            left.remove(answer)
            exploration = exploration.tell(Probe(answer.slots, answer.memory, answer.rate))
        return exploration

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(Measurement(p.slots, p.memory, p.rate) for p in self.probes if p.rate is not None)

    @property
    def minutes(self) -> float:
        """Spent so far."""
        return math.fsum(probe.minutes for probe in self.probes)

    @property
    def errors(self) -> tuple[float, ...]:
        """Of the best model, with the first 4 measurements, the first 5 and so on."""
        measurements = self.measurements
        return tuple(self._error(measurements[:count]) for count in range(LEAST, len(measurements) + 1))

    def ask(self) -> Question | Finished:
        over = self._over()
        if over:
            return Finished(over)
        corners = self.space.corners
        probed = {probe.configuration for probe in self.probes}
        for number, corner in enumerate(corners, 1):
            if corner not in probed:
                return Question(corner.slots, corner.memory, f"corner {number} of {len(corners)}")
        open_to_probe = self._open()
        if not open_to_probe:
            return Finished(f"every configuration failed, the last one with: {self.probes[-1].failure}")
        return self._next(open_to_probe)

    def _over(self) -> str:
        """Why the exploration is over; empty if it is not."""
        rules, measured = self.rules, len(self.measurements)
        if len(self.space) == 1 and measured:
            return "the space has a single configuration, which was measured"
        if measured >= rules.most:
            return f"{measured} measurements were made, the most allowed"
        if rules.runs and len(self.probes) >= rules.runs:
            return f"the budget of {rules.runs} probes is spent"
        if rules.minutes and self.minutes + self._expected_minutes() > rules.minutes:
            return f"{self.minutes:g} of {rules.minutes:g} minutes are spent, and a probe takes longer than the rest"
        errors = self.errors
        enough = len(self.space.corners) + rules.beyond
        # an error of next to nothing is rounding, and does not rise
        nothing = NOTHING * max((m.rate for m in self.measurements), default=0.0)
        if len(errors) > 1 and measured >= enough and errors[-1] > (1 + rules.worse) * errors[-2] + nothing:
            return f"the last measurement raised the error by {share(errors[-1] / max(errors[-2], nothing) - 1)}"
        return ""

    def _expected_minutes(self) -> float:
        """Of the next probe: the shortest that was neither cached nor failed, as a search fits itself to its budget."""
        return min((probe.minutes for probe in self.probes if probe.minutes > 0 and not probe.failure), default=0.0)

    def _open(self) -> list[Configuration]:
        failed = {probe.configuration for probe in self.probes if probe.rate is None}
        return [configuration for configuration in self.space if configuration not in failed]

    def _next(self, candidates: Sequence[Configuration]) -> Question:
        errors = self.errors
        grid = np.array([self.space.position(c) for c in candidates])
        if not errors:
            # no model has an error yet: fill the largest gap
            chosen = candidates[int(np.argmax(_distances(grid, self._positions(self.probes))))]
            return Question(chosen.slots, chosen.memory, "farthest from what was probed")
        measured = [probe for probe in self.probes if probe.rate is not None]
        values = np.array([errors[max(0, k - LEAST + 1)] for k in range(len(measured))])
        # the first measurements count with the error that they gave together
        bootstrap = min(max(LEAST, len(self.space.corners)), len(measured))
        values[:bootstrap] = errors[bootstrap - LEAST]
        improvement = expected_improvement(self._positions(measured), values, grid, self.rules.seed)
        chosen = candidates[int(np.argmax(improvement))]
        repeated = any(probe.configuration == chosen for probe in measured)
        reason = "measured again: uncertain" if repeated else "largest expected improvement"
        return Question(chosen.slots, chosen.memory, reason)

    def _positions(self, probes: Sequence[Probe]) -> Array:
        return np.array([self.space.position(probe.configuration) for probe in probes])

    def _error(self, measurements: Sequence[Measurement]) -> float:
        return min(loo_error(candidate, measurements, self.rules.error) for candidate in self.candidates)


def _distances(grid: Array, points: Array) -> Array:
    """From each point of the grid to the nearest of the points."""
    distances: Array = np.linalg.norm(grid[:, None, :] - points[None, :, :], axis=2).min(axis=1)
    return distances
