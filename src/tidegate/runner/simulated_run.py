"""Simulated runs, which are stored, scored and displayed like real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.core import Sink
from tidegate.deployment.simulated import simulate
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import oracles
from tidegate.profiling.profile import cost, with_profile
from tidegate.runner.outcome import Outcome, Say
from tidegate.runs import RunResult
from tidegate.score.figures import Objective, figures
from tidegate.store import Store, StoreSink


def run(e: Experiment, store: Store, say: Say, sinks: Sequence[Sink] = ()) -> Outcome:
    """Simulate an experiment, store each tick, and score it."""
    spec = e.spec(start=0.0)
    id = store.begin(spec)
    say(f"run {id}: {e.job} under {e.workload}, {e.policy}, {e.duration:g} s, simulated")
    try:
        trace = simulate(with_profile(e), sinks=(StoreSink(store, id), *sinks))
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        store.end(id, status)
        if status == "failed":
            raise
        return Outcome(id, status, RunResult.of(id, status, spec))
    result = replace(
        RunResult.of(id, "done", spec),
        duration=e.duration,
        offered=round(trace.arrivals.whole),
        figures=figures(trace, Objective(e.slo, e.price), oracles([e])[0]),
        profiling=cost(e),
    )
    store.end(id, "done", result)
    return Outcome(id, "done", result, trace)
