"""One run: a job under a workload with a policy, on real Spark or simulated; stored as it goes, scored at its end."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.core import Tick
from tidegate.experiment.settings import Experiment
from tidegate.runner.outcome import Outcome, Say
from tidegate.store import Store

__all__ = ["Outcome", "run"]


def run(experiment: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> Outcome:
    """Run an experiment on its engine. Whatever ends it, what was seen is in the store."""
    # each only for those who use it: Spark and the simulators are a second of imports
    if experiment.engine == "spark":
        from tidegate.runner.spark_run import run as run_live  # noqa: PLC0415

        return run_live(experiment, store, say, watch)
    from tidegate.runner.simulated_run import rehearse  # noqa: PLC0415

    return rehearse(experiment, store, say, watch)
