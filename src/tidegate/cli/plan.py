"""`tidegate plan`: what a query will need, from short runs on a small testbed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.cli.application import App, EventTime, Keys, SampleFile, Times, query_of
from tidegate.cli.console import AsJson, Output, complain, err, interrupt_once, out, print_json
from tidegate.cli.kafka import KafkaConfig, KafkaOption
from tidegate.cli.plan_measurements import PlanFolder
from tidegate.cli.plan_source import DEFAULT, Bootstrap, QueryFlags, Records, Source, SourceFlags, Topic, recorded
from tidegate.core import InvalidInput, UnknownName, amounts

if TYPE_CHECKING:
    from tidegate.experiment.settings import Experiment
    from tidegate.planner.averaging import AveragedCapacity
    from tidegate.planner.estimator.estimate import CapacityEstimate
    from tidegate.planner.estimator.phases import Phase
    from tidegate.planner.explorer import Exploration, Question
    from tidegate.planner.plan import Plan, Refusal
    from tidegate.planner.space import Space

#: the engines on which a testbed can be
ENGINES = ("spark", "sim")
#: an increase of the error that no measurement makes
NEVER = 1e9


def plan(
    rate: Annotated[str, typer.Option(help="what the query is to sustain, in records/s, like 2M")],
    job: Annotated[str, typer.Option(help="a job, like q5; see also --app")] = "q1",
    app: App = None,
    sample: SampleFile = None,
    event_time: EventTime = None,
    time: Times = None,
    key: Keys = None,
    source: Source = "embedded",
    bootstrap: Bootstrap = "",
    topic: Topic = "",
    records: Records = DEFAULT,
    kafka_option: KafkaOption = None,
    kafka_config: KafkaConfig = None,
    engine: Annotated[str, typer.Option(help="where the testbed is: spark, or sim to try it")] = "spark",
    testbed: Annotated[str, typer.Option(help="executors of the testbed, like 1-4 or 1,2,4,8")] = "1-4",
    budget: Annotated[str, typer.Option(help="time for all runs")] = "25m",
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "4s",
    partitions: Annotated[
        int, typer.Option(help="partitions of source and shuffle, if they are fixed; 0: three for each slot")
    ] = 0,
    cores: Annotated[int, typer.Option(help="cores of an executor")] = 1,
    memory: Annotated[str, typer.Option(help="heap of an executor in MiB, or several to try, like 512,1024")] = "512",
    quota: Annotated[float | None, typer.Option(help="CPU limit of a local executor, in cores")] = None,
    price: Annotated[float | None, typer.Option(help="price of an executor per hour")] = None,
    model: Annotated[str, typer.Option(help="simulator model, a file from `tidegate calibrate`")] = "",
    more: Annotated[bool, typer.Option("--more", help="measure further, where measurements are there already")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="measure again what was measured before")] = False,
    output: AsJson = Output.text,
) -> None:
    """Find out what a query needs for a rate, from short runs on a small testbed.

    [bold]tidegate plan --job q5 --rate 2M --quota 0.3[/bold]
    [bold]tidegate plan --app orders.py --sample orders.parquet --event-time at --rate 500k[/bold]
    [bold]tidegate plan --job ysb --source kafka --bootstrap localhost:9092 --topic ads --rate 50k[/bold]
    [bold]tidegate plan --engine sim --job q11 --rate 10M --testbed 1-16[/bold]

    For some numbers of executors it searches the rate that the query sustains. The
    capacity with more executors is an average over laws, weighted by how well each
    predicted the measurements. Measurements are kept: an interrupted command goes
    on from them, another --rate is answered from them, and --more adds to them.
    """
    from tidegate.experiment.settings import Experiment  # noqa: PLC0415
    from tidegate.planner.averaging import average  # noqa: PLC0415
    from tidegate.planner.plan import plan as planned  # noqa: PLC0415
    from tidegate.planner.space import Space  # noqa: PLC0415
    from tidegate.planner.tasks import Tasks  # noqa: PLC0415

    if engine not in ENGINES:
        raise UnknownName("engine of a testbed", engine, ENGINES)
    target, executors, heaps = amounts.rate(rate), numbers_of(testbed), numbers_of(memory, "MiB of heap", 6)
    if not target > 0:
        raise InvalidInput(f"plan: need --rate > 0, got {target:g}")
    flags = SourceFlags(source, bootstrap, topic, records, kafka_option, kafka_config)
    recording = recorded(flags, QueryFlags(job, app, sample, event_time, time, key), engine, target)
    name, file = query_of("plan", job, app, recording.sample, event_time, time, key)
    e = Experiment(
        job=name, sample=file, kafka=recording.kafka, engine=engine, model=model, trigger=amounts.duration(trigger),
        partitions=partitions, cores=cores, memory=max(heaps), quota=quota,
        policy="static", maximum=max(executors), duration=3600.0, period=1.0, price=price,
    )  # fmt: skip
    seconds = _checked_budget(e, budget)
    interrupt_once()
    space, folder = Space.of([number * cores for number in executors], heaps), PlanFolder(e)
    with folder.locked():
        exploration = _explored(e, space, seconds / 60, _Earlier(more, fresh), folder)
    if not exploration.measurements:
        complain(f"no configuration sustained any rate: {exploration.probes[-1].failure}")
        raise typer.Exit(4)
    _warn(e, exploration)
    capacity = average(exploration.measurements, Tasks(partitions) if partitions else None)
    answer = planned(capacity, target)
    if output is Output.json:
        print_json(_plain(e, exploration, capacity, answer))
        return
    for line in _lines(e, exploration, capacity, answer):
        out.print(escape(line), soft_wrap=True, highlight=False)


def numbers_of(text: str, what: str = "executors", digits: int = 4) -> list[int]:
    """Numbers of executors, or of something else.

    >>> numbers_of("1-4"), numbers_of("8, 1,2,4")
    ([1, 2, 3, 4], [1, 2, 4, 8])
    """
    numbers: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(rf"\s*(\d{{1,{digits}}})(?:\s*-\s*(\d{{1,{digits}}}))?\s*", part)
        if ends is None or int(ends[1]) < 1 or int(ends[2] or ends[1]) < int(ends[1]):
            raise InvalidInput(f"plan: need numbers of {what} from 1 on, like 1-4 or 1,2,4, got {text!r}")
        numbers |= {*range(int(ends[1]), int(ends[2] or ends[1]) + 1)}
    return sorted(numbers)


def _warn(e: Experiment, exploration: Exploration) -> None:
    """Of a sample that is small for the rates that were measured."""
    if e.sample:
        from tidegate.jobs import events  # noqa: PLC0415
        from tidegate.jobs.sample import repetition_warning  # noqa: PLC0415

        measured = replace(e, peak=max(m.rate for m in exploration.measurements))
        if text := repetition_warning(events(**measured.event_options())):
            err.print(escape(text), soft_wrap=True, highlight=False)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What to do about earlier measurements."""

    more: bool
    fresh: bool


def _checked_budget(e: Experiment, text: str) -> float:
    from tidegate.planner.estimator.search_settings import SHORT  # noqa: PLC0415

    seconds, least = amounts.duration(text), SHORT.for_trigger(e.trigger or 0.0).least_seconds
    if seconds < least:
        raise InvalidInput(f"plan: need --budget >= {least:.0f}s, for one search, got {text}")
    return seconds


def _explored(e: Experiment, space: Space, minutes: float, earlier: _Earlier, folder: PlanFolder) -> Exploration:
    from tidegate.planner.estimator.search_settings import SHORT  # noqa: PLC0415
    from tidegate.planner.explorer import Exploration, ExplorationRules  # noqa: PLC0415
    from tidegate.profiling.campaign import Campaign, simulated_testbed, spark_testbed  # noqa: PLC0415

    kept = () if earlier.fresh else folder.read()
    # what was measured before took its time then
    spent = math.fsum(probe.minutes for probe in kept)
    rules = ExplorationRules(minutes=spent + minutes)
    # who asks for more wants it although the last measurement has raised the error
    exploration = Exploration(space, replace(rules, worse=NEVER) if earlier.more else rules, kept)
    if kept:
        text = f"{len(kept)} measurements in {folder.path} are used again (--more adds to them, --fresh replaces them)"
        err.print(escape(text), soft_wrap=True, highlight=False)
    measured = {(m.slots, m.memory) for m in exploration.measurements} & {(c.slots, c.memory) for c in space}
    if len(measured) >= min(len(space), len(space.corners) + 1) and not earlier.more:
        return exploration
    progress = _Progress(minutes, spent)

    def keep(now: Exploration, estimate: CapacityEstimate | None) -> None:
        folder.write(now)
        progress.probe(now, estimate)

    testbed = simulated_testbed if e.engine == "sim" else spark_testbed
    try:
        return Campaign(e, SHORT, testbed, progress.phase, keep).run(exploration)
    except KeyboardInterrupt:
        complain("interrupted: the same command goes on from what was measured")
        raise typer.Exit(130) from None


class _Progress:
    """Says on standard error what is measured, and how much of the budget is left."""

    def __init__(self, minutes: float, spent: float) -> None:
        self._minutes, self._spent = minutes, spent
        self._done = spent

    def phase(self, question: Question, phase: Phase, seconds: float) -> None:
        from tidegate import units  # noqa: PLC0415

        left = 60 * (self._minutes + self._spent - self._done) - seconds
        what = (
            f"{question.slots} slots ({question.reason}): {type(phase).__name__.lower()} at {units.count(phase.rate)}/s"
        )
        err.print(escape(f"{what}, {units.clock(max(0.0, left))} of the budget left"), soft_wrap=True, highlight=False)

    def probe(self, exploration: Exploration, estimate: CapacityEstimate | None) -> None:
        self._done = exploration.minutes
        last = exploration.probes[-1]
        text = f"{last.slots} slots: {estimate if last.rate is not None else last.failure}"
        err.print(escape(text), soft_wrap=True, highlight=False)


def _plain(
    e: Experiment, exploration: Exploration, capacity: AveragedCapacity, answer: Plan | Refusal
) -> Mapping[str, Any]:
    from tidegate.planner.plan import Plan  # noqa: PLC0415

    return {
        "job": e.job,
        "rate": answer.rate,
        "planned": isinstance(answer, Plan),
        **asdict(answer),
        "probes": [asdict(probe) for probe in exploration.probes],
        "laws": [asdict(weight) for weight in capacity.weights],
        "configuration": _configuration(e, answer.slots, capacity) if isinstance(answer, Plan) else None,
    }


def _configuration(e: Experiment, slots: int, capacity: AveragedCapacity) -> dict[str, Any]:
    executors = -(-slots // e.cores)
    partitions = capacity.tasks.partitions or replace(e, maximum=executors).partition_count
    return {
        "executors": executors,
        "cores": e.cores,
        "memory": e.memory,
        "partitions": partitions,
        "submit": f"--num-executors {executors} --executor-cores {e.cores} --executor-memory {e.memory}m "
        f"--conf spark.sql.shuffle.partitions={partitions}",
        "attach": f"tidegate.attach(query, max_executors={executors})",
    }


def _lines(
    e: Experiment, exploration: Exploration, capacity: AveragedCapacity, answer: Plan | Refusal
) -> Iterator[str]:
    from tidegate import units  # noqa: PLC0415
    from tidegate.planner.next_run import best_run  # noqa: PLC0415
    from tidegate.planner.plan import Plan  # noqa: PLC0415

    yield f"{e.job}: what is sustained, on {exploration.minutes:.0f} minutes of the testbed"
    for slots in sorted({m.slots for m in capacity.measurements}):
        rates = [units.count(m.rate) for m in capacity.measurements if m.slots == slots]
        yield f"  {slots:>4} slots  {', '.join(rates)} records/s"
    laws = [f"{law.law} {units.share(law.weight)}" for law in capacity.weights if law.weight >= 0.05]
    yield f"laws: {', '.join(laws)}"
    if isinstance(answer, Plan):
        configuration = _configuration(e, answer.slots, capacity)
        low, high = answer.interval.low, answer.interval.high
        capacity_text = f"{units.count(answer.capacity.low)} to {units.count(answer.capacity.high)}"
        yield f"{units.count(answer.rate)} records/s: {answer.slots:,} slots, which sustain {capacity_text} (90 %)"
        yield f"  the fewest that could do are {low:,} to {high:,}" if high is not None else f"  at least {low:,}"
        yield f"  spark-submit {configuration['submit']}"
        yield f"  {configuration['attach']}"
        yield f"  partitions of state are fixed at the first start: {configuration['partitions']:,} for this rate"
        if e.price is not None:
            yield f"  {configuration['executors'] * e.price * 730:,.2f} a month if they run all the time"
    else:
        yield f"no plan: {answer.reason}"
    further = best_run(capacity, exploration.space.slots, answer.rate)
    if further.worthwhile:
        yield further.sentence
