"""What a report says about a run, without saying how it looks. Times are seconds since the start of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tidegate.core import Observation, Tick
from tidegate.report.choices import Choice, choices
from tidegate.report.facts import Fact, facts, figures, scores, workload_of
from tidegate.report.units import known
from tidegate.score import score
from tidegate.store import Run
from tidegate.workloads import Shape

Values = tuple[float | None, ...]
Unit = Literal["/s", "records", "s", "executors", "share"]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart, a value for each of the page's times; None is a gap."""

    key: str
    name: str
    values: Values


@dataclass(frozen=True, slots=True)
class Chart:
    """Series of one unit over the page's times. `target` is a level to compare them with."""

    key: str
    title: str
    unit: Unit
    series: tuple[Series, ...]
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Happening:
    """An event, by the time of the page."""

    time: float
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    status: str
    verified: bool | None
    #: what a reader must know before believing the figures; None where the run went to its end
    notice: str | None
    facts: tuple[Fact, ...]
    figures: tuple[Fact, ...]
    scores: tuple[Fact, ...]
    times: tuple[float, ...]
    charts: tuple[Chart, ...]
    choices: tuple[Choice, ...]
    events: tuple[Happening, ...]


def page(run: Run, ticks: Sequence[Tick]) -> Page:
    """The page of a run in any state. One without a result is scored from its ticks, and the notice says so."""
    start = _start(run, ticks)
    times = tuple(round(tick.observation.time - start, 3) for tick in ticks)
    workload = workload_of(run.spec.get("workload_spec"))
    result = _partial(run, ticks, start, workload) if run.result is None else run.result
    verified = result.get("verified")
    return Page(
        title=_title(run),
        status=run.status,
        verified=verified if isinstance(verified, bool) else None,
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
    start = known(run.spec.get("start"))
    if start is not None:
        return start
    return ticks[0].observation.time if ticks else run.created


def _title(run: Run) -> str:
    parts = [run.spec.get(key) for key in ("job", "workload", "policy")]
    return " · ".join(str(part) for part in parts if part) or run.id


def _partial(run: Run, ticks: Sequence[Tick], start: float, workload: Shape | None) -> Mapping[str, Any]:
    slo = known(run.spec.get("slo"))
    if slo is None or len({tick.observation.time for tick in ticks}) < 2:
        return {}
    return asdict(score(ticks, slo=slo, start=start, arrived=workload.total if workload else None))


ENDINGS = {
    "failed": "This run failed",
    "interrupted": "This run was interrupted",
    "running": "This run had not ended when the report was made",
}


def _notice(run: Run, ticks: Sequence[Tick]) -> str | None:
    ending = ENDINGS.get(run.status)
    if not ticks:
        return f"{ending or 'This run has ended'}; no tick of it was recorded, so there is nothing to draw."
    if run.result is None:
        return f"{ending or 'This run has no stored result'}; the figures below are computed from the ticks recorded."
    return f"{ending}; the figures below cover the part that was recorded." if ending else None


def _charts(run: Run, ticks: Sequence[Tick], times: Sequence[float], workload: Shape | None) -> tuple[Chart, ...]:
    """Those that have anything to show."""
    seen = [tick.observation for tick in ticks]
    drawn = (
        Chart("rate", "Records per second", "/s", _rates(seen, times, workload)),
        Chart("executors", "Executors", "executors", _executors(ticks)),
        Chart("latency", "Latency", "s", (_latency(seen),), known(run.spec.get("slo"))),
        Chart("backlog", "Backlog", "records", (_series("backlog", "waiting", seen, lambda obs: obs.backlog),)),
        Chart("cpu", "CPU", "share", (_series("cpu", "mean of the executors", seen, cpu),)),
    )
    kept = (_known_only(chart) for chart in drawn)
    return tuple(chart for chart in kept if chart.series)


def _known_only(chart: Chart) -> Chart:
    told = tuple(one for one in chart.series if any(value is not None for value in one.values))
    return Chart(chart.key, chart.title, chart.unit, told, chart.target)


def _series(key: str, name: str, seen: Sequence[Observation], of: Callable[[Observation], float | None]) -> Series:
    return Series(key, name, tuple(known(of(obs)) for obs in seen))


def _rates(seen: Sequence[Observation], times: Sequence[float], workload: Shape | None) -> tuple[Series, ...]:
    """Where the workload is not known, what arrived is all that is known of what was offered."""
    arrived = _series("arrived", "arrived", seen, lambda obs: obs.arrival_rate)
    processed = _series("processed", "processed", seen, lambda obs: obs.processing_rate)
    if workload is None:
        return arrived, processed
    return Series("offered", "offered", tuple(workload.rate(time) for time in times)), arrived, processed


def _executors(ticks: Sequence[Tick]) -> tuple[Series, ...]:
    seen = [tick.observation for tick in ticks]
    return (
        _series("running", "running", seen, lambda obs: obs.executors),
        _series("requested", "requested", seen, lambda obs: obs.requested),
        Series("wished", "wished", _wishes(ticks)),
    )


def _wishes(ticks: Sequence[Tick]) -> Values:
    """A wish stands until the next one."""
    values: list[float | None] = []
    for tick in ticks:
        before = values[-1] if values else None
        values.append(before if tick.decision is None else tick.decision.executors)
    return tuple(values)


def _latency(seen: Sequence[Observation]) -> Series:
    return _series("latency", "oldest record of the last batch", seen, lambda obs: obs.latency)


def cpu(obs: Observation) -> float | None:
    """The mean over executors of their CPU, or of how busy their slots are where there is no CPU meter."""
    loads = [one.busy if one.cpu is None else one.cpu for one in obs.per_executor]
    told = [load for load in loads if load is not None]
    return sum(told) / len(told) if told else None


def _events(ticks: Sequence[Tick], start: float) -> tuple[Happening, ...]:
    seen = (event for tick in ticks for event in tick.observation.events)
    return tuple(Happening(round(event.time - start, 3), event.kind, event.message) for event in seen)
