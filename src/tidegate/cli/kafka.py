"""`tidegate broker`, `produce` and `sample`: a local Kafka broker, a load for it, and records of a topic as a file."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tidegate.cli.bounds import MANY, PORTS, SEEDS, between
from tidegate.cli.console import ENDING, AsJson, Output, complain, err, out, show
from tidegate.core import EnvironmentMissing, InvalidInput, TidegateError, amounts

if TYPE_CHECKING:
    from tidegate.kafka import ProducerResult, Progress, Target

BOOTSTRAP = "127.0.0.1:9092"
#: seconds between two lines of progress, and without an acknowledgement until a stall is reported
LINE, STALL = 5.0, 2.0
KafkaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kafka-option",
        help="option of Kafka's clients: NAME=VALUE, like security.protocol=SSL; kafka.NAME for Spark's; repeatable",
        show_default=False,
    ),
]
KafkaConfig = Annotated[
    Path | None, typer.Option("--kafka-config", help="file with such options, for secrets", show_default=False)
]


def kafka_options(flags: list[str] | None, file: Path | None) -> dict[str, str]:
    from tidegate.kafka.options import gather  # noqa: PLC0415

    return gather(flags or [], file)


def broker(
    port: Annotated[int, typer.Option(help="port on 127.0.0.1", callback=between(1, PORTS))] = 9092,
    data: Annotated[Path | None, typer.Option(help="folder for its data; default: a temporary one")] = None,
    partitions: Annotated[
        int, typer.Option(help="default number of partitions of a topic", callback=between(1, MANY))
    ] = 4,
) -> None:
    """Run a real Kafka broker on this machine until Ctrl-C.

    [bold]tidegate broker --port 9092[/bold]
    """
    from tidegate.kafka import Broker  # noqa: PLC0415

    stop = stopped_by_signals()
    with Broker(data, port=port, partitions=partitions, say=say) as run:
        where = escape(f"Kafka broker at {run.address}, data and log in {run.folder}")
        out.print(where, soft_wrap=True, highlight=False)
        other = "" if run.address == BOOTSTRAP else f" --bootstrap {run.address}"
        say(f"next, in another terminal: tidegate produce --topic events --rate 10k --duration 1m{other}")
        while run.pid is not None and not stop.wait(0.5):
            pass
        if run.pid is None:
            raise EnvironmentMissing(f"the Kafka broker at {run.address} stopped unexpectedly: {run.log_tail()}")
        say("stopping the broker")


def produce(
    topic: Annotated[str, typer.Option(help="topic to fill; created if missing")],
    events: Annotated[str | None, typer.Option(help="kind of records; default: those of --job, or ysb")] = None,
    job: Annotated[str | None, typer.Option(help="send the records that this job reads")] = None,
    workload: Annotated[str, typer.Option(help="see `tidegate workloads`")] = "constant",
    rate: Annotated[str, typer.Option(help="peak rate in records/s, like 100k")] = "10k",
    duration: Annotated[str, typer.Option(help="like 90s, 3m, 1h")] = "1m",
    bootstrap: Annotated[str, typer.Option(help="address of the broker")] = BOOTSTRAP,
    partitions: Annotated[int, typer.Option(help="partitions of a new topic", callback=between(1, MANY))] = 4,
    seed: Annotated[int, typer.Option(help="random seed of the records", callback=between(0, SEEDS))] = 0,
    patience: Annotated[str, typer.Option(help="how long to wait for the broker to answer")] = "30s",
    kafka_option: KafkaOption = None,
    kafka_config: KafkaConfig = None,
    output: AsJson = Output.text,
) -> None:
    """Send a job's records to a Kafka topic, at the rates of a workload.

    [bold]tidegate produce --topic ads --events ysb --workload tide --rate 50k[/bold]
    """
    from tidegate import kafka  # noqa: PLC0415
    from tidegate.jobs import events as kinds  # noqa: PLC0415
    from tidegate.kafka.options import resolve  # noqa: PLC0415
    from tidegate.workloads import named  # noqa: PLC0415

    peak = amounts.rate(rate)
    shape = named(workload, amounts.duration(duration), peak)
    kind = kinds(_kind(events, job), seed=seed, rate=peak)
    options = resolve(kafka_options(kafka_option, kafka_config))
    stop = stopped_by_signals()
    kafka.wait_for_broker(bootstrap, amounts.duration(patience), say, options)
    target = kafka.Target(bootstrap, topic, kafka.create_topic(bootstrap, topic, partitions, options), options)
    _warn_about_topic(target, partitions)
    result = kafka.produce(kafka.Load(kind, shape), target, stop=stop, on_progress=Teller())
    show(output, {"topic": topic, "bootstrap": bootstrap, **asdict(result)}, escape(summary(topic, result)))
    if result.failed:
        complain(result.error or f"{result.failed:,} records failed")
        raise typer.Exit(1)
    if stop.is_set():
        raise typer.Exit(130)


def sample(
    topic: Annotated[str, typer.Argument(help="topic whose records are JSON objects")],
    to: Annotated[Path, typer.Option("--to", "-o", help="Parquet file to write")] = Path("sample.parquet"),
    records: Annotated[str, typer.Option(help="how many, like 100k; the last ones of each partition")] = "100k",
    bootstrap: Annotated[str, typer.Option(help="address of the broker")] = BOOTSTRAP,
    patience: Annotated[str, typer.Option(help="how long to wait for the broker to answer")] = "30s",
    kafka_option: KafkaOption = None,
    kafka_config: KafkaConfig = None,
    output: AsJson = Output.text,
) -> None:
    """Save records of a Kafka topic as a sample for your own query.

    [bold]tidegate sample orders --records 200k -o orders.parquet[/bold]
    [bold]tidegate run --app orders.py --sample orders.parquet --event-time at[/bold]
    """
    import pyarrow.parquet  # noqa: PLC0415

    from tidegate import kafka  # noqa: PLC0415
    from tidegate.kafka.options import resolve  # noqa: PLC0415
    from tidegate.kafka.sample import read_sample  # noqa: PLC0415

    options = resolve(kafka_options(kafka_option, kafka_config))
    kafka.wait_for_broker(bootstrap, amounts.duration(patience), say, options)
    table = read_sample(bootstrap, topic, round(amounts.count(records)), options, say)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, to)
    except OSError as error:
        raise InvalidInput(f"cannot write {to}: {error.strerror or error}") from None
    columns = ", ".join(f"{field.name} {field.type}" for field in table.schema)
    text = f"{to}: {table.num_rows:,} records of {topic}: {columns}"
    show(
        output,
        {"file": str(to), "topic": topic, "records": table.num_rows, "columns": table.column_names},
        escape(text),
    )


class Teller:
    """Prints progress every few seconds, and at once when the broker stalls or recovers."""

    def __init__(self) -> None:
        self._printed = self._moved = 0.0
        self._acknowledged = 0
        self._stalled = False

    def __call__(self, now: Progress) -> None:
        moved = now.acknowledged > self._acknowledged
        if moved or now.acknowledged == now.offered:
            self._moved, self._acknowledged = now.time, now.acknowledged
        stalled = now.time - self._moved >= STALL
        if stalled != self._stalled or now.time - self._printed >= LINE:
            self._stalled, self._printed = stalled, now.time
            say(line(now, stalled))


def line(now: Progress, stalled: bool) -> str:
    if stalled:
        waiting = now.offered - now.acknowledged
        return f"{now.time:.0f} s: the broker takes nothing; {waiting:,} records wait for it, none is lost"
    return f"{now.time:.0f} s: {now.acknowledged:,} records acknowledged, {now.behind:.2f} s behind the workload"


def summary(topic: str, result: ProducerResult) -> str:
    left = result.sent - result.acknowledged - result.failed
    rest = f", {left:,} not acknowledged when it was stopped" if left else ""
    lost = f", {result.failed:,} failed" if result.failed else ""
    mean = result.acknowledged / result.seconds if result.seconds > 0 else 0.0
    return (
        f"{topic}: {result.acknowledged:,} records acknowledged in {result.seconds:.1f} s{lost}{rest}"
        f" ({mean:,.0f}/s), at most {result.behind:.2f} s behind the workload"
    )


def fetch() -> None:
    """Download Spark's Kafka connector. A failure is only reported: the broker works without it."""
    from tidegate.kafka import connector  # noqa: PLC0415

    try:
        connector(say=say)
    except TidegateError as error:
        complain(str(error))


def say(sentence: str) -> None:
    err.print(escape(sentence), soft_wrap=True, highlight=False)


def _kind(events: str | None, job: str | None) -> str:
    from tidegate.jobs import job as jobs  # noqa: PLC0415

    if events and job:
        raise InvalidInput(f"give --events or --job, not both: got {events} and {job}")
    return jobs(job).events if job else events or "ysb"


def _warn_about_topic(target: Target, requested: int) -> None:
    """Say so if the topic existed with other partitions, or holds records."""
    from tidegate.kafka import begin_offsets, end_offsets  # noqa: PLC0415

    bootstrap, topic, options = target.bootstrap, target.topic, target.options
    if target.partitions != requested:
        say(f"topic {topic} already exists with {target.partitions} partitions, not {requested}")
    end, begin = end_offsets(bootstrap, topic, options), begin_offsets(bootstrap, topic, options)
    held = sum(end.values()) - sum(begin.values())
    if held:
        say(f"topic {topic} holds {held:,} records already: new ones are numbered from 0 again")


def stopped_by_signals() -> threading.Event:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets; the second one exits at once."""
    stop, received = threading.Event(), list[int]()

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            sys.exit(130)
        # in another thread: this one may hold the event's lock while it waits for the event
        threading.Thread(target=stop.set).start()

    for number in ENDING:
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)
    return stop
