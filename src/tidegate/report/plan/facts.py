"""The answer in words, the conditions, and the figures that a reader looks for first."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.planner.plan import Plan, Refusal
from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.feasibility import NoConfiguration
from tidegate.planner.spark_configuration.rules import MIB
from tidegate.report.parts import Badge, Fact, Notice
from tidegate.report.plan.page import PlanPage, executors
from tidegate.report.plan.wording import plural, rates, sentence, span
from tidegate.units import UNKNOWN, count, seconds, share


def badges(shown: PlanPage) -> tuple[Badge, ...]:
    planned = Badge("planned", "good") if isinstance(shown.answer, Plan) else Badge("refused", "bad")
    simulated = (Badge("simulated"),) if shown.conditions.simulated else ()
    missing = (Badge("no configuration", "bad"),) if isinstance(shown.configuration, NoConfiguration) else ()
    return (planned, *missing, *simulated)


def headline(shown: PlanPage) -> str:
    """Like `2 M records/s: 38 executors (35 to 37 needed)`."""
    answer, cores = shown.answer, shown.conditions.cores
    rate = f"{count(answer.rate)} records/s"
    if isinstance(answer, Refusal):
        return f"{rate}: no plan"
    size = f" of {cores} cores" if cores > 1 else ""
    planned = plural(executors(answer.slots, cores), "executor")
    return f"{rate}: {planned}{size} ({span(answer.interval, cores)} needed)"


def explanation(shown: PlanPage) -> str:
    """What the numbers of the headline mean; of a refusal, what could be planned instead."""
    answer, rules = shown.answer, shown.rules
    if isinstance(answer, Refusal):
        return _instead(shown, answer)
    cores = shown.conditions.cores
    planned = executors(answer.slots, cores)
    return (
        f"With a probability of 90 % the rate needs {span(answer.interval, cores)}. The plan holds it with "
        f"{share(rules.confidence)}: {plural(planned, 'executor')} {'sustain' if planned > 1 else 'sustains'} "
        f"{rates(answer.capacity)} records/s, again at 90 %."
    )


def _instead(shown: PlanPage, answer: Refusal) -> str:
    held = _held(shown)
    if held is None:
        return "No rate has a plan."
    return f"The highest rate that there is a plan for is {count(held)} records/s, with {plural(answer.reach, 'slot')}."


def _held(shown: PlanPage) -> float | None:
    """The highest rate with a plan; None without any."""
    reach = shown.answer.reach
    return shown.capacity.quantile(reach, 1 - shown.rules.confidence, shown.memory) if reach else None


def notices(shown: PlanPage) -> tuple[Notice, ...]:
    return tuple(_notices(shown))


def _notices(shown: PlanPage) -> Iterator[Notice]:
    if isinstance(shown.answer, Refusal):
        yield Notice(sentence(shown.answer.reason), "bad")
    if isinstance(shown.configuration, NoConfiguration):
        yield Notice(f"No configuration of Spark: {shown.configuration.reason}.", "bad")
    if len(shown.capacity.measurements) == 1:
        yield Notice("A single measurement says nothing of growth: the intervals are those of all laws.", "warn")


def facts(shown: PlanPage) -> list[Fact]:
    """The conditions. Those that are not known are left out."""
    conditions, exploration = shown.conditions, shown.exploration
    failed = len(exploration.probes) - len(exploration.measurements)
    listed = (
        Fact("Testbed", conditions.testbed, "simulated" if conditions.simulated else ""),
        Fact("Cores", f"{conditions.cores} an executor"),
        Fact("CPU quota", f"{conditions.quota:g} cores" if conditions.quota is not None else "", "an executor"),
        Fact("Trigger", seconds(conditions.trigger) if conditions.trigger is not None else ""),
        Fact("Memory", f"{shown.at_memory:,.0f} MiB", "heap of an executor"),
        Fact("Measurements", str(len(shown.capacity.measurements)), _besides(shown, failed)),
        Fact("Time on the testbed", f"{shown.minutes:,.0f} min"),
    )
    return [fact for fact in listed if fact.value]


def _besides(shown: PlanPage, failed: int) -> str:
    left_out = len(shown.capacity.left_out)
    parts = (f"{failed} failed" * bool(failed), f"{left_out} left out" * bool(left_out))
    return ", ".join(part for part in parts if part)


def figures(shown: PlanPage) -> tuple[Fact, ...]:
    """Always six, as the cards of a page fill whole rows."""
    answer, capacity = shown.answer, shown.capacity
    planned = shown.configuration if isinstance(shown.configuration, SparkConfiguration) else None
    reached = max(p.rate for p in capacity.measurements)
    first: tuple[Fact, ...]
    if isinstance(answer, Plan):
        first = (
            Fact("Slots", f"{answer.slots:,}", f"{span(answer.interval)} at 90 %"),
            Fact("They sustain", f"{count(answer.capacity.median)}/s", f"{rates(answer.capacity)} at 90 %"),
        )
    else:
        median = UNKNOWN if answer.interval.median is None else f"{answer.interval.median:,}"
        first = (
            Fact("Slots needed", median, span(answer.interval) + " at 90 %" * (answer.interval.low is not None)),
            _possible(shown, answer),
        )
    return (
        *first,
        Fact("Measured", plural(capacity.largest, "slot"), f"{count(reached)} records/s at most"),
        Fact("Supported", plural(answer.reach, "slot"), "up to which there are plans"),
        *(_planned(planned) if planned else _known(shown)),
    )


def _possible(shown: PlanPage, answer: Refusal) -> Fact:
    """What would have to change, or what can be had as it is."""
    if answer.partitions is not None:
        return Fact("Partitions needed", f"{answer.partitions:,}", _now(shown))
    held = _held(shown)
    if held is None:
        return Fact("Highest with a plan", UNKNOWN, "there is none")
    return Fact("Highest with a plan", f"{count(held)}/s", f"with {plural(answer.reach, 'slot')}")


def _now(shown: PlanPage) -> str:
    partitions = shown.capacity.tasks.partitions
    return "" if partitions is None else f"instead of {partitions:,}"


def _planned(configuration: SparkConfiguration) -> tuple[Fact, Fact]:
    state, memory = configuration.state, configuration.memory
    return (
        Fact("Memory", f"{memory.total / MIB:,.0f} MiB", f"an executor, {memory.heap / MIB:,.0f} of them heap"),
        Fact("State partitions", UNKNOWN, "no shuffle")
        if state is None
        else Fact("State partitions", f"{state.partitions:,}", "fixed at the first start"),
    )


def _known(shown: PlanPage) -> tuple[Fact, Fact]:
    heaviest = shown.capacity.weights[0]
    return (
        Fact("Heaviest law", share(heaviest.weight), heaviest.law),
        Fact("Noise", share(shown.capacity.noise), "of a measurement around the laws"),
    )
