"""What keeps a configuration from doing more, as a sentence for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tidegate.planner.spark_configuration.partitions import idle_share
from tidegate.planner.spark_configuration.rules import ConfigurationRules
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.units import seconds, share


class Limit(StrEnum):
    PARTITIONS = "partitions"
    DRIVER = "driver"
    SKEW = "skew"
    NOTHING = "nothing yet"


@dataclass(frozen=True, slots=True)
class LimitingFactor:
    limit: Limit
    sentence: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Slots and what is dealt out to them; `state` is None without stages behind a shuffle."""

    slots: int
    source: int
    state: int | None = None
    skew: Skew | None = None
    #: slots that the records of the state stages keep busy
    state_busy: float = 0.0
    #: time of a batch without records in the run, and the trigger of the run
    fixed: float | None = None
    trigger: float = 0.0


def limiting_factors(arranged: Arrangement, rules: ConfigurationRules | None = None) -> tuple[LimitingFactor, ...]:
    """At least one; `NOTHING` if nothing limits it.

    >>> [factor.sentence for factor in limiting_factors(Arrangement(slots=24, source=8, state=72))]
    ['partitions: the source has 8, so 16 of 24 slots are idle while it is read']
    >>> limiting_factors(Arrangement(slots=24, source=72, state=72))[0].sentence
    'nothing limits it yet: more slots would do more'
    """
    rules = rules or ConfigurationRules()
    factors = (*_partitions(arranged, rules), *_driver(arranged, rules), *_skew(arranged, rules))
    return factors or (LimitingFactor(Limit.NOTHING, "nothing limits it yet: more slots would do more"),)


def _partitions(arranged: Arrangement, rules: ConfigurationRules) -> Iterator[LimitingFactor]:
    slots = arranged.slots
    stages = (("the source has", "it is read"), arranged.source), (("state has", "it is updated"), arranged.state)
    for (what, when), partitions in stages:
        if partitions is None:
            continue
        idle = idle_share(partitions, slots)
        if partitions < slots:
            text = (
                f"partitions: {what} {partitions:,}, so {slots - partitions:,} of {slots:,} slots are idle while {when}"
            )
            yield LimitingFactor(Limit.PARTITIONS, text)
        elif idle > rules.idle_share:
            waves = -(-partitions // slots)
            lost = f"{waves} waves on {slots:,} slots, which lose {share(idle)} of their time"
            yield LimitingFactor(Limit.PARTITIONS, f"partitions: {what} {partitions:,}, {lost}")


def _driver(arranged: Arrangement, rules: ConfigurationRules) -> Iterator[LimitingFactor]:
    if arranged.fixed is None or arranged.trigger <= 0:
        return
    spent = arranged.fixed / arranged.trigger
    if spent > rules.fixed_share + 1e-9:
        yield LimitingFactor(
            Limit.DRIVER,
            f"driver: planning, starting tasks and commit take {seconds(arranged.fixed)} of every batch, "
            f"{share(spent)} of the run's trigger of {seconds(arranged.trigger)}",
        )


def _skew(arranged: Arrangement, rules: ConfigurationRules) -> Iterator[LimitingFactor]:
    """If the slots wait for the slowest task for longer than uneven waves may cost."""
    skew, partitions = arranged.skew, arranged.state
    if skew is None or partitions is None:
        return
    largest = skew.share_of_largest(partitions)
    waiting = arranged.state_busy * (largest - 1 / min(arranged.slots, partitions))
    if waiting <= rules.idle_share:
        return
    why = "one key" if skew.key else "the largest partition"
    yield LimitingFactor(
        Limit.SKEW,
        f"skew: {why} has {share(skew.key or largest)} of the records, and the slowest of {partitions:,} tasks takes "
        f"{largest * partitions:.1f} times the mean: the other slots wait for it for {share(waiting)} of the trigger",
    )
