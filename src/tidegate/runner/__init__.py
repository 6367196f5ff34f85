"""Runs of a job under a workload with a policy, on Spark or simulated: stored while they run, scored at the end."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.core import Sink
from tidegate.experiment.settings import Experiment
from tidegate.runner.outcome import Outcome, Say
from tidegate.store import Store

__all__ = ["Outcome", "Say", "run"]


def run(experiment: Experiment, store: Store, say: Say, sinks: Sequence[Sink] = ()) -> Outcome:
    """Run an experiment on its engine. However it ends, everything observed is in the store."""
    # imported only when needed, as Spark and the simulators take a second to import
    if experiment.engine == "spark":
        from tidegate.runner import spark_run  # noqa: PLC0415

        return spark_run.run(experiment, store, say, sinks)
    from tidegate.runner import simulated_run  # noqa: PLC0415

    return simulated_run.run(experiment, store, say, sinks)
