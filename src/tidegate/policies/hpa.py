"""`hpa-cpu`: the Kubernetes horizontal pod autoscaler on CPU, the baseline in the papers.

    desired = max(1, ceil(current * cpu / target))

(Evaluating autoscalers, DEBS'24, 4.3, equation (4); target 0.7.) If the engine isolates operators, the rule applies to
each operator, as in the paper. On Spark, where stages share the executors, it applies to the executors. Kubernetes
makes no change while the ratio is within a tolerance of 1; the papers' implementation has no tolerance (`tolerance=0`).
As in Kubernetes, an executor that is starting up or whose CPU is unknown counts as idle when the others call for a
scale-out, and as saturated when they call for a scale-in. If that reverses the direction, nothing changes. The
stabilisation window, whose highest recommendation counts, is a guard (`guards`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, ExecutorSample, Observation, check, hold, parameter
from tidegate.policies.entry import KUBERNETES, Entry
from tidegate.policies.operators import Operator, decision, operators, whole
from tidegate.stats import Means


@dataclass(slots=True)
class HpaCpu:
    """CPU is averaged over `window` seconds. Executors younger than `readiness` seconds count as starting up.

    For an executor without a CPU meter, such as one on another machine, the busy share of its slots is used instead.
    An operator without figures keeps its parallelism, because missing data is no reason to scale in.

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
    readiness: float = parameter(30.0, "s", "age below which an executor is starting up", least=0)
    #: by executor, or by operator if operators are isolated
    _cpu: Means = field(default_factory=Means, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy hpa-cpu")

    def observe(self, obs: Observation) -> None:
        """Record the CPU of all that are ready, and forget those that have gone."""
        if obs.isolated:
            loads = {operator.name: {"cpu": operator.cpu} for operator in operators(obs)}
        else:
            loads = {executor.id: {"cpu": self._load(executor)} for executor in obs.per_executor}
        self._cpu.update(obs.time, self.window, loads)

    def _load(self, executor: ExecutorSample) -> float | None:
        ready = not executor.stalled and (executor.uptime is None or executor.uptime >= self.readiness)
        return (executor.cpu if executor.cpu is not None else executor.busy) if ready else None

    def decide(self, obs: Observation) -> Decision:
        return self._per_operator(obs) if obs.isolated else self._per_job(obs)

    def _per_operator(self, obs: Observation) -> Decision:
        needs, changes = {}, []
        evidence = {"target": self.target}
        for operator in operators(obs):
            name, cpu = operator.name, self._cpu.of(operator.name, "cpu")
            needs[name] = self._need(operator, cpu)
            if cpu is not None:
                evidence[f"cpu {name}"] = cpu
                changes.append(f"{name} {cpu:.0%}, {operator.slots:.0f} -> {whole(needs[name])}")
        if not changes:
            return hold(obs, "no CPU figures of an operator yet")
        return decision(obs, needs, f"CPU, target {self.target:.0%}: {'; '.join(changes)}", evidence)

    def _need(self, operator: Operator, cpu: float | None) -> float:
        if cpu is None or abs(cpu / self.target - 1) <= self.tolerance:
            return operator.slots
        return operator.slots * cpu / self.target

    def _per_job(self, obs: Observation) -> Decision:
        loads = self._cpu.values("cpu")
        if not loads:
            return hold(obs, "no CPU figures of a ready executor yet")
        cpu = sum(loads) / len(loads)
        evidence = {"cpu": cpu, "target": self.target, "ready": float(len(loads))}
        if abs(cpu / self.target - 1) <= self.tolerance:
            reason = f"CPU {cpu:.0%} is within {self.tolerance:.0%} of the target {self.target:.0%}"
            return hold(obs, reason, **evidence)
        missing = max(0, obs.requested - len(loads))
        ratio = self._ratio(loads, missing, up=cpu > self.target)
        if missing and ((ratio > 1) != (cpu > self.target) or abs(ratio - 1) <= self.tolerance):
            return hold(obs, f"CPU {cpu:.0%}, but {missing} executors are still starting", **evidence)
        wish = whole((len(loads) + missing) * ratio)
        return Decision(wish, f"CPU {cpu:.0%}, target {self.target:.0%}: {obs.requested} -> {wish}", evidence)

    def _ratio(self, loads: list[float], missing: int, *, up: bool) -> float:
        """CPU over target, with executors without figures counted as idle (`up`) or saturated."""
        assumed = 0.0 if up else max(1.0, self.target)
        return (sum(loads) + missing * assumed) / (len(loads) + missing) / self.target


NAMES = {
    "hpa-cpu": Entry(
        "ceil(current x CPU / target), down after a window", "Kubernetes; DEBS'24 4.3", HpaCpu, KUBERNETES
    ),
    "flink-reactive": Entry(
        "Kubernetes' rule at 35 % CPU, the advice for Flink's reactive mode",
        "ICWS'22 IV-C",
        HpaCpu,
        {**KUBERNETES, "target": 0.35},
    ),
}
