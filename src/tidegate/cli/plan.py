"""`tidegate plan`: what a query will need, from short runs on a small testbed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tidegate.cli.application import App, EventTime, Keys, SampleFile, Times, query_of
from tidegate.cli.console import AsJson, Output, complain, err, interrupt_once, out, print_json
from tidegate.cli.kafka import KafkaConfig, KafkaOption
from tidegate.cli.plan_source import DEFAULT, Bootstrap, QueryFlags, Records, Source, SourceFlags, Topic, recorded
from tidegate.core import InvalidInput, UnknownName, amounts

if TYPE_CHECKING:
    from tidegate.cli.plan_needs import AskedNeeds
    from tidegate.cli.plan_run import PlanDone, PlanRequest
    from tidegate.experiment.settings import Experiment

#: the engines on which a testbed can be
ENGINES = ("spark", "sim")


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
    slo: Annotated[str | None, typer.Option(help="latency that records may have, like 10s")] = None,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "4s",
    partitions: Annotated[
        int, typer.Option(help="partitions of source and shuffle, if they are fixed; 0: three for each slot")
    ] = 0,
    cores: Annotated[int, typer.Option(help="cores of an executor")] = 1,
    memory: Annotated[str, typer.Option(help="heap of an executor in MiB, or several to try, like 512,1024")] = "512",
    quota: Annotated[float | None, typer.Option(help="CPU limit of a local executor, in cores")] = None,
    trace: Annotated[str | None, typer.Option(help="traffic to plan for: time and rate, as Parquet or CSV")] = None,
    recovery: Annotated[str | None, typer.Option(help="time in which it recovers from a failure, like 3m")] = None,
    outage: Annotated[str | None, typer.Option(help="time to detect a failure and restart; 110s by default")] = None,
    policy: Annotated[str, typer.Option(help="what scales on the day of --trace; see `tidegate policies`")] = "hpa-cpu",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-p", help="option of the policy, NAME=VALUE; repeatable")
    ] = None,
    price: Annotated[float | None, typer.Option(help="price of an executor per hour")] = None,
    model: Annotated[str, typer.Option(help="simulator model, a file from `tidegate calibrate`")] = "",
    validate: Annotated[
        int, typer.Option("--validate", help="one run with so many executors, more than the testbed's; 0: none")
    ] = 0,
    trial: Annotated[
        bool | None,
        typer.Option("--trial/--no-trial", help="try the planned state partitions; by default if there is time"),
    ] = None,
    more: Annotated[bool, typer.Option("--more", help="measure further, where measurements are there already")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="measure again what was measured before")] = False,
    output: AsJson = Output.text,
) -> None:
    """Find out what a query needs for a rate, from short runs on a small testbed.

    [bold]tidegate plan --job q5 --rate 2M --quota 0.3 --slo 10s[/bold]
    [bold]tidegate plan --app orders.py --sample orders.parquet --event-time at --rate 500k[/bold]
    [bold]tidegate plan --job ysb --source kafka --bootstrap localhost:9092 --topic ads --rate 50k[/bold]
    [bold]tidegate plan --job q1 --rate 2M --trace week.parquet --recovery 3m --price 0.05[/bold]
    [bold]tidegate plan --engine sim --job q11 --rate 2M --testbed 1-16 --budget 3h[/bold]

    For some numbers of executors it searches the rate that the query sustains.
    The capacity with more executors is an average over laws, weighted by how
    well each predicted the measurements. Costs and state of the largest run give
    partitions, memory, trigger and batches for the rate. What is measured is
    kept: an interrupted command goes on from it, another --rate is answered from
    it, and --more adds to it.
    """
    from tidegate.cli.plan_needs import asked_needs  # noqa: PLC0415
    from tidegate.cli.plan_run import Earlier, Extra, PlanRequest, PlanRun  # noqa: PLC0415
    from tidegate.experiment.settings import Experiment  # noqa: PLC0415
    from tidegate.planner.answer import Wanted  # noqa: PLC0415

    if engine not in ENGINES:
        raise UnknownName("engine of a testbed", engine, ENGINES)
    target, executors, heaps = amounts.rate(rate), numbers_of(testbed), numbers_of(memory, "MiB of heap", 6)
    if not target > 0:
        raise InvalidInput(f"plan: need --rate > 0, got {target:g}")
    validated = _checked_validation(validate, executors)
    flags = SourceFlags(source, bootstrap, topic, records, kafka_option, kafka_config)
    recording = recorded(flags, QueryFlags(job, app, sample, event_time, time, key), engine, target)
    name, file = query_of("plan", job, app, recording.sample, event_time, time, key)
    e = Experiment(
        job=name, sample=file, kafka=recording.kafka, engine=engine, model=model, trigger=amounts.duration(trigger),
        partitions=partitions, cores=cores, memory=max(heaps), quota=quota,
        policy="static", maximum=validated or max(executors), duration=3600.0, period=1.0, price=price,
    )  # fmt: skip
    latency = _checked_slo(slo)
    asked = asked_needs(e, trace, latency, recovery, outage, price, policy, option)
    wanted = Wanted(target, cores, partitions or None, latency, asked.highest(target))
    request = PlanRequest(
        e, wanted, tuple(executors), tuple(heaps),
        _checked_budget(e, budget), Extra(validated, trial), Earlier(more, fresh),
    )  # fmt: skip
    _warn(request)
    interrupt_once()
    try:
        done = PlanRun(request).carry_out()
    except KeyboardInterrupt:
        complain("interrupted: the same command goes on from what was measured")
        raise typer.Exit(130) from None
    _show(done, asked, output)


def _show(done: PlanDone, asked: AskedNeeds, output: Output) -> None:
    """Print the answer, and leave page, model and profile in the folder of the plan."""
    from tidegate.cli.plan_measurements import PlanFolder  # noqa: PLC0415
    from tidegate.cli.plan_needs import needs_of  # noqa: PLC0415
    from tidegate.cli.plan_page import page_of  # noqa: PLC0415
    from tidegate.cli.plan_progress import say  # noqa: PLC0415
    from tidegate.cli.plan_view import further_run, lines, plain  # noqa: PLC0415
    from tidegate.planner.needs.description import describe_needs, plain_needs  # noqa: PLC0415
    from tidegate.report.plan import render  # noqa: PLC0415

    e, answered = done.request.e, done.answer
    state = getattr(answered.configuration, "state", None)
    planned = needs_of(
        e, answered.capacity, answered.known.figures, answered.outcome, asked,
        partitions=state.partitions if state else None, no_figures=answered.known.no_figures, say=say,
    )  # fmt: skip
    folder, further = PlanFolder(e), further_run(done)
    files = {**planned.files, "plan.html": render(page_of(done, planned.needs, asked, further))}
    paths = [folder.save(name, content) for name, content in files.items()]
    if output is Output.json:
        print_json({**plain(done), "needs": plain_needs(planned.needs, asked.price), "files": [*map(str, paths)]})
        return
    # the rate is in the lines of the plan, unless it has a price
    needs = [*describe_needs(planned.needs, asked.price)][0 if asked.price else 1 :]
    for line in (*lines(done), *needs, *([further.sentence] if further else [])):
        out.print(escape(line), soft_wrap=True, highlight=False)
    out.print(escape(f"page, model and profile: {' '.join(map(str, reversed(paths)))}"), soft_wrap=True)


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


def _checked_slo(text: str | None) -> float | None:
    seconds = None if text is None else amounts.duration(text)
    if seconds is not None and not seconds > 0:
        raise InvalidInput(f"plan: need --slo > 0, got {text}")
    return seconds


def _checked_validation(executors: int, testbed: list[int]) -> int | None:
    """A run among those that the capacity is learnt from validates nothing."""
    if executors and executors <= max(testbed):
        raise InvalidInput(f"plan: need --validate > {max(testbed)}, the executors of the testbed, got {executors}")
    return executors or None


def _checked_budget(e: Experiment, text: str) -> float:
    from tidegate.planner.estimator.search_settings import SHORT  # noqa: PLC0415
    from tidegate.profiling.search_run import shortest  # noqa: PLC0415

    seconds, least = amounts.duration(text), shortest(SHORT.for_trigger(e.trigger))
    if seconds < least:
        raise InvalidInput(f"plan: need --budget >= {least:.0f}s, for one search and its start, got {text}")
    return seconds


def _warn(request: PlanRequest) -> None:
    """Of a sample that is small for the rate. One that cannot be used is refused, before anything runs."""
    if request.e.sample:
        from tidegate.jobs import events  # noqa: PLC0415
        from tidegate.jobs.sample import repetition_warning  # noqa: PLC0415

        at_target = replace(request.e, peak=request.wanted.rate)
        if text := repetition_warning(events(**at_target.event_options())):
            err.print(escape(text), soft_wrap=True, highlight=False)
