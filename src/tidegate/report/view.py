"""What the report of a run says, without how it looks. Times are seconds since the start of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidegate.core import Observation, Tick
from tidegate.report.choices import Choice, choices
from tidegate.report.facts import facts, figures, scores, workload_of
from tidegate.report.parts import Fact
from tidegate.runs import RunResult
from tidegate.score import Cumulative, Objective, trace_from_ticks
from tidegate.score import figures as score
from tidegate.store import Run
from tidegate.units import known
from tidegate.workloads import Shape

Values = tuple[float | None, ...]
Unit = Literal["/s", "records", "s", "executors", "share"]


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
class RunEvent:
    time: float
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class RunPage:
    title: str
    status: str
    verified: bool | None
    #: what the reader must know before trusting the figures; None for a run that completed
    notice: str | None
    facts: tuple[Fact, ...]
    figures: tuple[Fact, ...]
    scores: tuple[Fact, ...]
    times: tuple[float, ...]
    charts: tuple[Chart, ...]
    choices: tuple[Choice, ...]
    events: tuple[RunEvent, ...]

    @property
    def span(self) -> float:
        """Seconds from the start, or from a first tick before it, to the last tick."""
        return self.times[-1] - min(0.0, self.times[0]) if self.times else 0.0


def page(run: Run, ticks: Sequence[Tick]) -> RunPage:
    """The page of a run in any state. A run without figures is scored from its ticks, and the notice says so."""
    start = _start(run, ticks)
    times = tuple(round(tick.observation.time - start, 3) for tick in ticks)
    workload = workload_of(run.spec)
    result = run.result if _has_figures(run) else scored(run, ticks)
    return RunPage(
        title=" · ".join(name for name in (run.spec.job, run.spec.workload, run.spec.policy) if name) or run.id,
        status=run.status,
        verified=None if result is None else result.verified,
        notice=_notice(run, ticks),
        facts=facts(run),
        figures=figures(result),
        scores=scores(result),
        times=times,
        charts=_charts(run, ticks, times, workload),
        choices=choices(ticks, start),
        events=_events(ticks, start),
    )


def _start(run: Run, ticks: Sequence[Tick]) -> float:
    if run.spec.start is not None:
        return run.spec.start
    return ticks[0].observation.time if ticks else run.created


def _has_figures(run: Run) -> bool:
    return run.result is not None and run.result.figures is not None


def scored(run: Run, ticks: Sequence[Tick]) -> RunResult | None:
    """The result of a run with figures from its ticks, for which it takes at least two of them."""
    if len({tick.observation.time for tick in ticks}) < 2:
        return run.result
    workload = workload_of(run.spec)
    arrivals = None if workload is None else Cumulative.of(workload)
    trace = trace_from_ticks(ticks, _start(run, ticks), arrivals, native=run.spec.mode == "native")
    measured = score(trace, Objective(run.spec.slo, run.spec.price))
    return replace(run.result or RunResult.of(run.id, run.status, run.spec), figures=measured)


ENDINGS = {
    "failed": "This run failed",
    "interrupted": "This run was interrupted",
    "running": "This run had not ended when the report was made",
}


def _notice(run: Run, ticks: Sequence[Tick]) -> str | None:
    ending = ENDINGS.get(run.status)
    if not ticks:
        return f"{ending or 'This run has ended'}; no tick of it was recorded, so there is nothing to draw."
    if not _has_figures(run):
        return f"{ending or 'This run has no stored result'}; the figures below are computed from the ticks recorded."
    return f"{ending}; the figures below cover the part that was recorded." if ending else None


def _charts(run: Run, ticks: Sequence[Tick], times: Sequence[float], workload: Shape | None) -> tuple[Chart, ...]:
    """Those with at least one value."""
    observations = [tick.observation for tick in ticks]
    latency = _series("latency", "oldest record of the last batch", observations, lambda obs: obs.latency)
    backlog = _series("backlog", "waiting", observations, lambda obs: obs.backlog)
    charts = (
        Chart("rate", "Records per second", "/s", _rates(observations, times, workload)),
        Chart("executors", "Executors", "executors", _executors(ticks)),
        Chart("latency", "Latency", "s", (latency,), run.spec.slo),
        Chart("backlog", "Backlog", "records", (backlog,)),
        Chart("cpu", "CPU", "share", (_series("cpu", "mean of the executors", observations, cpu),)),
    )
    with_values = (_without_empty_series(chart) for chart in charts)
    return tuple(chart for chart in with_values if chart.series)


def _without_empty_series(chart: Chart) -> Chart:
    series = tuple(series for series in chart.series if any(value is not None for value in series.values))
    return replace(chart, series=series)


def _series(
    key: str, name: str, observations: Sequence[Observation], value: Callable[[Observation], float | None]
) -> Series:
    return Series(key, name, tuple(known(value(obs)) for obs in observations))


def _rates(observations: Sequence[Observation], times: Sequence[float], workload: Shape | None) -> tuple[Series, ...]:
    """What was offered can only be shown where the workload is known."""
    arrived = _series("arrived", "arrived", observations, lambda obs: obs.arrival_rate)
    processed = _series("processed", "processed", observations, lambda obs: obs.processing_rate)
    if workload is None:
        return arrived, processed
    return Series("offered", "offered", tuple(workload.rate(time) for time in times)), arrived, processed


def _executors(ticks: Sequence[Tick]) -> tuple[Series, ...]:
    observations = [tick.observation for tick in ticks]
    return (
        _series("running", "running", observations, lambda obs: obs.executors),
        _series("requested", "requested", observations, lambda obs: obs.requested),
        Series("wished", "wished", _wishes(ticks)),
    )


def _wishes(ticks: Sequence[Tick]) -> Values:
    """A wish holds until the next one."""
    values: list[float | None] = []
    for tick in ticks:
        before = values[-1] if values else None
        values.append(before if tick.decision is None else tick.decision.target.executors)
    return tuple(values)


def cpu(obs: Observation) -> float | None:
    """The mean CPU of the executors; an executor without a CPU meter counts with how busy its slots are."""
    readings = (executor.busy if executor.cpu is None else executor.cpu for executor in obs.per_executor)
    loads = [load for load in readings if load is not None]
    return sum(loads) / len(loads) if loads else None


def _events(ticks: Sequence[Tick], start: float) -> tuple[RunEvent, ...]:
    events = (event for tick in ticks for event in tick.observation.events)
    return tuple(RunEvent(round(event.time - start, 3), event.kind, event.message) for event in events)
