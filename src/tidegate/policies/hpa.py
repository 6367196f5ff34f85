"""`hpa-cpu`: the Kubernetes horizontal pod autoscaler on CPU, as the papers use it as their baseline.

    desired = ceil(current * cpu / target)

(Evaluating autoscalers, DEBS'24, 3.1; target 0.7.) Kubernetes leaves the count alone while the ratio is within a
tolerance of 1; the papers' implementation has none (`tolerance=0`). Like Kubernetes, an executor whose CPU is not
known, or that still starts up, counts as idle when the rest ask for more and as saturated when they ask for fewer; if
that turns the answer around, nothing changes. The stabilisation windows are guards (`guards.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tidegate.core import Decision, InvalidInput, Observation, hold
from tidegate.stats import Window


@dataclass(slots=True)
class HpaCpu:
    """CPU is averaged over `window` seconds; executors younger than `readiness` seconds are left out as starting.

    Where an engine has no CPU meter for an executor (one on another machine), the busy share of its slots stands in.
    """

    target: float = 0.7
    tolerance: float = 0.1
    interval: float = 15.0
    window: float = 15.0
    readiness: float = 30.0
    _cpu: dict[str, Window] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.target <= 1:
            raise InvalidInput(f"policy hpa-cpu: need 0 < target <= 1, got {self.target}")
        if not 0 <= self.tolerance < 1:
            raise InvalidInput(f"policy hpa-cpu: need 0 <= tolerance < 1, got {self.tolerance}")
        if not (self.window > 0 and self.readiness >= 0):
            told = f"got {self.window}, {self.readiness}"
            raise InvalidInput(f"policy hpa-cpu: need window > 0 s and readiness >= 0 s, {told}")

    def observe(self, obs: Observation) -> None:
        """Keep the CPU of every executor that is ready; forget the executors that are gone."""
        present = {sample.id for sample in obs.per_executor}
        self._cpu = {id: window for id, window in self._cpu.items() if id in present}
        for sample in obs.per_executor:
            load = sample.cpu if sample.cpu is not None else sample.busy
            if load is not None and (sample.uptime is None or sample.uptime >= self.readiness):
                self._cpu.setdefault(sample.id, Window(self.window)).update(obs.time, load)

    def decide(self, obs: Observation) -> Decision:
        loads = [window.mean for window in self._cpu.values()]
        known = [load for load in loads if load is not None]
        if not known:
            return hold(obs, "no CPU figures of a ready executor yet")
        cpu = sum(known) / len(known)
        ratio = cpu / self.target
        evidence = {"cpu": cpu, "target": self.target, "ready": float(len(known))}
        if abs(ratio - 1) <= self.tolerance:
            return hold(
                obs, f"CPU {cpu:.0%} is within {self.tolerance:.0%} of the target {self.target:.0%}", **evidence
            )
        missing = max(0, obs.requested - len(known))
        if missing:
            ratio = self._with_missing(known, missing, up=ratio > 1)
            if (ratio > 1) != (cpu > self.target) or abs(ratio - 1) <= self.tolerance:
                return hold(obs, f"CPU {cpu:.0%}, but {missing} executors are still starting", **evidence)
        current = len(known) + missing
        wish = max(1, math.ceil(round(current * ratio, 9)))
        return Decision(wish, f"CPU {cpu:.0%}, target {self.target:.0%}: {obs.requested} -> {wish}", evidence)

    def _with_missing(self, known: list[float], missing: int, *, up: bool) -> float:
        assumed = 0.0 if up else max(1.0, self.target)
        return (sum(known) + missing * assumed) / (len(known) + missing) / self.target
