"""Flags for a plan whose records are those of a Kafka topic, and the recording of that topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.kafka import kafka_options, say
from tidegate.core import InvalidInput, UnknownName, amounts

if TYPE_CHECKING:
    from tidegate.experiment.settings import Kafka
    from tidegate.jobs import Events, Sample

SOURCES = ("embedded", "kafka")
#: folder of recordings, beside what was measured with them
RECORDED = "recorded"
DEFAULT = "200k"
Source = Annotated[
    str, typer.Option("--source", help="embedded, or kafka: records of a topic, sent again at the rates of the search")
]
Bootstrap = Annotated[str, typer.Option("--bootstrap", help="address of the Kafka broker", show_default=False)]
Topic = Annotated[str, typer.Option("--topic", help="recorded Kafka topic, which is only read", show_default=False)]
Records = Annotated[str, typer.Option("--records", help="how many of its records, the last ones of each partition")]


@dataclass(frozen=True, slots=True)
class SourceFlags:
    source: str
    bootstrap: str
    topic: str
    records: str
    kafka_option: list[str] | None
    kafka_config: Path | None


@dataclass(frozen=True, slots=True)
class QueryFlags:
    """Those of `query_of`."""

    job: str
    app: str | None
    sample: str | None
    event_time: str | None
    times: list[str] | None
    keys: list[str] | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The settings of a plan with a recorded topic, None without, and the file with the records of a query of one's
    own.
    """

    kafka: Kafka | None
    sample: str | None


def recorded(flags: SourceFlags, query: QueryFlags, engine: str, rate: float) -> Recorded:
    """Read the topic into a file, if there is one. It must have what the query needs, for which `rate` is planned."""
    _check(flags, query, engine)
    if flags.source == "embedded":
        return Recorded(None, query.sample)
    from tidegate.cli.plan_measurements import ROOT  # noqa: PLC0415
    from tidegate.experiment.settings import Kafka  # noqa: PLC0415
    from tidegate.jobs import Sample, Sampled  # noqa: PLC0415
    from tidegate.jobs.sample import repetition_warning  # noqa: PLC0415
    from tidegate.kafka import wait_for_broker  # noqa: PLC0415
    from tidegate.kafka.options import resolve  # noqa: PLC0415
    from tidegate.kafka.recording import RecordedTopic, check_recording, record  # noqa: PLC0415

    times, own = _times(query), _own_events(query)
    given = kafka_options(flags.kafka_option, flags.kafka_config)
    settings = Kafka(flags.bootstrap, flags.topic, produce=False, options=given)
    options = resolve(given)
    wait_for_broker(flags.bootstrap, settings.patience, say, options)
    topic = RecordedTopic(flags.bootstrap, flags.topic, round(amounts.count(flags.records)), options)
    file = str(record(topic, ROOT / RECORDED, say).absolute())
    sample: Sample = Sample(file, times, tuple(query.keys or ()))
    check_recording(sample, flags.topic, own)
    if query.app is None and (text := repetition_warning(Sampled(sample, rate))):
        say(text)
    kafka = Kafka(flags.bootstrap, flags.topic, produce=False, options=given, recording=sample.name)
    return Recorded(kafka, file if query.app else None)


def _check(flags: SourceFlags, query: QueryFlags, engine: str) -> None:
    if flags.source not in SOURCES:
        raise UnknownName("source", flags.source, SOURCES)
    if flags.source == "embedded":
        if flags.bootstrap or flags.topic or flags.records != DEFAULT or flags.kafka_option or flags.kafka_config:
            raise InvalidInput("plan: --bootstrap, --topic, --records and --kafka-… are for --source kafka")
        return
    if engine != "spark":
        raise InvalidInput(f"plan: --source kafka is for --engine spark, a testbed on {engine} has no records")
    for name, value in (("bootstrap", flags.bootstrap), ("topic", flags.topic)):
        if not value:
            raise InvalidInput(f"plan: --source kafka needs --{name}")
    if query.sample:
        raise InvalidInput(f"plan: the records are those of {flags.topic!r}, got --sample {query.sample} too")


def _times(query: QueryFlags) -> tuple[str, ...]:
    """The columns of times: those of a job are known."""
    from tidegate.jobs import TIMES, job  # noqa: PLC0415

    if query.app is not None:
        if not query.event_time:
            raise InvalidInput(f"plan: --app {query.app} needs --event-time, the field of event times")
        return (query.event_time, *(query.times or ()))
    given = {"--event-time": query.event_time, "--time": query.times, "--key": query.keys}
    if flags := [flag for flag, value in given.items() if value]:
        raise InvalidInput(f"plan: {', '.join(flags)} are for --app, job {query.job} knows its fields")
    kind = job(query.job).events
    times = TIMES.get(kind)
    if times is None:
        raise InvalidInput(
            f"plan: need records whose times are fields of their own for --source kafka, those of job {query.job}"
            f" ({kind}) have times inside of other fields: leave out --source"
        )
    return times


def _own_events(query: QueryFlags) -> Events | None:
    """Records that have the fields and types that a job needs; a query of one's own takes what is there."""
    from tidegate.jobs import events, job  # noqa: PLC0415

    return None if query.app else events(job(query.job).events, seed=0, rate=1000.0)
