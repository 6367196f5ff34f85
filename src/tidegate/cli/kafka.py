"""`tidegate broker` and `tidegate produce`: Kafka to try things with, and the load that goes into it."""

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

from tidegate.cli.console import AsJson, Output, complain, err, out, show
from tidegate.core import EnvironmentMissing, InvalidInput, TidegateError, amounts

if TYPE_CHECKING:
    from tidegate.kafka import Produced, Progress

BOOTSTRAP = "127.0.0.1:9092"
#: seconds between two lines, and without an acknowledgement before that is worth a word
LINE, STALL = 5.0, 2.0


def broker(
    port: Annotated[int, typer.Option(help="on 127.0.0.1, where it listens")] = 9092,
    data: Annotated[Path | None, typer.Option(help="folder to keep its data in; if not given, they go with it")] = None,
    partitions: Annotated[int, typer.Option(help="of topics that do not say how many")] = 4,
) -> None:
    """Run a real Kafka broker on this machine until Ctrl-C.

    [bold]tidegate broker --port 9092[/bold]
    """
    from tidegate.kafka import Broker  # noqa: PLC0415

    stop = stopped_by_signals()
    with Broker(data, port=port, partitions=partitions, say=say) as run:
        out.print(f"Kafka broker at {run.address}, data and log in {run.folder}", soft_wrap=True, highlight=False)
        other = "" if run.address == BOOTSTRAP else f" --bootstrap {run.address}"
        say(f"next, in another terminal: tidegate produce --topic events --rate 10k --duration 1m{other}")
        while run.pid is not None and not stop.wait(0.5):
            pass
        if run.pid is None:
            raise EnvironmentMissing(f"the Kafka broker at {run.address} ended by itself: {run.last_words()}")
        say("stopping the broker")


def produce(
    topic: Annotated[str, typer.Option(help="made if it is not there")],
    events: Annotated[str | None, typer.Option(help="kind of records; if not given, the job's, or ysb")] = None,
    job: Annotated[str | None, typer.Option(help="send what this job reads")] = None,
    workload: Annotated[str, typer.Option(help="see `tidegate workloads`")] = "constant",
    rate: Annotated[str, typer.Option(help="highest rate, like 100k")] = "10k",
    duration: Annotated[str, typer.Option(help="like 90s, 3m, 1h")] = "1m",
    bootstrap: Annotated[str, typer.Option(help="address of the broker")] = BOOTSTRAP,
    partitions: Annotated[int, typer.Option(help="of the topic, where it has to be made")] = 4,
    seed: Annotated[int, typer.Option(help="of the records")] = 0,
    patience: Annotated[str, typer.Option(help="how long to wait for the broker at the start")] = "30s",
    output: AsJson = Output.text,
) -> None:
    """Send a job's records to a Kafka topic, as fast as a workload says.

    [bold]tidegate produce --topic ads --events ysb --workload tide --rate 50k --duration 3m[/bold]
    """
    from tidegate import kafka  # noqa: PLC0415
    from tidegate.jobs import events as kinds  # noqa: PLC0415
    from tidegate.workloads import named  # noqa: PLC0415

    peak = amounts.rate(rate)
    shape = named(workload, amounts.duration(duration), peak)
    kind = kinds(_kind(events, job), seed=seed, rate=peak)
    stop = stopped_by_signals()
    kafka.reach(bootstrap, amounts.duration(patience), say)
    found = kafka.create(bootstrap, topic, partitions)
    _tell_what_is_there(bootstrap, topic, partitions, found)
    target = kafka.Target(bootstrap, topic, found)
    made = kafka.produce(kafka.Load(kind, shape), target, stop=stop, tell=Teller())
    show(output, {"topic": topic, "bootstrap": bootstrap, **asdict(made)}, escape(summary(topic, made)))
    if made.failed:
        complain(made.error or f"{made.failed:,} records failed")
        raise typer.Exit(1)
    if stop.is_set():
        raise typer.Exit(130)


class Teller:
    """A line now and then of how it goes, at once when the broker takes nothing more, and when it does again."""

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


def summary(topic: str, made: Produced) -> str:
    left = made.sent - made.acknowledged - made.failed
    rest = f", {left:,} not acknowledged when it was stopped" if left else ""
    lost = f", {made.failed:,} failed" if made.failed else ""
    mean = made.acknowledged / made.seconds if made.seconds > 0 else 0.0
    return (
        f"{topic}: {made.acknowledged:,} records acknowledged in {made.seconds:.1f} s{lost}{rest}"
        f" ({mean:,.0f}/s), at most {made.behind:.2f} s behind the workload"
    )


def fetch() -> None:
    """Get what Spark needs to read from Kafka; without it a broker is still of use, so what is missing is told."""
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


def _tell_what_is_there(bootstrap: str, topic: str, wanted: int, found: int) -> None:
    from tidegate.kafka import begins, ends  # noqa: PLC0415

    if found != wanted:
        say(f"topic {topic} has {found} partitions, not {wanted}: it was there before")
    held = sum(ends(bootstrap, topic).values()) - sum(begins(bootstrap, topic).values())
    if held:
        say(f"topic {topic} holds {held:,} records already: new ones are numbered from 0 again")


def stopped_by_signals() -> threading.Event:
    """Set by the first Ctrl-C or polite kill; the second one ends at once."""
    stop, seen = threading.Event(), list[int]()

    def set_it(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            sys.exit(130)
        # by another thread: this one may be holding the event's lock, in the middle of waiting for it
        threading.Thread(target=stop.set).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, set_it)
    return stop
