"""A simulated run that is stored, scored and shown like a real one."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.core import Tick
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import oracles, simulate
from tidegate.profiling.profile import cost
from tidegate.runner.outcome import Outcome, Say
from tidegate.score.figures import Aims, figures
from tidegate.store import Store


def rehearse(e: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> Outcome:
    """Simulate, store each tick, score."""
    run = store.begin(e.spec(0.0))
    say(f"run {run}: {e.job} under {e.workload}, {e.policy}, {e.duration:g} s, simulated")

    def seen(tick: Tick) -> None:
        store.append(run, tick)
        watch(tick)

    try:
        trial = simulate(e, watch=seen)
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        store.end(run, status)
        if status == "failed":
            raise
        return Outcome(run, status, {})
    named_by = {key: getattr(e, key) for key in ("job", "workload", "policy", "engine", "mode", "source")}
    lead = {"run": run, "status": "done", **named_by, "duration": e.duration}
    measured = figures(trial, Aims(e.slo, e.price), oracles([e])[0])
    result = {**lead, "offered": round(trial.arrivals.whole), **measured, **cost(e), "rerun_tasks": 0, "verified": None}
    store.end(run, "done", result)
    return Outcome(run, "done", result)
