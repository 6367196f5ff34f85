"""`tidegate demo` and `tidegate run`: start a run, show it, sum it up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.cli.console import AsJson, Output, StorePath, complain, interrupt_once, show
from tidegate.cli.stored import write_report
from tidegate.core import InvalidInput, UnknownName, amounts
from tidegate.store import DEFAULT_PATH, Store

SOURCES = ("embedded", "kafka")


def demo(
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
    quick: Annotated[bool, typer.Option(help="a minute only")] = False,
) -> None:
    """Watch real executors come and go: NEXMark q1 under a tide, scaled by hpa-cpu, with a report at the end.

    Takes about four minutes: starts a small Spark cluster inside this command, offers it a load that rises and falls,
    lets the policy follow it, and checks the streamed result against one batch query over the same records.
    """
    from tidegate.experiment import Experiment  # noqa: PLC0415, Spark only for those who use it

    chosen = Experiment(
        duration=60.0 if quick else 180.0,
        peak=180_000.0,
        maximum=3,
        # three executors of a third of a core leave half a core of a two-core machine to the driver
        quota=0.35,
        partitions=6,
        # a tide of minutes, not of a day: everything that Kubernetes counts in minutes is counted in seconds; half the
        # usual CPU, since one executor of a fast machine could do it all and nothing would be seen
        options={"interval": 5, "window": 10, "readiness": 10, "down-window": 15, "target": 0.35},
        slo=15.0,
    )
    _run(chosen, output, store)


def run(
    job: Annotated[str, typer.Option(help="q1, q2, q3, q5, q8, q11, wordcount, ysb, traffic, topspeed")] = "q1",
    workload: Annotated[str, typer.Option(help="a name of `tidegate workloads`, or trace:FILE")] = "tide",
    noise: Annotated[float, typer.Option(help="seeded, as a share of the rate: 0.1 for ±10 %")] = 0.0,
    workload_seed: Annotated[int | None, typer.Option(help="of the workload; if not given, its documented one")] = None,
    policy: Annotated[str, typer.Option(help="a name of `tidegate policies`")] = "hpa-cpu",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-p", help="of the policy or a guard: NAME=VALUE")
    ] = None,
    engine: Annotated[str, typer.Option(help="spark, or simulated: sim, operators")] = "spark",
    mode: Annotated[
        str,
        typer.Option(
            help="active; monitor: decide and record, never act; native: Spark's own dynamic allocation scales"
        ),
    ] = "active",
    duration: Annotated[
        str | None, typer.Option(help="like 90s, 3m, 1h; if not given, 3m, or a trace's own", show_default=False)
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="highest offered rate, like 250k; if not given, 100k, or a trace's own", show_default=False),
    ] = None,
    min_executors: Annotated[int, typer.Option(help="never fewer")] = 1,
    max_executors: Annotated[int, typer.Option(help="never more")] = 4,
    initial: Annotated[int | None, typer.Option(help="executors at the start; if not given, the fewest")] = None,
    slo: Annotated[str, typer.Option(help="how long a record may take")] = "10s",
    trigger: Annotated[str, typer.Option(help="time between micro-batches")] = "4s",
    limit: Annotated[
        int, typer.Option(help="most records of one batch; 0: what comes in four triggers at the peak")
    ] = 0,
    partitions: Annotated[int, typer.Option(help="of source and shuffle; 0: three a core")] = 0,
    seed: Annotated[int, typer.Option(help="of the records")] = 0,
    skew: Annotated[str, typer.Option(help="of the keys: off, default, heavy")] = "default",
    source: Annotated[str, typer.Option(help="embedded, or kafka: records come through a topic")] = "embedded",
    bootstrap: Annotated[str, typer.Option(help="address of the Kafka broker", show_default=False)] = "",
    topic: Annotated[str, typer.Option(help="from which records are read; made if need be")] = "",
    produce: Annotated[bool, typer.Option(help="fill the topic; else somebody else does")] = True,
    sink: Annotated[str | None, typer.Option(help="topic to which the result goes; if not given, nowhere")] = None,
    patience: Annotated[str, typer.Option(help="how long to wait for a Kafka broker that does not answer")] = "60s",
    master: Annotated[
        str | None, typer.Option(help="spark://…, yarn, k8s://…; if not given, an embedded cluster")
    ] = None,
    cores: Annotated[int, typer.Option(help="of an executor")] = 1,
    memory: Annotated[int, typer.Option(help="heap of an executor, MiB")] = 512,
    quota: Annotated[float | None, typer.Option(help="cores that an executor on this machine may really use")] = None,
    grace: Annotated[float, typer.Option(help="CPU-seconds that an executor may use before its quota holds")] = 20.0,
    verify: Annotated[bool, typer.Option(help="check the result against one batch query")] = True,
    ui_port: Annotated[int | None, typer.Option(help="port of Spark's web page; if not given, there is none")] = None,
    output: AsJson = Output.text,
    store: StorePath = DEFAULT_PATH,
) -> None:
    """Run a benchmark job under a moving load and let a policy scale it.

    [bold]tidegate run --job q11 --workload cosine --policy hpa-cpu --rate 80k --duration 5m --quota 0.3[/bold]
    """
    from tidegate.cli import values  # noqa: PLC0415
    from tidegate.experiment import Experiment, Kafka  # noqa: PLC0415

    if source not in SOURCES:
        raise UnknownName("source", source, SOURCES)
    if source == "embedded" and (bootstrap or topic or sink):
        raise InvalidInput("run: --bootstrap, --topic and --sink are for --source kafka")
    seconds, peak = values.extent(workload, duration, rate)
    chosen = Experiment(
        job=job,
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
        trigger=amounts.duration(trigger),
        limit=limit,
        partitions=partitions,
        seed=seed,
        skew=skew,
        kafka=Kafka(bootstrap, topic, produce, sink, amounts.duration(patience)) if source == "kafka" else None,
        master=master,
        cores=cores,
        memory=memory,
        quota=quota,
        grace=grace,
        verify=verify,
        ui_port=ui_port,
    )
    _run(chosen, output, store)


def _run(experiment: Any, output: Output, store: Path) -> None:
    from tidegate.cli.live import view  # noqa: PLC0415
    from tidegate.runner import run as start  # noqa: PLC0415

    interrupt_once()
    with Store.open(store) as kept:
        with view(experiment) as seen:
            outcome = start(experiment, kept, seen.say, seen.tick)
        path = write_report(kept, outcome.run, store, None) if outcome.run else None
    result = {**outcome.result, "report": None if path is None else str(path)}
    show(output, result, _summary(result))
    if outcome.status == "interrupted":
        raise typer.Exit(130)
    if result.get("verified") is False:
        complain("the streamed result differs from the batch result over the same records")
        raise typer.Exit(1)


def _summary(result: dict[str, Any]) -> Table | str:
    if not result.get("run"):
        return "interrupted before the query started: nothing was stored"
    table = Table(title=f"run {result['run']}: {result['status']}", title_justify="left", show_header=False)
    latency, workers, rescales = result["latency"] or {}, result["workers"] or {}, result["rescales"]
    offered = "" if result["offered"] is None else f"{result['offered']:,} offered, "
    table.add_row("records", f"{offered}{result['processed']:,} processed, {result['lost']:,} lost")
    if found := result.get("kafka"):
        table.add_row("topic", _topic(found))
    if found := result.get("sink"):
        told = f"{found['rows']:,} rows, {found['duplicates']:,} of them twice, {found['losses']:,} missing"
        table.add_row("sink", f"{escape(found['topic'])}: {told}")
    if latency:
        table.add_row("latency", ", ".join(f"{key} {latency[key]:.1f} s" for key in ("p50", "p95", "p99", "max")))
        table.add_row(
            "SLO", f"{result['slo']['violated']:.1%} of records took longer than {result['slo']['target']:g} s"
        )
    if workers:
        used = f"{workers['mean']:.2f} on average, {workers['max']} at most, {workers['seconds']:.0f} executor-seconds"
        table.add_row("executors", used)
    table.add_row("rescales", f"{rescales['up']} up, {rescales['down']} down; {result['rerun_tasks']} tasks ran again")
    verdict = {True: "yes: stream and batch agree", False: "NO: stream and batch differ", None: "not checked"}
    table.add_row("verified", verdict[result["verified"]])
    table.add_row("report", escape(str(result["report"])))
    return table


def _topic(found: dict[str, Any]) -> str:
    told = f"{escape(found['topic'])}: {found['read']:,} rows read, {found['malformed']:,} of them no records"
    if found["produced"] is None:
        return told
    doubled = f"{found['duplicates']:,} duplicates, {found['losses']:,} losses of {found['produced']:,} produced"
    return f"{told}; {doubled}; producer at most {found['behind']:.1f} s behind"
