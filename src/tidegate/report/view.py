"""What the report of a run says, without how it looks. Times are seconds since the start of the run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tidegate.core import Tick
from tidegate.report.choices import RunDecisions
from tidegate.report.conditions import Condition, conditions
from tidegate.report.digest import SERIES, Digest, digest
from tidegate.report.events import RunEvents
from tidegate.report.facts import facts, figures, scores, without_untimed, workload_of
from tidegate.report.parts import Fact
from tidegate.report.thinning import Samples
from tidegate.report.timescale import Timescale
from tidegate.runs import RunResult
from tidegate.score import Cumulative, Objective
from tidegate.score import figures as score
from tidegate.score.recorder import TraceRecorder
from tidegate.store import Run
from tidegate.workloads import Shape

Values = tuple[float | None, ...]
Unit = Literal["/s", "records", "s", "executors", "share", "partitions"]

#: most moments between two points at which a workload's rate is looked at, if ticks were reduced to intervals
LOOKS = 256


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart, with a value for each time of the page; None is a gap."""

    key: str
    name: str
    values: Values


@dataclass(frozen=True, slots=True)
class Chart:
    """Series of one unit over the times of the page. `target` is a level to compare them with."""

    key: str
    title: str
    unit: Unit
    series: tuple[Series, ...]
    target: float | None = None


@dataclass(frozen=True, slots=True)
class RunPage:
    title: str
    status: str
    verified: bool | None
    #: what the reader must know before trusting the figures; None for a run that completed
    notice: str | None
    #: how well the autoscaler works or worked, as it said itself; empty for runs without such a record
    health: str
    conditions: tuple[Condition, ...]
    facts: tuple[Fact, ...]
    figures: tuple[Fact, ...]
    scores: tuple[Fact, ...]
    #: below 1 where the run used less than the cheapest schedule that is never late
    oracle_ratio: float | None
    scale: Timescale
    times: tuple[float, ...]
    #: seconds of the intervals of which only the lowest and highest values are drawn; None if all are
    interval: float | None
    #: whether the store has kept several ticks as one
    folded: bool
    charts: tuple[Chart, ...]
    decisions: RunDecisions
    events: RunEvents

    @property
    def span(self) -> float:
        """Seconds from the start, or from a first tick before it, to the last tick."""
        return self.scale.span


def page(run: Run, ticks: Iterable[Tick]) -> RunPage:
    """The page of a run in any state. A run without figures is scored from its ticks, and the notice says so.

    The ticks are read once, and only what is drawn of them is kept.
    """
    recorder = None if _has_figures(run) else _recorder(run)
    read = digest(ticks, run.spec.start, recorder)
    stored = run.result if recorder is None else _scored(run, read)
    result = None if stored is None else without_untimed(stored)
    scale = Timescale(read.start if read.ticks else run.spec.start or run.created, read.first, read.last)
    measured = None if result is None else result.figures
    return RunPage(
        title=" · ".join(name for name in (run.spec.job, run.spec.workload, run.spec.policy) if name) or run.id,
        status=run.status,
        verified=None if result is None else result.verified,
        notice=_notice(run, read.ticks),
        health=run.health,
        conditions=conditions(run),
        facts=facts(run),
        figures=figures(result),
        scores=scores(result),
        oracle_ratio=None if measured is None or measured.oracle is None else measured.oracle.ratio,
        scale=scale,
        times=read.samples.times,
        interval=read.samples.width,
        folded=read.folded,
        charts=_charts(run, read.samples),
        decisions=read.decisions,
        events=read.events,
    )


def _has_figures(run: Run) -> bool:
    return run.result is not None and run.result.figures is not None


def _recorder(run: Run) -> TraceRecorder:
    return TraceRecorder(native=run.spec.mode == "native")


def scored(run: Run, ticks: Iterable[Tick]) -> RunResult | None:
    """The result of a run with figures from its ticks, for which it takes at least two of them."""
    return _scored(run, digest(ticks, run.spec.start, _recorder(run)))


def _scored(run: Run, read: Digest) -> RunResult | None:
    if read.recorder is None or not read.scorable:
        return run.result
    workload = workload_of(run.spec)
    arrivals = None if workload is None else Cumulative.of(workload)
    measured = score(read.recorder.trace(read.start, arrivals), Objective(run.spec.slo, run.spec.price))
    return replace(run.result or RunResult.of(run.id, run.status, run.spec), figures=measured)


ENDINGS = {
    "failed": "This run failed",
    "interrupted": "This run was interrupted",
    "running": "This run had not ended when the report was made",
    "abandoned": "This run was abandoned: its driver went away without ending it",
}


def _notice(run: Run, ticks: int) -> str | None:
    ending = ENDINGS.get(run.status)
    if not ticks:
        return f"{ending or 'This run has ended'}; no tick of it was recorded, so there is nothing to draw."
    if not _has_figures(run):
        return f"{ending or 'This run has no stored result'}; the figures below are computed from the ticks recorded."
    return f"{ending}; the figures below cover the part that was recorded." if ending else None


def _charts(run: Run, samples: Samples) -> tuple[Chart, ...]:
    """Those with at least one value."""
    columns = dict(zip(SERIES, samples.columns, strict=True))

    def series(key: str, name: str) -> Series:
        return Series(key, name, columns[key])

    charts = (
        Chart("rate", "Records per second", "/s", _rates(run, samples, columns)),
        Chart(
            "executors",
            "Executors",
            "executors",
            tuple(series(name, name) for name in ("running", "requested", "wished")),
        ),
        Chart("latency", "Latency", "s", (series("latency", "oldest record of the last batch"),), run.spec.slo),
        Chart("backlog", "Backlog", "records", (series("backlog", "waiting"),)),
        Chart(
            "cpu",
            "CPU",
            "share",
            (series("cpu", "mean of the executors"), series("busiest", "busiest"), series("idlest", "idlest")),
        ),
        Chart(
            "state",
            "State partitions of an executor",
            "partitions",
            (series("most", "most"), series("fewest", "fewest")),
        ),
    )
    with_values = (_without_empty_series(chart) for chart in charts)
    return tuple(chart for chart in with_values if chart.series)


def _without_empty_series(chart: Chart) -> Chart:
    series = tuple(series for series in chart.series if any(value is not None for value in series.values))
    return replace(chart, series=series)


def _rates(run: Run, samples: Samples, columns: Mapping[str, Values]) -> tuple[Series, ...]:
    """What was offered can only be shown where the workload is known."""
    seen = (Series("arrived", "arrived", columns["arrived"]), Series("processed", "processed", columns["processed"]))
    workload = workload_of(run.spec)
    if workload is None or not samples.times:
        return seen
    return Series("offered", "offered", _offered(workload, samples)), *seen


def _offered(workload: Shape, samples: Samples) -> Values:
    """At each time; where ticks were reduced to intervals, the highest rate until the next one."""
    times = np.array(samples.times)
    if samples.width is None:
        return tuple(workload.rates(times).tolist())
    until = np.append(times[1:], times[-1])
    steps = np.linspace(times, until, math.ceil(min(LOOKS, max(2.0, samples.width))), endpoint=False)
    return tuple(workload.rates(steps).max(axis=0).tolist())
