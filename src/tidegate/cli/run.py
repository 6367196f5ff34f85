"""`tidegate demo` and `tidegate run`: start a run, show it live, and summarise it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.application import App, EventTime, Keys, SampleFile, Times, query_of
from tidegate.cli.bounds import PORTS, between
from tidegate.cli.console import AsJson, FailIf, Output, StorePath, complain, fail, interrupt_once, show
from tidegate.cli.kafka import KafkaConfig, KafkaOption, kafka_options
from tidegate.cli.stored import write_report
from tidegate.cli.thresholds import Place, Threshold, problems, thresholds
from tidegate.core import InvalidInput, UnknownName, amounts
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from rich.console import Group

    from tidegate.cli.live import View
    from tidegate.experiment import Experiment
    from tidegate.runner import Outcome
    from tidegate.runs import RunResult
    from tidegate.store import Store

SOURCES = ("embedded", "kafka")


def demo(
    output: AsJson = Output.text,
    store: StorePath = STORE,
    quick: Annotated[bool, typer.Option(help="run for one minute only")] = False,
) -> None:
    """Watch real executors come and go: NEXMark q1 under a tide, scaled by hpa-cpu, with a report at the end.

    [bold]tidegate demo[/bold]

    Takes about four minutes. It starts a small Spark cluster on this machine,
    measures the capacity of one executor, offers a load that needs up to three,
    and lets the policy follow it. At the end it checks the streamed result
    against a batch query over the same records.
    """
    from tidegate.runner import demo as runner  # noqa: PLC0415, imports Spark

    experiment = runner.demo_experiment(60.0 if quick else runner.DURATION)

    def start(database: Store, view: View) -> Outcome:
        return runner.run(experiment, database, view)

    _run(experiment, output, store, start)


def run(
    job: Annotated[str, typer.Option(help="q1, q2, q3, q5, q8, q11, wordcount, ysb, traffic, topspeed")] = "q1",
    app: App = None,
    sample: SampleFile = None,
    event_time: EventTime = None,
    time: Times = None,
    key: Keys = None,
    workload: Annotated[str, typer.Option(help="see `tidegate workloads`, or trace:FILE")] = "tide",
    noise: Annotated[float, typer.Option(help="random noise of the load, as a share of the rate: 0.1 is ±10 %")] = 0.0,
    workload_seed: Annotated[
        int | None, typer.Option(help="random seed of the workload; default: the documented one")
    ] = None,
    policy: Annotated[str, typer.Option(help="see `tidegate policies`")] = "hpa-cpu",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-p", help="option of the policy or a guard: NAME=VALUE, like target=0.8; repeatable"),
    ] = None,
    engine: Annotated[str, typer.Option(help="spark, or a simulator: sim or operators")] = "spark",
    mode: Annotated[
        str,
        typer.Option(
            help="active; monitor: decide and record, but never act; native: Spark's own dynamic allocation scales"
        ),
    ] = "active",
    duration: Annotated[
        str | None, typer.Option(help="like 90s, 3m, 1h; default: 3m, or that of the trace", show_default=False)
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="peak rate in records/s, like 250k; default: 100k, or that of the trace", show_default=False),
    ] = None,
    min_executors: Annotated[int, typer.Option(help="fewest executors")] = 1,
    max_executors: Annotated[int, typer.Option(help="most executors")] = 4,
    initial: Annotated[int | None, typer.Option(help="executors at the start; default: the fewest")] = None,
    slo: Annotated[str, typer.Option(help="latency objective")] = "10s",
    safe: Annotated[
        bool,
        typer.Option("--safe/--as-published", help="no scale-in while records are late, or the policy as published"),
    ] = True,
    spread: Annotated[
        bool, typer.Option(help="on Spark: spread state over the executors, or leave it where Spark has it")
    ] = True,
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "4s",
    limit: Annotated[
        int, typer.Option(help="most records of a batch; 0: the arrivals of four triggers at the peak rate")
    ] = 0,
    partitions: Annotated[int, typer.Option(help="partitions of source and shuffle; 0: three per core")] = 0,
    seed: Annotated[int, typer.Option(help="random seed of the records")] = 0,
    skew: Annotated[str, typer.Option(help="skew of the keys: off, default, heavy")] = "default",
    source: Annotated[str, typer.Option(help="embedded, or kafka: read records from a topic")] = "embedded",
    bootstrap: Annotated[str, typer.Option(help="address of the Kafka broker", show_default=False)] = "",
    topic: Annotated[str, typer.Option(help="Kafka topic to read; created if missing")] = "",
    produce: Annotated[bool, typer.Option(help="send records to the topic; otherwise another producer must")] = True,
    sink: Annotated[str | None, typer.Option(help="Kafka topic for the result; default: none")] = None,
    patience: Annotated[str, typer.Option(help="how long to wait for the Kafka broker to answer")] = "60s",
    kafka_option: KafkaOption = None,
    kafka_config: KafkaConfig = None,
    master: Annotated[
        str | None, typer.Option(help="Spark master: spark://…, yarn, k8s://…; default: an embedded cluster")
    ] = None,
    cores: Annotated[int, typer.Option(help="cores of an executor")] = 1,
    memory: Annotated[int, typer.Option(help="heap of an executor, MiB")] = 512,
    quota: Annotated[float | None, typer.Option(help="CPU limit of a local executor, in cores")] = None,
    grace: Annotated[float, typer.Option(help="CPU-seconds that an executor may use before its quota applies")] = 20.0,
    verify: Annotated[bool, typer.Option(help="check the streamed result against a batch query")] = True,
    ui_port: Annotated[
        int | None, typer.Option(help="port of Spark's web UI; default: no UI", callback=between(0, PORTS))
    ] = None,
    fail_if: FailIf = None,
    sinks: Annotated[
        str, typer.Option(help="additional sinks for observations, like jsonl:ticks.jsonl", show_default=False)
    ] = "",
    output: AsJson = Output.text,
    store: StorePath = STORE,
) -> None:
    """Run a benchmark job, or your own query, under a changing load and let a policy scale it.

    [bold]tidegate run --job q11 --workload cosine --rate 80k --duration 5m[/bold]
    [bold]tidegate run --app orders.py --sample orders.parquet --event-time at --rate 20k[/bold]
    [bold]tidegate run --policy ds2 -p overprovision=1.3 --quota 0.3[/bold]
    [bold]tidegate run --engine sim --workload trace:monday.parquet[/bold]
    [bold]tidegate run --duration 10m --fail-if "late>1%" --fail-if "verified==false"[/bold]

    Records are generated inside Spark unless --source kafka reads them from a
    topic. The run is stored, and a report is written at the end. Ctrl-C, SIGTERM
    and a closed terminal end it early: what was seen is kept and reported.
    """
    from tidegate.cli import values  # noqa: PLC0415
    from tidegate.experiment import Experiment, Kafka  # noqa: PLC0415
    from tidegate.sinks import find_sinks  # noqa: PLC0415

    conditions = thresholds(fail_if)
    if source not in SOURCES:
        raise UnknownName("source", source, SOURCES)
    if source == "embedded" and (bootstrap or topic or sink or kafka_option or kafka_config):
        raise InvalidInput("run: --bootstrap, --topic, --sink and --kafka-… are for --source kafka")
    other_sinks = find_sinks(sinks)
    seconds, peak = values.extent(workload, duration, rate)
    name, records = query_of("run", job, app, sample, event_time, time, key)
    experiment = Experiment(
        job=name,
        sample=records,
        workload=workload,
        workload_seed=workload_seed,
        noise=noise,
        policy=policy,
        options=values.options(option or []),
        engine=engine,
        mode=mode,
        duration=seconds,
        peak=peak,
        minimum=min_executors,
        maximum=max_executors,
        initial=initial,
        slo=amounts.duration(slo),
        safe=safe,
        spread=spread,
        trigger=amounts.duration(trigger),
        limit=limit,
        partitions=partitions,
        seed=seed,
        skew=skew,
        kafka=Kafka(
            bootstrap, topic, produce, sink, amounts.duration(patience), kafka_options(kafka_option, kafka_config)
        )
        if source == "kafka"
        else None,
        master=master,
        cores=cores,
        memory=memory,
        quota=quota,
        grace=grace,
        verify=verify,
        ui_port=ui_port,
    )

    def start(database: Store, view: View) -> Outcome:
        from tidegate import runner  # noqa: PLC0415

        return runner.run(experiment, database, view.say, (view, *other_sinks))

    if any(sink.name == "log" for sink in other_sinks):
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    _run(experiment, output, store, start, conditions)


def _run(
    e: Experiment,
    output: Output,
    store: Path,
    start: Callable[[Store, View], Outcome],
    conditions: Sequence[Threshold] = (),
) -> None:
    """Start a run, show it live, and write its report; the exit code tells how it ended."""
    from tidegate.cli.live import view as live_view  # noqa: PLC0415
    from tidegate.runs import encode  # noqa: PLC0415
    from tidegate.store import Store  # noqa: PLC0415

    interrupt_once()
    with Store.open(store) as database:
        with live_view(e) as view:
            outcome = start(database, view)
        path = write_report(database, outcome.run, store, None) if outcome.run else None
    result, report = outcome.result, None if path is None else str(path)
    plain = {} if result is None else encode(result)
    show(output, {**plain, "report": report}, _summary(result, e, str(report)))
    if outcome.status == "interrupted":
        raise typer.Exit(130)
    if result is not None and result.verified is False:
        complain("the streamed result differs from the batch result over the same records")
    if result is not None:
        _judge(result, conditions)


def _judge(result: RunResult, conditions: Sequence[Threshold]) -> None:
    """Exit with the code for a result that is wrong, or that breaks a threshold."""
    broken = problems(conditions, [Place(f"run {result.run}", result.policy, True, [result])])
    if result.verified is False:
        for problem in broken:
            complain(problem)
        raise typer.Exit(1)
    fail(broken)


def _summary(result: RunResult | None, e: Experiment, report: str) -> Group | str:
    from tidegate.cli.run_view import summary  # noqa: PLC0415

    if result is None:
        return "interrupted before the query started: nothing was stored"
    return summary(result, e.maximum, report)
