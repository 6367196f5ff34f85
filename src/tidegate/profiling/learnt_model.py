"""A simulator's model of the query that was planned: what things cost from one run, how fast it is from all of them.

The figures of a run say what the parts of a batch are: the driver's time, the time of tasks apart from records, and the
work for a record before and after the shuffle. How fast a large cluster is they do not say. That is the planner's
averaged capacity, and only one number of the model is changed to agree with it, the work for a record (`paced`): at the
planned slots, batches that last a trigger then process the wanted rate. With fewer slots the model says by itself what
becomes of it.

What no run of a fixed number of executors shows (starts and ends of executors, warm-up, CPU and noise) is that of
another model, `base`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tidegate.core import InvalidInput
from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.sim.batch_model import BatchModel
from tidegate.units import count

#: batches are compared where their time without records is at most one part in so many
LONGER = 2.0
#: digits of a share of state
DIGITS = 9


def learnt_model(
    job: str, run: RunFigures, partitions: int, base: BatchModel | None = None, rules: ConfigurationRules | None = None
) -> BatchModel:
    """With the pace of the run itself. `partitions` are those that are planned, of the source and of the state.

    >>> from tidegate.planner.spark_configuration.run_figures import StageFigures
    >>> stages = (StageFigures(8, 4e-5, per_task=0.05), StageFigures(8, 2e-5, per_task=0.03))
    >>> run = RunFigures(3e4, 2, 1, stages, trigger=5.0, batch_seconds=4.0, batch_records=1.5e5, keyed=1, fixed=0.9)
    >>> model = learnt_model("mine", run, partitions=72)
    >>> round(model.fixed, 3), round(model.overhead, 3), round(model.cost, 7), round(model.first, 3)
    (0.58, 0.04, 6e-05, 0.667)
    """
    if not run.each > 0:
        raise InvalidInput(f"model of {job}: need a run whose tasks took time, they took {run.each:g} s for a record")
    base, rules = base or BatchModel(job), rules or ConfigurationRules()
    state = run.state
    return replace(
        base,
        job=job,
        fixed=_fixed(run),
        overhead=_overhead(run, rules),
        cost=run.each,
        tasks=partitions,
        stages=len(run.stages),
        first=math.fsum(stage.each for stage in run.source_stages) / run.each,
        cores=run.cores,
        # that new executors were faster, as a quota holds only after a while, is not a gain of scaling out
        young=max(0.0, base.young),
        state=0.0 if state is None else state.rows / run.rate,
        row_bytes=state.size / state.rows if state is not None and state.size and state.rows else base.row_bytes,
        shares=() if run.skew is None or run.keyed is None else _shares(run.skew, partitions),
        origin=f"a run of {count(run.rate)} records/s on {run.executors} executors",
    )


def paced(model: BatchModel, executors: int, trigger: float, rate: float) -> BatchModel:
    """With as much work for a record that the executors process `rate` in batches of one trigger. Where a batch takes
    more than half of the trigger without records, in batches of twice that: no query is limited to such small batches.

    >>> model = paced(BatchModel("q1", fixed=0.5, overhead=0.1, tasks=12), executors=4, trigger=4.0, rate=64_000)
    >>> model.cost  # 3 waves of 0.1 s and 0.5 s leave 3.2 s of 4 s to each of 4 executors for 256,000 records
    5e-05
    >>> round(model.batch_time(256_000, 4), 9)
    4.0
    """
    if not (math.isfinite(rate) and rate > 0):
        raise InvalidInput(f"model of {model.job}: need a capacity > 0 records/s, got {rate:g}")
    empty, each = model.placed(executors)
    length = max(trigger, LONGER * empty)
    cost = model.cost * (length - empty) / (each * length * rate)
    return replace(model, cost=float(f"{cost:.6g}"))


def capacity_of(model: BatchModel, executors: int, trigger: float) -> float:
    """The rate that `paced` would have been called with."""
    empty, each = model.placed(executors)
    length = max(trigger, LONGER * empty)
    return (length - empty) / (each * length)


def _fixed(run: RunFigures) -> float:
    """Where batches had one size only, the time in which a batch ran but its tasks would not have filled the slots."""
    if run.driver is not None:
        return run.driver
    return max(0.0, run.batch_seconds - run.each * run.batch_records / run.slots)


def _overhead(run: RunFigures, rules: ConfigurationRules) -> float:
    """Of a wave of tasks. The model has the same for the stages before the shuffle and for those behind it."""
    waves = math.fsum(rules.task_seconds if stage.per_task is None else stage.per_task for stage in run.stages)
    return waves / (1 if run.keyed is None else 2)


def _shares(skew: Skew, partitions: int) -> tuple[float, ...]:
    """A largest partition, and all others alike.

    >>> _shares(Skew(partitions=5, largest=0.6), 3)  # a key has half of the records
    (0.666666667, 0.166666667, 0.166666667)
    """
    largest = skew.share_of_largest(partitions)
    others = (1 - largest) / (partitions - 1) if partitions > 1 else 0.0
    return tuple(round(part, DIGITS) for part in (largest, *(others,) * (partitions - 1)))
