"""What `tidegate plan` prints: lines for people, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tidegate import units
from tidegate.cli.plan_run import PlanDone
from tidegate.planner.answer import Answer
from tidegate.planner.estimator.verdict import Limit
from tidegate.planner.next_run import Narrowing, best_run
from tidegate.planner.plan import Plan, Refusal
from tidegate.planner.spark_configuration.configuration import SparkConfiguration
from tidegate.planner.spark_configuration.description import describe
from tidegate.planner.spark_configuration.flags import attach_bounds, stream_options, submit_flags
from tidegate.planner.spark_configuration.rules import MIB

#: share of the weight from which on a law is named
NAMED = 0.05
#: limits that are not the query's own
OTHERS = {limit.value for limit in (Limit.SOURCE, Limit.DRIVER, Limit.MACHINE)}


def lines(done: PlanDone) -> Iterator[str]:
    exploration, answered = done.exploration, done.answer
    yield f"{done.request.e.job}: what is sustained, on {exploration.minutes:.0f} minutes of the testbed"
    for slots in sorted({m.slots for m in answered.capacity.measurements}):
        rates = [units.count(m.rate) for m in answered.capacity.measurements if m.slots == slots]
        yield f"  {_slots(slots):>11}  {', '.join(rates)} records/s"
    yield from _limits(done)
    laws = [f"{law.law} {units.share(law.weight)}" for law in answered.capacity.weights if law.weight >= NAMED]
    yield f"laws: {', '.join(laws)}"
    yield from (validation.sentence for validation in answered.known.validations)
    yield from _plan(done)
    yield from done.omitted


def further_run(done: PlanDone) -> Narrowing | None:
    """The run that would narrow the answer most, if one would: with the fewest slots of the testbed, the most, or half
    of these, but none with which every search failed.
    """
    exploration, answered = done.exploration, done.answer
    measured = {m.slots for m in exploration.measurements}
    failed = {probe.slots for probe in exploration.probes} - measured
    allowed = [slots for slots in exploration.space.slots if slots not in failed]
    candidates = {allowed[0], allowed[len(allowed) // 2], allowed[-1]}
    further = best_run(answered.capacity, sorted(candidates), answered.wanted.rate)
    return further if further.worthwhile else None


def _limits(done: PlanDone) -> Iterator[str]:
    """Of searches that did not find out what the query itself can do."""
    for slots, limit in sorted({(probe.slots, probe.limit) for probe in done.exploration.probes}):
        if limit in OTHERS:
            yield f"  with {_slots(slots)} {limit} was the limit: the query itself may be able to do more"


def _plan(done: PlanDone) -> Iterator[str]:
    answered = done.answer
    planned = answered.plan
    if answered.refusal or isinstance(planned, Refusal):
        yield f"no plan: {answered.refusal}"
        yield from _advice(done)
        return
    low, high = planned.interval.low, planned.interval.high
    capacity = f"{units.count(planned.capacity.low)} to {units.count(planned.capacity.high)}"
    verb = "sustains" if planned.slots == 1 else "sustain"
    yield f"{units.count(planned.rate)} records/s: {_slots(planned.slots)}, which {verb} {capacity} (90 %)"
    yield f"  the fewest that could do are {low:,} to {high:,}" if high is not None else f"  at least {low:,}"
    if isinstance(answered.configuration, SparkConfiguration):
        yield from (f"  {line}" for line in describe(answered.configuration))
    else:
        yield f"  {_executors(answered):,} executors; nothing is known of the rest: {answered.known.no_figures}"
    if answered.trial is not None:
        yield f"  trial on the testbed: {answered.trial.reason}"


def _slots(number: int) -> str:
    """
    >>> _slots(1), _slots(1_200)
    ('1 slot', '1,200 slots')
    """
    return f"{number:,} slot{'s' * (number != 1)}"


def _advice(done: PlanDone) -> Iterator[str]:
    planned = done.answer.plan
    if isinstance(planned, Refusal) and planned.partitions is not None:
        yield (
            f"repartition the topic to at least {planned.partitions:,}, or set minPartitions of the Kafka source; "
            f"state needs as many when the query first starts: spark.sql.shuffle.partitions={planned.partitions}"
        )
    if len(done.request.executors) == 1:
        yield "a testbed of several sizes shows how capacity grows: --testbed 1-4 measures them, too"


def _executors(answered: Answer) -> int:
    if isinstance(answered.configuration, SparkConfiguration):
        return answered.configuration.executors.executors
    return -(-answered.plan.slots // answered.wanted.cores) if isinstance(answered.plan, Plan) else 0


def plain(done: PlanDone) -> Mapping[str, Any]:
    """The figures of the plan itself are on the top level; `reason` says why there is none, if `planned` is false."""
    answered = done.answer
    refusal = {"reason": answered.refusal} if answered.refusal else {}
    configuration = answered.configuration
    return {
        "job": done.request.e.job,
        "planned": not answered.refusal,
        **asdict(answered.plan),
        **refusal,
        "probes": [asdict(probe) for probe in done.exploration.probes],
        "laws": [asdict(weight) for weight in answered.capacity.weights],
        "validations": [{**asdict(v), "agrees": v.agrees, "sentence": v.sentence} for v in answered.known.validations],
        "configuration": _configuration(configuration) if isinstance(configuration, SparkConfiguration) else None,
        "no_figures": answered.known.no_figures,
        "trial": None if answered.trial is None else asdict(answered.trial),
        "omitted": [*done.omitted],
    }


def _configuration(configuration: SparkConfiguration) -> dict[str, Any]:
    """Memory in MiB, times in seconds."""
    executors, memory, state = configuration.executors, configuration.memory, configuration.state
    return {
        "executors": executors.executors,
        "cores": executors.cores,
        "fewest_executors": executors.fewest,
        "most_executors": executors.most,
        "memory": round(memory.heap / MIB),
        "memory_overhead": None if memory.overhead is None else round(memory.overhead / MIB),
        "source_partitions": configuration.source.partitions,
        "state_partitions": None if state is None else state.partitions,
        "state_provider": configuration.provider,
        "trigger": configuration.trigger.trigger,
        "latency": configuration.trigger.latency,
        "batch_limit": configuration.batch_limit,
        "limits": [{"limit": factor.limit, "sentence": factor.sentence} for factor in configuration.limits],
        "notes": [*configuration.notes],
        "submit": " ".join(submit_flags(configuration)),
        "stream": [*stream_options(configuration).lines],
        "attach": attach_bounds(configuration).call,
    }
