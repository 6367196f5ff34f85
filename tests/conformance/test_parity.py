"""The same decision on the same observation: live, replayed and simulated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.core import Limits, Observation, Step, Tick
from tidegate.experiment import Experiment
from tidegate.presets import autoscaler
from tidegate.runner import run
from tidegate.runner.replay import replay
from tidegate.sim.batch_model import bundled
from tidegate.store import Store, observation, steps

#: ticks of a run on real Spark: NEXMark q1 under a cosine, hpa-cpu, 3 and 4 executors with a quelled CPU
LIVE = Path(__file__).parent.parent / "recorded" / "decisions_q1.jsonl.gz"


def live() -> tuple[dict[str, Any], list[Observation], list[tuple[Step, ...]], list[bool]]:
    spec, *rows = (json.loads(line) for line in gzip.decompress(LIVE.read_bytes()).decode().splitlines())
    seen = [observation(found) for found, _, _ in rows]
    return spec, seen, [steps(json.dumps(told)) for _, told, _ in rows], [acted for *_, acted in rows]


def test_a_real_run_replayed_decides_the_same() -> None:
    spec, seen, told, _ = live()
    again = replay(seen, autoscaler(spec["policy"], Limits(spec["minimum"], spec["maximum"]), spec["options"]))
    decided = [(k, tick.steps) for k, tick in enumerate(again) if tick.steps]
    # after its last turn the live loop takes in what the query still tells, without deciding
    assert decided == [(k, made) for k, made in enumerate(told) if made]
    assert len(decided) >= 15
    assert len({made[-1].decision.executors for _, made in decided}) > 1


@pytest.mark.parametrize("policy", ["hpa-cpu", "ds2", "daedalus", "dhalion"])
def test_a_simulated_run_replayed_decides_the_same(policy: str, tmp_path: Path) -> None:
    job = min(bundled())
    e = Experiment(
        job=job, workload="steps", policy=policy, engine="sim", duration=1800.0, trigger=10.0, maximum=6, peak=1.2e6
    )
    with Store.open(tmp_path / "runs.db") as store:
        outcome = run(e, store, lambda message: None)
        simulated: list[Tick] = [tick for _, tick in store.ticks(outcome.run)]
    seen = [tick.observation for tick in simulated]
    again = list(replay(seen, e.autoscaler(), period=e.period))
    assert [tick.steps for tick in again] == [tick.steps for tick in simulated]
    assert [tick.acted for tick in again] == [tick.acted for tick in simulated]
    assert any(tick.acted for tick in again)
