"""What differs between the runs of a comparison besides their policies."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.runs import RunResult

#: what a run's `spread` means
PLACES = {True: "spread over the executors", False: "where Spark has it"}


def state_places(runs: Sequence[RunResult]) -> str:
    """Where the state of queries is kept, in a few words; empty if no run says.

    >>> def run(policy, spread, job="q11"):
    ...     return RunResult("r", "done", job=job, policy=policy, spread=spread)
    >>> state_places([run("ds2", True), run("hpa-cpu", True)])
    'spread over the executors'
    >>> state_places([run("ds2", True), run("spark-dra", False)])
    'spread over the executors, for spark-dra where Spark has it'
    >>> state_places([run("ds2", False), run("ds2", True, job="q5")])
    'where Spark has it, for ds2 on q5 spread over the executors'
    """
    known = [run for run in runs if run.spread is not None]
    if not known:
        return ""
    usual = known[0].spread
    others = [run for run in known if run.spread != usual]
    if not others:
        return PLACES[bool(usual)]
    alike = {run.policy for run in others} & {run.policy for run in known if run.spread == usual}
    names = dict.fromkeys(f"{run.policy} on {run.job}" if run.policy in alike else run.policy for run in others)
    return f"{PLACES[bool(usual)]}, for {' and '.join(names)} {PLACES[not usual]}"
