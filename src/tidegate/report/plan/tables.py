"""The rows of the tables of a plan, as texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.planner.explorer import Probe
from tidegate.planner.measurement import Measurement
from tidegate.planner.spark_configuration.feasibility import slot_time
from tidegate.planner.spark_configuration.run_figures import StageFigures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.report.looks import Look
from tidegate.report.plan.charts import law_looks
from tidegate.report.plan.curve import NOTABLE, CapacityCurve
from tidegate.report.plan.page import CostRow, PlanPage, Spread
from tidegate.report.plan.wording import between, plural, sentence
from tidegate.units import UNKNOWN, clock, count, exact, seconds, share

#: by the name of the law
MEANINGS: Mapping[str, str] = {
    "proportional": "twice the slots, twice the rate",
    "linear": "every further slot adds as much, the first ones less",
    "square root": "every further slot adds less, as a square root grows",
    "logarithm": "every further slot adds much less, as a logarithm grows",
    "usl": "a part is serial, or slots wait for each other",
    "skew": "the largest of very unequal tasks lasts longest",
    "power": "slots add the same share less each time they double",
    "stragglers": "all wait for the slowest of many equal tasks",
}
#: characters of a failure that are shown, which may be that of a JVM
LONGEST = 400
#: what a search says of itself if nothing but the query limited it
QUERY = "the query"


@dataclass(frozen=True, slots=True)
class LawRow:
    """`needed` is what the law alone says of the slots for the rate."""

    law: str
    look: Look
    weight: str
    needed: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ProbeRow:
    slots: str
    memory: str
    rate: str
    interval: str
    time: str
    #: the column at the end, and whether it is bad news
    outcome: str
    bad: bool


@dataclass(frozen=True, slots=True)
class StageRow:
    number: int
    tasks: str
    record: str
    task: str
    slowest: str


@dataclass(frozen=True, slots=True)
class CurveRow:
    slots: str
    low: str
    median: str
    high: str
    measured: str


@dataclass(frozen=True, slots=True)
class SpreadText:
    median: str
    bounds: str


@dataclass(frozen=True, slots=True)
class CostText:
    name: str
    slots: SpreadText
    cost: SpreadText


def laws(shown: PlanPage) -> tuple[LawRow, ...]:
    """Those with a notable weight, the heaviest first."""
    looks, capacity = law_looks(shown.capacity), shown.capacity
    most = shown.rules.farthest * capacity.largest
    rows = []
    for weight in capacity.weights:
        if weight.weight < NOTABLE:
            continue
        needed = capacity.under(weight.law).slots_for(shown.answer.rate, 0.5, shown.memory, most)
        text = UNKNOWN if needed is None else f"{needed:,}"
        meaning = MEANINGS.get(weight.law, "")
        rows.append(LawRow(weight.law, looks[weight.law], share(weight.weight), text, meaning))
    return tuple(rows)


def others(shown: PlanPage) -> str:
    """The laws that are not listed, as a sentence."""
    light = [weight for weight in shown.capacity.weights if weight.weight < NOTABLE]
    if not light:
        return ""
    names, total = ", ".join(weight.law for weight in light), sum(weight.weight for weight in light)
    return f"Others ({names}) have {share(total)} in all."


def probes(shown: PlanPage) -> tuple[ProbeRow, ...]:
    """In the order in which they were made."""
    return tuple(_probe(probe, shown) for probe in shown.exploration.probes)


def _probe(probe: Probe, shown: PlanPage) -> ProbeRow:
    known = probe.low is not None and probe.high is not None
    return ProbeRow(
        slots=f"{probe.slots:,}",
        memory=f"{probe.memory:,.0f} MiB",
        rate=UNKNOWN if probe.rate is None else f"{count(probe.rate)}/s",
        interval=between(probe.low or 0.0, probe.high or 0.0) if known else UNKNOWN,
        time=clock(60 * probe.minutes) if probe.minutes else UNKNOWN,
        outcome=_outcome(probe, shown),
        bad=probe.rate is None,
    )


def _outcome(probe: Probe, shown: PlanPage) -> str:
    if probe.rate is None:
        return _cut(sentence(probe.failure))
    contradicts = Measurement(probe.slots, probe.memory, probe.rate) in shown.capacity.left_out
    limited = f"limited by {probe.limit}" if probe.limit and probe.limit not in probe.ending else ""
    texts = ("left out, as it contradicts all others" * contradicts, limited, probe.ending)
    return sentence("; ".join(text for text in texts if text)) or UNKNOWN


def _cut(text: str) -> str:
    """
    >>> _cut("x" * 1000) == "x" * LONGEST + "…"
    True
    """
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def limited(shown: PlanPage) -> tuple[str, ...]:
    """What else than the query limited measurements, as sentences."""
    measured = [probe for probe in shown.exploration.probes if probe.rate is not None]
    counts = Counter(probe.limit for probe in measured if probe.limit not in {"", QUERY})
    return tuple(
        f"In {number} of {plural(len(measured), 'measurement')} {limit} was the limit."
        for limit, number in counts.most_common()
    )


def stages(shown: PlanPage) -> tuple[StageRow, ...]:
    """Of the run; empty without one."""
    return tuple(_stage(number, stage) for number, stage in enumerate(shown.run.stages, 1)) if shown.run else ()


def _stage(number: int, stage: StageFigures) -> StageRow:
    return StageRow(
        number,
        tasks=f"{stage.tasks:,}",
        record=slot_time(stage.each),
        task=UNKNOWN if stage.per_task is None else seconds(stage.per_task),
        slowest=UNKNOWN if stage.skew is None else f"{1 + stage.skew.over_mean:.2g} times the mean",
    )


def slowest(skew: Skew | None, planned: int | None) -> str:
    """The slowest task against the mean, in the run and with the planned partitions; empty if it was not looked at.

    >>> slowest(Skew(partitions=10, largest=0.15), planned=40)
    'The slowest of 10 tasks had 1.5 times the mean of the records, and with 40 it is expected to have 1.5 times.'
    >>> slowest(Skew(partitions=5, largest=0.6), planned=None)
    'The slowest of 5 tasks had 3 times the mean of the records: one key has 50 %.'
    """
    if skew is None:
        return ""
    tasks, times = plural(skew.partitions, "task"), 1 + skew.over_mean
    text = f"The slowest of {tasks} had {times:.2g} times the mean of the records"
    if planned is not None:
        times = skew.share_of_largest(planned) * planned
        text += f", and with {planned:,} it is expected to have {times:.2g} times"
    return f"{text}: one key has {share(skew.key)}." if skew.key else f"{text}."


def numbers(shown: PlanPage, drawn: CapacityCurve) -> tuple[CurveRow, ...]:
    """The curve where something was measured or planned, and where it ends, for readers who cannot see the chart."""
    asked = {*(point.slots for point in drawn.points), shown.slots, shown.answer.reach, drawn.slots[-1]}
    return tuple(_number(drawn, number) for number in drawn.slots if number in asked)


def _number(drawn: CapacityCurve, slots: int) -> CurveRow:
    interval = drawn.at(slots)
    rates = [f"{count(point.rate)}/s" for point in drawn.points if point.slots == slots]
    low, median, high = (f"{count(value)}/s" for value in (interval.low, interval.median, interval.high))
    return CurveRow(f"{slots:,}", low, median, high, ", ".join(rates) or UNKNOWN)


def costs(rows: tuple[CostRow, ...]) -> tuple[CostText, ...]:
    return tuple(CostText(row.name, _spread(row.slots), _spread(row.cost)) for row in rows)


def _spread(spread: Spread | None) -> SpreadText:
    """
    >>> _spread(Spread(31, 32, 38)), _spread(Spread(31.5, 40.25, None))
    (SpreadText(median='32', bounds='31 to 38'), SpreadText(median='40.25', bounds='31.50 or more'))
    """
    if spread is None or spread.median is None:
        return SpreadText(UNKNOWN, "" if spread is None or spread.low is None else f"{exact(spread.low)} or more")
    if spread.low is None:
        return SpreadText(exact(spread.median), "")
    bounds = f"{exact(spread.low)} or more" if spread.high is None else f"{exact(spread.low)} to {exact(spread.high)}"
    return SpreadText(exact(spread.median), bounds)
