"""Whether any number of slots and of state partitions could do a rate, and if not, what would have to change.

With slots without end, a batch still takes its fixed time, the reading of the source partition that a slot gets, and
the task of the state partition that holds a hot key. What is left of the trigger bounds the rate:

    rate <= (1 - fixed / trigger) / (cost of reading / source partitions + cost of state * share of the key)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.planner.spark_configuration.requirement import Requirement
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.units import count, seconds, share


@dataclass(frozen=True, slots=True)
class NoConfiguration:
    """`most` is the highest rate that could be had, None if that is unknown."""

    rate: float
    reason: str
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest rate with any number of slots, and the seconds for each record that source and key take."""

    rate: float
    source: float
    key: float


def ceiling(run: RunFigures, trigger: float, source_partitions: int | None = None) -> Ceiling:
    """
    >>> from tidegate.planner.spark_configuration.run_figures import StageFigures
    >>> from tidegate.planner.spark_configuration.skew import Skew
    >>> stages = (StageFigures(8, 2e-5), StageFigures(8, 1e-5, skew=Skew(5, 0.6)))  # a key has 0.5 of the records
    >>> run = RunFigures(1e4, 2, 1, stages, trigger=5.0, batch_seconds=2.0, batch_records=5e4, keyed=1, fixed=1.0)
    >>> round(ceiling(run, trigger=5.0).rate), round(ceiling(run, trigger=5.0, source_partitions=4).rate)
    (160000, 80000)
    """
    source = math.fsum(stage.each for stage in run.source_stages) / source_partitions if source_partitions else 0.0
    key = math.fsum(stage.each * (stage.skew.key if stage.skew else 0.0) for stage in run.keyed_stages)
    free = max(0.0, 1 - (run.driver or 0.0) / trigger)
    return Ceiling(free / (source + key) if source + key else math.inf if free else 0.0, source, key)


def refusal(run: RunFigures, needed: Requirement, trigger: float) -> NoConfiguration | None:
    """None if there is a configuration."""
    busy = needed.rate * run.each
    if needed.capacity is None and run.costs_known and busy > needed.slots * (1 + 1e-9):
        text = (
            f"{needed.slots:,} slot{'s' * (needed.slots > 1)} cannot do {count(needed.rate)} records/s: at "
            f"{slot_time(run.each)} of a slot for a record, they keep {math.ceil(busy - 1e-6):,} slots busy"
        )
        return NoConfiguration(needed.rate, text, needed.slots / run.each)
    top = ceiling(run, trigger, needed.source_partitions)
    if needed.rate <= top.rate:
        return None
    return NoConfiguration(needed.rate, f"{_most(top)}; {'; '.join(_remedies(run, needed, top))}", top.rate)


def _most(top: Ceiling) -> str:
    return f"no number of slots does more than {count(top.rate)} records/s"


def _remedies(run: RunFigures, needed: Requirement, top: Ceiling) -> list[str]:
    if not top.source and not top.key:
        return [f"without records a batch takes {seconds(run.driver)}, longer than the trigger: lengthen the trigger"]
    remedies = []
    if top.source >= top.key and needed.source_partitions:
        enough = math.ceil(needed.source_partitions * needed.rate / top.rate)
        remedies.append(
            f"the source has {needed.source_partitions:,} partitions, and a slot reads one at a time: repartition the "
            f"topic to at least {enough:,}, or set minPartitions of the Kafka source"
        )
    skew = run.skew
    if top.key and top.key > 0.1 * top.source and skew is not None:
        remedies.append(
            f"one key has {share(skew.key)} of all records, and a single task processes it: divide the key (a salt, "
            "and a second aggregation), or filter it"
        )
    return remedies


def slot_time(time: float) -> str:
    """
    >>> slot_time(4.2e-5), slot_time(0.02)
    ('42 µs', '0.02 s')
    """
    return f"{time * 1e6:.3g} µs" if time < 1e-3 else seconds(time)
