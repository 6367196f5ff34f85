"""`hpa-cpu`: the Kubernetes horizontal pod autoscaler on CPU, as the papers use it as their baseline.

    desired = max(1, ceil(current * cpu / target))

(Evaluating autoscalers, DEBS'24, 4.3, equation (4); target 0.7.) Where the engine isolates operators the rule holds for
each operator, as in the paper; on Spark, whose stages share the executors, for the executors. Kubernetes leaves the
count alone while the ratio is within a tolerance of 1; the papers' implementation has none (`tolerance=0`). Like
Kubernetes, an executor whose CPU is not known, or that still starts up, counts as idle when the rest ask for more and
as saturated when they ask for fewer; if that turns the answer around, nothing changes. The window whose highest
recommendation counts is a guard (`guards`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, ExecutorSample, Observation, check, hold, parameter
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class HpaCpu:
    """CPU is averaged over `window` seconds; executors younger than `readiness` seconds are left out as starting.

    Where an engine has no CPU meter for an executor (one on another machine), the busy share of its slots stands in.
    An operator without figures keeps its parallelism: nothing seen is no reason to shrink.

    >>> from tidegate.core import OperatorSample
    >>> window = OperatorSample("window", parallelism=4, cpu=3.6)  # 90 % of each: ceil(4 * 0.9 / 0.7) = ceil(5.14)
    >>> obs = Observation(0, 4, 4, operators=(window,), isolated=True)
    >>> policy = HpaCpu()
    >>> policy.observe(obs)
    >>> policy.decide(obs).reason
    'CPU, target 70%: window 90%, 4 -> 6'
    """

    target: float = parameter(0.7, "share", "CPU to aim at", above=0, most=1)
    tolerance: float = parameter(0.1, "share", "how far cpu/target may be from 1 without a change", least=0, most=1)
    interval: float = parameter(15.0, "s", "time between decisions", above=0)
    window: float = parameter(15.0, "s", "span over which CPU is averaged", above=0)
    readiness: float = parameter(30.0, "s", "age below which an executor still starts up", least=0)
    #: by executor, or by operator where these are isolated
    _cpu: Means = field(default_factory=Means, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy hpa-cpu")

    def observe(self, obs: Observation) -> None:
        """Keep the CPU of all that are ready; forget those that are gone."""
        if obs.isolated:
            loads = {one.name: {"cpu": one.cpu} for one in operators(obs)}
        else:
            loads = {sample.id: {"cpu": self._load(sample)} for sample in obs.per_executor}
        self._cpu.update(obs.time, self.window, loads)

    def _load(self, sample: ExecutorSample) -> float | None:
        ready = sample.uptime is None or sample.uptime >= self.readiness
        return (sample.cpu if sample.cpu is not None else sample.busy) if ready else None

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._per_job(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        needs, told = {}, []
        evidence = {"target": self.target}
        for one in operators(obs):
            cpu = self._cpu.of(one.name, "cpu")
            needs[one.name] = self._need(one, cpu)
            if cpu is not None:
                evidence[f"cpu {one.name}"] = cpu
                told.append(f"{one.name} {cpu:.0%}, {one.slots:.0f} -> {whole(needs[one.name])}")
        if not told:
            return hold(obs, "no CPU figures of an operator yet")
        return decision(obs, needs, f"CPU, target {self.target:.0%}: {'; '.join(told)}", evidence)

    def _need(self, one: Operator, cpu: float | None) -> float:
        if cpu is None or abs(cpu / self.target - 1) <= self.tolerance:
            return one.slots
        return one.slots * cpu / self.target

    def _per_job(self, obs: Observation) -> Decision:
        known = self._cpu.known("cpu")
        if not known:
            return hold(obs, "no CPU figures of a ready executor yet")
        cpu = sum(known) / len(known)
        evidence = {"cpu": cpu, "target": self.target, "ready": float(len(known))}
        if abs(cpu / self.target - 1) <= self.tolerance:
            told = f"CPU {cpu:.0%} is within {self.tolerance:.0%} of the target {self.target:.0%}"
            return hold(obs, told, **evidence)
        missing = max(0, obs.requested - len(known))
        ratio = self._ratio(known, missing, up=cpu > self.target)
        if missing and ((ratio > 1) != (cpu > self.target) or abs(ratio - 1) <= self.tolerance):
            return hold(obs, f"CPU {cpu:.0%}, but {missing} executors are still starting", **evidence)
        wish = whole((len(known) + missing) * ratio)
        return Decision(wish, f"CPU {cpu:.0%}, target {self.target:.0%}: {obs.requested} -> {wish}", evidence)

    def _ratio(self, known: list[float], missing: int, *, up: bool) -> float:
        assumed = 0.0 if up else max(1.0, self.target)
        return (sum(known) + missing * assumed) / (len(known) + missing) / self.target
