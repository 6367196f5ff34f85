"""A comparison as one HTML file that opens offline. Its charts are drawn when they come into view, cell by cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from bokeh.document import Document
from bokeh.plotting import figure

from tidegate.report.compare import pareto, tables
from tidegate.report.compare.charts import HEIGHTS, bars_height, charts
from tidegate.report.compare.columns import BY_KEY, Column, best
from tidegate.report.compare.page import ORACLE, SLO, Cell, Compared, Page, page, unique
from tidegate.report.document import document, resource, told
from tidegate.report.facts import Fact, pick, text
from tidegate.report.looks import INK, RULE, Look
from tidegate.report.units import UNKNOWN, clock, known, seconds

#: cells that are open at first, and those that have charts at all
OPEN, DRAWN = 3, 40
TITLES: Mapping[str, str] = {
    "workload": "Workload",
    "workers": "Workers",
    "latency": "Latency",
    "ecdf": "Records within a latency",
    "resources": "Worker-seconds",
}


def render(comparison: Compared) -> str:
    """The whole document, a megabyte of which is Bokeh's own script."""
    shown = page(comparison)
    drawings = list(_drawings(shown))
    return document(
        "compare.html",
        "comparison",
        shown.title,
        "\n".join(_data(index, plots) for index, plots in drawings if plots),
        badges=_badges(shown),
        style=resource("compare.css"),
        facts="\n".join(told(fact) for fact in facts(shown)),
        policies="".join(tables.button(shown, policy) for policy in shown.policies),
        winners=_winners(shown, dict(drawings)[-1]),
        cells=_cells(shown, dict(drawings)),
        failures=tables.failures(shown.failed),
        notes=tables.notes(shown.columns()),
    )


def _drawings(shown: Page) -> Iterator[tuple[int, dict[str, figure]]]:
    """The figures of each cell by its number; of all cells together under -1."""
    chart = pareto.chart(shown)
    yield -1, {} if chart is None else {"pareto": chart}
    yield from ((index, charts(cell, shown)) for index, cell in enumerate(shown.cells[:DRAWN]))


def _data(index: int, plots: Mapping[str, figure]) -> str:
    """Figures as JSON that the page's script gives to Bokeh. They are one document: their axes are shared."""
    drawn = Document()
    for plot in plots.values():
        drawn.add_root(plot)
    roots = {plot.id: _target(index, key) for key, plot in plots.items()}
    item = {"docid": f"d{index}", "roots": roots, "root_ids": list(roots)}
    data = json.dumps({"docs": {f"d{index}": drawn.to_json(deferred=False)}, "items": [item]}, separators=(",", ":"))
    # within a script element nothing but this sign could end it
    return f'<script type="application/json" id="plots{index}">{data.replace("<", chr(92) + "u003c")}</script>'


def _target(index: int, key: str) -> str:
    return f"plot{index}-{key}"


def _badges(shown: Page) -> str:
    total = len(shown.done) + len(shown.failed)
    runs = "run" if total == 1 else "runs"
    if not shown.failed:
        return f'<span class="badge good">{total} {runs}</span>'
    return f'<span class="badge bad">{len(shown.failed)} of {total} {runs} failed</span>'


def facts(shown: Page) -> list[Fact]:
    """What was compared; what neither the spec nor the runs tell is left out."""
    runs, spec = (*shown.done, *shown.failed), _settings(shown)
    lengths = [known(spec["duration"])] if "duration" in spec else [pick(run, "duration") for run in runs]
    targets = [known(spec["slo"])] if "slo" in spec else [pick(run, "slo.target") for run in runs]
    found = (
        Fact("Policies", str(len(shown.policies))),
        _listed("Jobs", unique(cell.job for cell in shown.cells)),
        _listed("Workloads", unique(cell.workload for cell in shown.cells)),
        _listed("Seeds", unique(text(run.get("seed")) for run in runs)),
        Fact("Duration", ", ".join(unique(clock(length) for length in lengths)), "each run"),
        Fact("Executors", _limits(spec)),
        Fact("SLO", ", ".join(unique(seconds(target) for target in targets))),
        Fact("Engine", ", ".join(unique(text(run.get("engine", spec.get("engine"))) for run in runs))),
    )
    return [fact for fact in found if fact.value not in {UNKNOWN, "", "0"}]


def _settings(shown: Page) -> dict[str, Any]:
    """What the runs have in common: in an experiment's file it stands under `run`."""
    common = shown.spec.get("run")
    merged = {**shown.spec, **(common if isinstance(common, Mapping) else {})}
    return {key: value for key, value in merged.items() if value is not None}


def _limits(spec: Mapping[str, Any]) -> str:
    limits = spec.get("limits", [spec.get("minimum", 1), spec.get("maximum")])
    if not isinstance(limits, list | tuple) or len(limits) != 2 or limits[1] is None:
        return UNKNOWN
    return f"{text(limits[0])} to {text(limits[1])}"


def _listed(label: str, names: tuple[str, ...], most: int = 8) -> Fact:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return Fact(label, str(len(names)), ", ".join(names[:most]) + more)


def _winners(shown: Page, plots: Mapping[str, figure]) -> str:
    if not shown.done:
        return '<section><h2>Who wins</h2><p class="notice bad">No run was finished.</p></section>'
    cells = len(shown.cells)
    over = f"Means over {cells} cells, a job under a workload each" if cells > 1 else "One job under one workload"
    trust = (
        "± is the 95 % confidence interval over seeds" if _seeded(shown) else "one seed each, so chance is not shown"
    )
    hint = f"{over}; {trust}."
    chart = _pareto(shown) if plots else ""
    title = "Who wins" if len(shown.policies) > 1 else "Overall"
    return f'<section><h2>{title}</h2>\n<p class="hint">{hint}</p>\n{tables.overall(shown)}\n{chart}</section>'


def _seeded(shown: Page) -> bool:
    return any(one.half is not None for one in shown.overall(BY_KEY["seconds"]).values())


def _pareto(shown: Page) -> str:
    best_ones = [point.policy for point in pareto.front(pareto.complete(pareto.points(shown), shown))]
    names = ", ".join(f"<b>{escape(name)}</b>" for name in best_ones)
    contest = len(shown.policies) > 1
    says = (
        f'<p class="says">No other policy is better in both resources and late records than {names}.</p>'
        if contest
        else ""
    )
    key = _key(Look(RULE, width=2), "not beaten in both") if contest else ""
    whiskers = _key(Look(INK, width=1), "95 % confidence over seeds") if _seeded(shown) else ""
    caption = f'<b>Resources and late records</b><span class="keys">{key}{whiskers}</span>'
    hint = "Left and low is good. The vertical axis is stretched near zero."
    plot = f'<div class="plot" id="{_target(-1, "pareto")}" style="height:{pareto.HEIGHT}px"></div>'
    drawn = f'<figure><figcaption>{caption}</figcaption><p class="hint inset">{hint}</p>{plot}</figure>'
    return f'{says}<div class="charts" data-plots="plots-1">{drawn}</div>'


def _key(look: Look, name: str) -> str:
    return f'<span><i style="border-top:{max(look.width, 2):g}px {look.dash} {look.colour}"></i>{escape(name)}</span>'


def _cells(shown: Page, drawings: Mapping[int, Mapping[str, figure]]) -> str:
    if not shown.done:
        return ""
    columns = shown.columns()
    told = "".join(
        _cell(index, shown, [column for column in columns if cell.estimates(column)], drawings.get(index, {}))
        for index, cell in enumerate(shown.cells)
    )
    hint = "Drag to zoom into a time, double-click to see all of it again. Curves are those of the first seed."
    cut = len(shown.cells) - DRAWN
    few = f'<p class="notice warn">Charts are drawn for the first {DRAWN} cells; {cut} more have tables only.</p>'
    return f'<section><h2>Cell by cell</h2>\n<p class="hint">{hint}</p>\n{few if cut > 0 else ""}{told}</section>'


def _cell(index: int, shown: Page, columns: Sequence[Column], plots: Mapping[str, figure]) -> str:
    cell = shown.cells[index]
    state = " open" if index < OPEN else ""
    summary = f"<summary><h3>{escape(cell.job)} · {escape(cell.workload)}</h3>{_leaders(cell)}</summary>"
    body = f"{tables.cell(cell, shown, columns)}\n{_plots(index, cell, plots)}"
    return f'<details class="cell"{state}>{summary}\n{body}</details>\n'


def _leaders(cell: Cell) -> str:
    """The shortest answer, for a cell that is closed."""
    found = []
    for key, what in (("seconds", "fewest worker-seconds"), ("violated", "fewest late")):
        estimates = {who: one for who, one in cell.estimates(BY_KEY[key]).items() if not cell.failed[who]}
        if winners := best(BY_KEY[key], estimates):
            names = ", ".join(who for who in estimates if who in winners)
            found.append(f"{what}: {escape(names)}")
    return f"<small>{' · '.join(found)}</small>" if found else ""


def _plots(index: int, cell: Cell, plots: Mapping[str, figure]) -> str:
    if not plots:
        return ""
    wide = "".join(_figure(index, key, cell) for key in ("workload", "workers", "latency") if key in plots)
    beside = "".join(_figure(index, key, cell) for key in ("ecdf", "resources") if key in plots)
    return f'<div class="charts" data-plots="plots{index}">{wide}<div class="beside">{beside}</div></div>'


def _figure(index: int, key: str, cell: Cell) -> str:
    keys = []
    if (key == "workers" and _has_oracle(cell)) or (key == "resources" and cell.oracle):
        keys.append(_key(ORACLE, "oracle"))
    if key in {"latency", "ecdf"} and cell.target is not None:
        keys.append(_key(SLO, f"SLO {seconds(cell.target)}"))
    height = HEIGHTS.get(key) or bars_height(len(cell.runs))
    caption = f'<figcaption><b>{TITLES[key]}</b><span class="keys">{"".join(keys)}</span></figcaption>'
    return f'<figure>{caption}<div class="plot" id="{_target(index, key)}" style="height:{height}px"></div></figure>'


def _has_oracle(cell: Cell) -> bool:
    return any(one.get("oracle") for one in cell.series.values())
