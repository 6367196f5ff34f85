"""Whether an autoscaler works, in one line and as conditions like those of Kubernetes' HorizontalPodAutoscaler.

>>> from tidegate.core import Decision, Observation
>>> health = Health()
>>> wish, limit = Step("hpa-cpu", Decision(9, "busy")), Step("limits", Decision(8, "maximum 8: busy"))
>>> health.take(Tick(Observation(5.0, 8, 8), (wish, limit)))
>>> health.status, [condition.type for condition in health.conditions if condition.status]
('scaling', ['AbleToScale', 'ScalingActive', 'ScalingLimited'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tidegate.core import Step, Tick

#: kinds of events after which the requested number cannot be relied on
UNABLE = frozenset({"ScaleFailed", "ScaleTimeout"})
#: steps that cap a wish, and their reason if they lower it
CAPS = {"limits": "TooManyExecutors", "ceiling": "TooFewPartitions", "quota": "QuotaReached"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One aspect of an autoscaler: `status` says whether `type` holds since `since`, `reason` is CamelCase."""

    type: str
    status: bool
    reason: str
    message: str
    since: float


@dataclass(slots=True)
class Health:
    """Follows the ticks of a run. Parts beside the loop (store, sinks) report with `degrade` and `recover`."""

    active: bool = True
    _conditions: dict[str, Condition] = field(default_factory=dict)
    _degraded: dict[str, str] = field(default_factory=dict)
    _ended: str | None = None

    @property
    def status(self) -> str:
        """`scaling`, `monitoring`, or `holding`, `degraded` or `ended` with the reason after a colon."""
        if self._ended is not None:
            return f"ended: {self._ended}"
        working = self._conditions.get("ScalingActive")
        if working and not working.status and working.reason != "Monitoring":
            return f"holding: {working.message}"
        able = self._conditions.get("AbleToScale")
        reasons = list(self._degraded.values()) + ([able.message] if able and not able.status else [])
        if reasons:
            return f"degraded: {'; '.join(reasons)}"
        return "scaling" if self.active else "monitoring"

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(self._conditions.values())

    def plain(self) -> list[Mapping[str, Any]]:
        """The conditions as JSON values."""
        return [asdict(condition) for condition in self.conditions]

    def take(self, tick: Tick) -> None:
        self._able(tick)
        if tick.steps:
            self._deciding(tick)
            self._limited(tick)

    def degrade(self, part: str, why: str) -> None:
        self._degraded[part] = why

    def recover(self, part: str) -> None:
        self._degraded.pop(part, None)

    def end(self, why: str) -> None:
        self._ended = why

    def _set(self, now: float, type: str, status: bool, reason: str, message: str) -> None:
        before = self._conditions.get(type)
        since = before.since if before and before.status == status else now
        self._conditions[type] = Condition(type, status, reason, message, since)

    def _able(self, tick: Tick) -> None:
        obs = tick.observation
        failures = [event for event in obs.events if event.kind in UNABLE]
        before = self._conditions.get("AbleToScale")
        if failures:
            self._set(obs.time, "AbleToScale", False, failures[-1].kind, failures[-1].message)
        elif obs.held:
            self._set(obs.time, "AbleToScale", False, "ForeignChange", obs.held)
        elif before is None or before.status or _recovered(tick, before):
            self._set(obs.time, "AbleToScale", True, "ReadyForNewScale", "executors can be requested and released")

    def _deciding(self, tick: Tick) -> None:
        now, failed = tick.observation.time, next((step for step in tick.steps if step.error), None)
        fallback = next((step for step in tick.steps if step.by == "fallback"), None)
        if fallback:
            self._set(now, "ScalingActive", False, "Fallback", fallback.decision.reason)
        elif failed:
            self._set(now, "ScalingActive", False, "DecisionFailed", failed.decision.reason.removeprefix("hold: "))
        elif any(step.by == "pause" for step in tick.steps):
            self._set(now, "ScalingActive", False, "Paused", tick.steps[-1].decision.reason.removeprefix("hold: "))
        elif not self.active:
            self._set(now, "ScalingActive", False, "Monitoring", "in monitor mode decisions are not carried out")
        else:
            self._set(now, "ScalingActive", True, "Deciding", tick.steps[-1].decision.reason)

    def _limited(self, tick: Tick) -> None:
        cap = next((step for step in reversed(tick.steps) if step.by in CAPS), None)
        now = tick.observation.time
        if cap is None:
            self._set(now, "ScalingLimited", False, "DesiredWithinRange", "the wish is within all limits")
        else:
            raised = _raises(cap, tick.steps)
            self._set(now, "ScalingLimited", True, "TooFewExecutors" if raised else CAPS[cap.by], cap.decision.reason)


def _raises(cap: Step, steps: Sequence[Step]) -> bool:
    before = steps[steps.index(cap) - 1]
    return before.decision.executors < cap.decision.executors


def _recovered(tick: Tick, failed: Condition) -> bool:
    """A failed request is over when it is met, or when another one was accepted."""
    obs = tick.observation
    if failed.reason == "ForeignChange":
        return not obs.held
    return obs.executors == obs.requested or tick.acted
