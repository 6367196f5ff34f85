"""What differs between the runs of a comparison besides their policies."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.runs import RunResult


def state_places(runs: Sequence[RunResult]) -> str:
    """Where the state of queries is kept, in a few words; empty if the runs do not say, as they have no state to place.

    >>> def run(policy, spread):
    ...     return RunResult("r", "done", policy=policy, spread=spread)
    >>> state_places([run("ds2", True), run("hpa-cpu", True)])
    'spread over the executors'
    >>> state_places([run("ds2", True), run("spark-dra", False)])
    'spread over the executors, for spark-dra where Spark has it'
    """
    known = [run for run in runs if run.spread is not None]
    kept = dict.fromkeys(run.policy for run in known if not run.spread)
    if not known:
        return ""
    if len(kept) == len({run.policy for run in known}):
        return "where Spark has it"
    exceptions = f", for {' and '.join(kept)} where Spark has it" if kept else ""
    return f"spread over the executors{exceptions}"
