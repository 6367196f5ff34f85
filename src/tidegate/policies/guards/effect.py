"""Whether the last scale-up helped: where it did not, more executors will not either."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held


@dataclass(frozen=True, slots=True)
class Steady:
    """What ran before a scale-up, and how fast; rate None where there was no backlog to work on."""

    executors: int
    requested: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A scale-up whose effect is awaited; `arrived` and `backlog` are of the moment when its executors were there."""

    before: int
    after: int
    rate: float
    arrived: float | None = None
    backlog: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A scale-up that did not help; gains are shares of the rate before it."""

    time: float
    before: int
    after: int
    gained: float
    expected: float


@dataclass(slots=True)
class Effect:
    """No more executors for `hold` seconds after some did not help (Flink's operator: effectiveness below 0.1).

    A scale-up is judged `after` seconds, and two batches, after its executors came: its gain in processing rate, as a
    share of the gain in proportion to executors, must be at least `threshold`. Only while the backlog grows, since only
    then is the rate all that they can do; and where a number is unknown there is no judgement. A scale-up on top of one
    that is not judged yet makes both one. Fewer than those that sufficed may always be made up for.

    >>> guard, busy = Effect(), Decision(8, "busy")
    >>> for time, n, backlog in [(0, 2, 500), (15, 4, 900), (45, 4, 1500)]:
    ...     told = guard.temper(busy, Observation(time, n, n, processing_rate=100 + n / 4, backlog=backlog))
    >>> told.reason.partition("did not help: ")[2]
    '2 -> 4 gave +0 % where +100 % was expected; is the sink the bottleneck? No more for another 600 s'
    """

    threshold: float = 0.1
    hold: float = 600.0
    after: float = 30.0
    name: str = "effect"
    _time: float | None = field(default=None, repr=False)
    _steady: Steady | None = field(default=None, repr=False)
    _trial: RunTrace | None = field(default=None, repr=False)
    _verdict: Verdict | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if obs.time != self._time:
            self._learn(obs)
        found = self._verdict
        if found is None or wish.executors <= obs.requested or obs.requested < found.before:
            return wish
        gain = f"{found.before} -> {found.after} gave {found.gained:+.0%} where {found.expected:+.0%} was expected"
        left = found.time + self.hold - obs.time
        told = f"{gain}; is the sink the bottleneck? No more for another {left:.0f} s".replace("%", " %")
        return held(wish, obs, f"but adding executors did not help: {told}")

    def _learn(self, obs: Observation) -> None:
        if self._time is not None and obs.time < self._time:
            self._steady = self._trial = self._verdict = None  # the clock went back: no telling how old they are
        if self._verdict and obs.time - self._verdict.time >= self.hold:
            self._verdict = None
        self._trial = self._followed(self._begun(obs), obs)
        if self._trial and self._due(self._trial, obs):
            self._verdict = _judged(self._trial, obs, self.threshold) or self._verdict
            self._trial = None
        rate = obs.processing_rate if obs.backlog else None
        self._steady, self._time = Steady(obs.executors, obs.requested, rate), obs.time

    def _due(self, trial: RunTrace, obs: Observation) -> bool:
        # the batch that ran when they came was not theirs, and figures are of finished batches: the second one counts
        cycle = max(obs.batch_duration or 0.0, obs.trigger or 0.0)
        return trial.arrived is not None and obs.time - trial.arrived >= max(self.after, 2 * cycle)

    def _begun(self, obs: Observation) -> RunTrace | None:
        """The trial that there is now: a new one, a longer one, the one there was; after a scale-in, none."""
        last, trial = self._steady, self._trial
        if last is None or obs.requested == last.requested:
            return trial
        if obs.requested < last.requested:
            return None
        if trial is not None:
            return replace(trial, after=obs.requested, arrived=None, backlog=None)
        if not last.rate or not 0 < last.executors < obs.requested:
            return None
        return RunTrace(last.executors, obs.requested, last.rate)

    def _followed(self, trial: RunTrace | None, obs: Observation) -> RunTrace | None:
        if trial is None or (trial.arrived is None and obs.executors < trial.after):
            return trial
        if obs.executors < trial.after:
            return None  # some were lost: what is measured now is not their effect
        if trial.arrived is None:
            return replace(trial, arrived=obs.time, backlog=obs.backlog)
        return trial


def _judged(trial: RunTrace, obs: Observation, threshold: float) -> Verdict | None:
    """None where it helped, or where that cannot be told."""
    if obs.processing_rate is None or obs.backlog is None or trial.backlog is None or trial.arrived is None:
        return None
    slower = obs.arrival_rate is None or obs.arrival_rate > obs.processing_rate
    if not (slower and obs.backlog > trial.backlog):
        return None
    gained, expected = obs.processing_rate / trial.rate - 1, trial.after / trial.before - 1
    if gained >= threshold * expected:
        return None
    return Verdict(obs.time, trial.before, trial.after, gained, expected)
