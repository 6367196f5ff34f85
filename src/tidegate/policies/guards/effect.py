"""No further scale-up if the last one did not help: more executors will not help either."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held


@dataclass(frozen=True, slots=True)
class Steady:
    """The executors and the rate before a scale-up. The rate is None if there was no backlog to work on."""

    executors: int
    requested: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """A scale-up that is not judged yet. `arrived` and `backlog` are set when all its executors have registered."""

    before: int
    after: int
    rate: float
    arrived: float | None = None
    backlog: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A scale-up that did not help. Gains are relative to the rate before it."""

    time: float
    before: int
    after: int
    gained: float
    expected: float


@dataclass(slots=True)
class Effect:
    """No scale-up for `hold` seconds after one that did not help (Flink's operator: effectiveness below 0.1).

    A scale-up is judged `after` seconds, but at least two batches, after its executors have registered. Its gain in
    processing rate must be at least `threshold` of the gain that would be proportional to executors. It is judged only
    while the backlog grows, because only then does the query run at full capacity, and only if all figures are known. A
    scale-up that follows one not judged yet is judged together with it. If the query is later scaled in to fewer
    executors than before the unhelpful scale-up, scaling up is allowed again.

    >>> guard, busy = Effect(), Decision(8, "busy")
    >>> for time, n, backlog in [(0, 2, 500), (15, 4, 900), (45, 4, 1500)]:
    ...     decision = guard.temper(busy, Observation(time, n, n, processing_rate=100 + n / 4, backlog=backlog))
    >>> decision.reason.partition("did not help: ")[2]
    '2 -> 4 gave +0 % where +100 % was expected; is the sink the bottleneck? No more for another 600 s'
    """

    threshold: float = 0.1
    hold: float = 600.0
    after: float = 30.0
    name: str = "effect"
    _time: float | None = field(default=None, repr=False)
    _steady: Steady | None = field(default=None, repr=False)
    _trial: ScaleUp | None = field(default=None, repr=False)
    _verdict: Verdict | None = field(default=None, repr=False)

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if obs.time != self._time:
            self._learn(obs)
        verdict = self._verdict
        if verdict is None or wish.executors <= obs.requested or obs.requested < verdict.before:
            return wish
        gains = f"gave {verdict.gained:+.0%} where {verdict.expected:+.0%} was expected"
        left = verdict.time + self.hold - obs.time
        remark = f"is the sink the bottleneck? No more for another {left:.0f} s"
        effect = f"{verdict.before} -> {verdict.after} {gains}; {remark}".replace("%", " %")
        return held(wish, obs, f"but adding executors did not help: {effect}")

    def _learn(self, obs: Observation) -> None:
        if self._time is not None and obs.time < self._time:
            self._steady = self._trial = self._verdict = None  # the clock went back, so their age is unknown
        if self._verdict and obs.time - self._verdict.time >= self.hold:
            self._verdict = None
        self._trial = self._followed(self._begun(obs), obs)
        if self._trial and self._due(self._trial, obs):
            self._verdict = _judge(self._trial, obs, self.threshold) or self._verdict
            self._trial = None
        rate = obs.processing_rate if obs.backlog else None
        self._steady, self._time = Steady(obs.executors, obs.requested, rate), obs.time

    def _due(self, scale_up: ScaleUp, obs: Observation) -> bool:
        # figures are those of finished batches, and the batch that was running when the executors came did not use
        # them: the second batch is the first that shows the effect
        cycle = max(obs.batch_duration or 0.0, obs.trigger or 0.0)
        return scale_up.arrived is not None and obs.time - scale_up.arrived >= max(self.after, 2 * cycle)

    def _begun(self, obs: Observation) -> ScaleUp | None:
        """The scale-up to judge: a new one, one that was extended, or the same as before; none after a scale-in."""
        last, scale_up = self._steady, self._trial
        if last is None or obs.requested == last.requested:
            return scale_up
        if obs.requested < last.requested:
            return None
        if scale_up is not None:
            return replace(scale_up, after=obs.requested, arrived=None, backlog=None)
        if not last.rate or not 0 < last.executors < obs.requested:
            return None
        return ScaleUp(last.executors, obs.requested, last.rate)

    def _followed(self, scale_up: ScaleUp | None, obs: Observation) -> ScaleUp | None:
        if scale_up is None or (scale_up.arrived is None and obs.executors < scale_up.after):
            return scale_up
        if obs.executors < scale_up.after:
            return None  # executors were lost, so the figures no longer show the effect of the scale-up
        if scale_up.arrived is None:
            return replace(scale_up, arrived=obs.time, backlog=obs.backlog)
        return scale_up


def _judge(scale_up: ScaleUp, obs: Observation, threshold: float) -> Verdict | None:
    """None if the scale-up helped, or if that cannot be determined."""
    if obs.processing_rate is None or obs.backlog is None or scale_up.backlog is None or scale_up.arrived is None:
        return None
    slower = obs.arrival_rate is None or obs.arrival_rate > obs.processing_rate
    if not (slower and obs.backlog > scale_up.backlog):
        return None
    gained, expected = obs.processing_rate / scale_up.rate - 1, scale_up.after / scale_up.before - 1
    if gained >= threshold * expected:
        return None
    return Verdict(obs.time, scale_up.before, scale_up.after, gained, expected)
