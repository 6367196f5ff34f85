"""What acts on a query does not scale in while its records are late, whatever its figures say.

The policies see a query that waits for its sink: a third of the CPU, of the busy time and of the running tasks that it
would otherwise have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tidegate.control import Autoscaler
from tidegate.control import ticks as ticks_of
from tidegate.core import Decision, Limits, Observation, Step, Tick
from tidegate.presets import PRESETS, autoscaler
from tidegate.score import Cumulative
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.workloads import Shape, Steps

LIMITS, SLO, TRIGGER, SEEN = Limits(1, 8), 30.0, 10.0, 0.33
#: an executor does 10,000 records/s, less a half second of every batch
MODEL = BatchModel("simulated", fixed=0.5, overhead=0.0, cost=1e-4, tasks=24, startup=8.0, leave=0.0, cold=3.0)
#: more than three executors can do, with a backlog from the start; a load that falls; a spike
LOADS: Mapping[str, Shape] = {
    "overload": Steps(900, levels=(150_000, *[38_000] * 29)),
    "fall": Steps(900, levels=(150_000, *[25_000] * 19, *[5_000] * 10)),
    "spike": Steps(900, levels=(15_000, 15_000, 70_000, 5_000, 5_000, 5_000)),
}
PROFILE = "executors,rate,latency,saturated\n2,9000,12,0\n2,19000,60,1\n4,18000,12,0\n4,38000,60,1\n8,76000,60,1\n"
#: decisions come soon and often, so that there are many
SOON: Mapping[str, float | str] = {
    "interval": "10s",
    "down-window": "15s",
    "cooldown-up": 0,
    "cooldown-down": 0,
    "window": "10s",
}


@dataclass(slots=True)
class Waiting(Autoscaler):
    """Takes what waits for a sink to be idle."""

    def observe(self, obs: Observation) -> None:
        Autoscaler.observe(self, seen(obs))

    def decide(self, obs: Observation) -> tuple[Step, ...]:
        return Autoscaler.decide(self, seen(obs))


@dataclass
class Nervous:
    """A user's own policy that always wants one executor fewer."""

    interval: float = 10.0

    def observe(self, obs: Observation) -> None:
        pass

    def decide(self, obs: Observation) -> Decision:
        return Decision(max(1, obs.requested - 1), "fewer is cheaper")


def seen(obs: Observation) -> Observation:
    executors = tuple(
        replace(e, cpu=_less(e.cpu), busy=_less(e.busy), tasks=None if e.tasks is None else int(SEEN * e.tasks))
        for e in obs.per_executor
    )
    operators = tuple(replace(o, busy=_less(o.busy), cpu=_less(o.cpu)) for o in obs.operators)
    return replace(obs, per_executor=executors, operators=operators)


def _less(value: float | None) -> float | None:
    return None if value is None else SEEN * value


def run(made: Autoscaler, load: str) -> list[Tick]:
    arrivals = Cumulative.of(LOADS[load])
    engine = MicroBatchEngine(MODEL, Query(TRIGGER, 800_000), arrivals, 3, seed=1)
    scaler = Waiting(made.policy, made.limits, made.guards, made.name)
    return list(ticks_of(engine, scaler, engine, period=10.0))


def late(obs: Observation) -> bool:
    """Whether the last batch was late, or what waits will be; or nothing is known of either."""
    if obs.latency is None or obs.backlog is None or obs.arrival_rate is None:
        return True
    return obs.latency > SLO or obs.backlog > SLO * obs.arrival_rate


def scaled_in(ticks: list[Tick]) -> list[Observation]:
    """What was observed when executors were given back."""
    acted = [(tick.observation, tick.decision) for tick in ticks if tick.acted]
    return [obs for obs, decision in acted if decision and decision.executors < obs.requested]


def options(name: str, folder: Path) -> dict[str, float | str]:
    known = {**PRESETS[name].own, **PRESETS[name].guards}
    (folder / "job.csv").write_text(PROFILE)
    chosen: dict[str, float | str] = {**SOON, "profile": str(folder / "job.csv"), "forecaster": "last"}
    return {key: value for key, value in chosen.items() if key in known}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"static"}))
def test_no_policy_scales_in_while_late(name: str, load: str, tmp_path: Path) -> None:
    ticks = run(autoscaler(name, LIMITS, options(name, tmp_path), slo=SLO), load)
    assert not any(late(obs) for obs in scaled_in(ticks))


def test_hpa_keeps_its_executors_though_cpu_says_they_idle(tmp_path: Path) -> None:
    """As published it went 3 -> 2 -> 1 while the backlog grew."""
    chosen = options("hpa-cpu", tmp_path)
    before, after = (run(autoscaler("hpa-cpu", LIMITS, chosen, slo=slo), "overload") for slo in (None, SLO))
    assert any(late(obs) for obs in scaled_in(before))
    assert before[-1].observation.requested == 1
    assert {tick.observation.requested for tick in after} == {3}
    assert {"late", "catching-up"} <= {step.by for tick in after for step in tick.steps}


def test_a_policy_of_one_s_own_is_kept_from_it_too() -> None:
    ticks = run(autoscaler(Nervous(), LIMITS, slo=SLO), "fall")
    assert not any(late(obs) for obs in scaled_in(ticks))
    assert scaled_in(ticks)  # once it has caught up
    assert any(late(obs) for obs in scaled_in(run(autoscaler(Nervous(), LIMITS), "fall")))
