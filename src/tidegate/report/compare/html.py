"""The report of a comparison as one HTML file. Its charts are drawn when they come into view, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bokeh.document import Document
from bokeh.plotting import figure
from markupsafe import Markup

from tidegate.compare.columns import BY_KEY, best
from tidegate.compare.differences import state_places
from tidegate.compare.results import Comparison
from tidegate.report.compare import pareto
from tidegate.report.compare.charts import HEIGHTS, bars_height, charts
from tidegate.report.compare.page import ORACLE, SLO, CellView, ComparisonPage, page, unique
from tidegate.report.compare.tables import ScoreTable, buttons, cell_table, overall, rule
from tidegate.report.document import document, script_json
from tidegate.report.looks import GREY, INK, Look
from tidegate.report.parts import Badge, Fact, LegendEntry, Notice
from tidegate.units import UNKNOWN, clock, seconds

#: cells that are open at first, cells that have charts, and failed runs that are listed
OPEN, DRAWN, LISTED = 3, 40, 100
TITLES: Mapping[str, str] = {
    "workload": "Workload",
    "workers": "Workers",
    "latency": "Latency",
    "ecdf": "Records within a latency",
    "resources": "Worker-seconds",
}


@dataclass(frozen=True, slots=True)
class PlotPlace:
    """The element that a chart is drawn into, with its caption."""

    id: str
    title: str
    height: int
    legend: tuple[LegendEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class PlotGroup:
    """Charts that are drawn together, with their data as JSON for Bokeh."""

    id: str
    json: Markup
    places: Mapping[str, PlotPlace]


@dataclass(frozen=True, slots=True)
class Standings:
    """The policies over all cells."""

    title: str
    hint: str
    table: ScoreTable
    #: policies that none beats in both resources and late records; empty where there is no contest
    front: tuple[str, ...]
    plots: PlotGroup | None


@dataclass(frozen=True, slots=True)
class CellSection:
    title: str
    open: bool
    #: the best in a figure: its description and names, for a cell that is closed
    leaders: tuple[tuple[str, str], ...]
    table: ScoreTable
    plots: PlotGroup | None


def render(comparison: Comparison) -> str:
    shown = page(comparison)
    standings = _standings(shown) if shown.done else None
    sections = [_section(index, cell, shown) for index, cell in enumerate(shown.cells)] if shown.done else []
    groups = [part.plots for part in (standings, *sections) if part is not None and part.plots is not None]
    return document(
        "comparison.html",
        shown.title,
        draws=bool(groups),
        badges=(_badge(shown),),
        facts=facts(shown),
        policies=list(buttons(shown).values()),
        standings=standings,
        sections=sections,
        rule=rule(shown.allowed),
        cut=_cut(shown),
        failed=shown.failed[:LISTED],
        unlisted=len(shown.failed[LISTED:]),
        columns=shown.columns(),
        groups=groups,
    )


def _badge(shown: ComparisonPage) -> Badge:
    total = len(shown.done) + len(shown.failed)
    runs = "run" if total == 1 else "runs"
    if not shown.failed:
        return Badge(f"{total} {runs}", "good")
    return Badge(f"{len(shown.failed)} of {total} {runs} failed", "bad")


def facts(shown: ComparisonPage) -> list[Fact]:
    """What was compared. What neither the settings nor the runs say is left out."""
    runs, settings = (*shown.done, *shown.failed), shown.settings
    measured = [run.figures for run in runs if run.figures is not None]
    durations = [run.duration for run in runs] if settings.duration is None else [settings.duration]
    targets = [figures.slo.target for figures in measured] if settings.slo is None else [settings.slo]
    listed = (
        Fact("Policies", str(len(shown.policies))),
        _names("Jobs", unique(cell.job for cell in shown.cells)),
        _names("Workloads", unique(cell.workload for cell in shown.cells)),
        _names("Seeds", unique(str(run.seed) for run in runs)),
        Fact("Duration", ", ".join(unique(clock(length) for length in durations if length is not None)), "each run"),
        Fact("Executors", _limits(settings.minimum, settings.maximum)),
        Fact("SLO", ", ".join(unique(seconds(target) for target in targets))),
        Fact("State", state_places(runs)),
        Fact("Engine", ", ".join(unique(name for run in runs if (name := run.engine or settings.engine or "")))),
    )
    return [fact for fact in listed if fact.value not in {"", "0"}]


def _limits(minimum: int | None, maximum: int | None) -> str:
    """
    >>> _limits(2, 8), _limits(None, 8), _limits(1, None)
    ('2 to 8', 'up to 8', '')
    """
    if maximum is None:
        return ""
    return f"up to {maximum}" if minimum is None else f"{minimum} to {maximum}"


def _names(label: str, names: tuple[str, ...], most: int = 8) -> Fact:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return Fact(label, str(len(names)), ", ".join(name or UNKNOWN for name in names[:most]) + more)


def _standings(shown: ComparisonPage) -> Standings:
    contest, cells = len(shown.policies) > 1, len(shown.cells)
    over = f"Means over {cells} cells, a job under a workload each" if cells > 1 else "One job under one workload"
    trust = (
        "± is the 95 % confidence interval over seeds" if _seeded(shown) else "one seed each, so chance is not shown"
    )
    front = pareto.front(pareto.complete(pareto.points(shown), shown)) if contest else []
    return Standings(
        title="Who wins" if contest else "Overall",
        hint=f"{over}; {trust}.",
        table=overall(shown),
        front=tuple(point.policy for point in front),
        plots=_pareto(shown, contest),
    )


def _seeded(shown: ComparisonPage) -> bool:
    return any(estimate.half is not None for estimate in shown.overall(BY_KEY["seconds"]).values())


def _pareto(shown: ComparisonPage, contest: bool) -> PlotGroup | None:
    plot = pareto.chart(shown)
    if plot is None:
        return None
    legend = [LegendEntry("not beaten in both", Look(GREY, width=1.5))] if contest else []
    if _seeded(shown):
        legend.append(LegendEntry("95 % confidence over seeds", Look(INK, width=1)))
    place = PlotPlace("plot-1-pareto", "Resources and late records", pareto.HEIGHT, tuple(legend))
    return _group(-1, {"pareto": plot}, {"pareto": place})


def _section(index: int, cell: CellView, shown: ComparisonPage) -> CellSection:
    plots = charts(cell, shown) if index < DRAWN else {}
    places = {key: _place(index, key, cell) for key in plots}
    return CellSection(
        title=cell.title,
        open=index < OPEN,
        leaders=tuple(_leaders(cell)),
        table=cell_table(cell, shown),
        plots=_group(index, plots, places) if plots else None,
    )


def _leaders(cell: CellView) -> list[tuple[str, str]]:
    leaders = []
    for key, description in (("seconds", "fewest worker-seconds"), ("violated", "fewest late")):
        estimates = {policy: value for policy, value in cell.estimates(BY_KEY[key]).items() if not cell.failed[policy]}
        if winners := best(BY_KEY[key], estimates):
            leaders.append((description, ", ".join(policy for policy in estimates if policy in winners)))
    return leaders


def _place(index: int, key: str, cell: CellView) -> PlotPlace:
    legend = []
    if (key == "workers" and _has_oracle(cell)) or (key == "resources" and cell.oracle_seconds):
        legend.append(LegendEntry("oracle", ORACLE))
    if key in {"latency", "ecdf"} and cell.target is not None:
        legend.append(LegendEntry(f"SLO {seconds(cell.target)}", SLO))
    height = HEIGHTS.get(key) or bars_height(len(cell.runs))
    return PlotPlace(f"plot{index}-{key}", TITLES[key], height, tuple(legend))


def _has_oracle(cell: CellView) -> bool:
    return any(curves.oracle for curves in cell.curves.values())


def _cut(shown: ComparisonPage) -> Notice | None:
    more = len(shown.cells) - DRAWN
    if more <= 0:
        return None
    return Notice(f"Charts are drawn for the first {DRAWN} cells; {more} more have tables only.", "warn")


def _group(index: int, plots: Mapping[str, figure], places: Mapping[str, PlotPlace]) -> PlotGroup:
    """The plots are one Bokeh document, as they share axes."""
    drawn = Document()
    for plot in plots.values():
        drawn.add_root(plot)
    roots = {plot.id: places[key].id for key, plot in plots.items()}
    name = f"d{index}"
    item = {"docid": name, "roots": roots, "root_ids": list(roots)}
    data = {"docs": {name: drawn.to_json(deferred=False)}, "items": [item]}
    return PlotGroup(f"plots{index}", script_json(data), places)
