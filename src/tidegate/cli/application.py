"""Flags for a user's query: a file with the query, and a sample of its records."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.core import InvalidInput

App = Annotated[
    str | None,
    typer.Option(
        "--app", help="your query: a Python file with `build(df) -> df`, instead of a job", show_default=False
    ),
]
SampleFile = Annotated[
    str | None,
    typer.Option("--sample", help="records for --app: a Parquet, CSV or JSON lines file", show_default=False),
]
EventTime = Annotated[
    str | None,
    typer.Option("--event-time", help="column of event times, which become those at which records are offered"),
]
Times = Annotated[
    list[str] | None,
    typer.Option("--time", help="another column of times, which keeps its distance to the event time; repeatable"),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        help="column of keys that differ in each repetition of the sample, like users or orders; not for a fixed set,"
        " like shops; repeatable",
    ),
]


def query_of(
    command: str, job: str, app: str | None, file: str | None, event_time: str | None, times: list[str] | None,
    keys: list[str] | None,
) -> tuple[str, str]:  # fmt: skip
    """The job, and the name of its sample; empty for a job that has its own records.

    >>> query_of("run", "q1", "orders.py", "orders.parquet", "at", None, ["user"])
    ('orders.py', 'orders.parquet?time=at&key=user')
    """
    if app is None:
        given = {"--sample": file, "--event-time": event_time, "--time": times, "--key": keys}
        if flags := [flag for flag, value in given.items() if value]:
            raise InvalidInput(f"{command}: {', '.join(flags)} are for --app, your own query")
        return job, ""
    if not file or not event_time:
        missing = "--sample" if not file else "--event-time"
        raise InvalidInput(f"{command}: --app {app} needs {missing}, as in --sample orders.parquet --event-time at")
    from tidegate.jobs import Sample  # noqa: PLC0415, imports Spark

    return app, Sample(file, (event_time, *(times or ())), tuple(keys or ())).name
