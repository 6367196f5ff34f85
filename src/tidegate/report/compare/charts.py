"""The charts of a cell: workload, workers and latency over time, the distribution of latencies, and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, CustomJSTickFormatter, FixedTicker, HoverTool, Range1d
from bokeh.models.annotations import Span
from bokeh.models.glyphs import HBar, Segment, VArea
from bokeh.models.renderers import DataRenderer, GlyphRenderer
from bokeh.plotting import figure

from tidegate.compare.columns import BY_KEY
from tidegate.report.compare.canvas import Axis, cross, curve, empty, hover
from tidegate.report.compare.curves import Array, extent, over_shares, over_time
from tidegate.report.compare.page import ORACLE, SLO, CellView, ComparisonPage
from tidegate.report.document import tooltip
from tidegate.report.looks import BLUE, GREY, GRID, INK, Look
from tidegate.report.parts import TooltipRow
from tidegate.report.timescale import time_unit
from tidegate.score.estimate import Estimate

HEIGHTS: Mapping[str, int] = {"workload": 150, "workers": 250, "latency": 220, "ecdf": 300}
LOAD = Look(BLUE, width=1.5)
#: height of a bar with the room around it
BAR = 27


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the charts over time of a cell share."""

    columns: Mapping[str, Array]
    source: ColumnDataSource
    time: Axis
    x_range: Range1d
    cursor: Span


def charts(cell: CellView, page: ComparisonPage) -> dict[str, figure]:
    """Those with anything to show, in the order of the page."""
    return {**dict(_series(cell, page)), **dict(_bars(cell, page))}


def bars_height(count: int) -> int:
    return 40 + BAR * count


def _series(cell: CellView, page: ComparisonPage) -> Iterator[tuple[str, figure]]:
    if not cell.curves:
        return
    keys = {policy: page.key(policy) for policy in cell.curves}
    line = _timeline(over_time(cell.curves, keys))
    if "offered" in line.columns:
        yield "workload", _workload(line)
    yield "workers", _workers(line, cell, page)
    if (ends := extent(line.columns, "l", cell.target)) is not None:
        yield "latency", _latency(line, Axis.of("s", ends), cell, page)
    spread = over_shares(cell.curves, keys)
    if (ends := extent(spread, "e", cell.target)) is not None:
        yield "ecdf", _ecdf(spread, Axis("s", *ends, log=True), cell, page)


def _timeline(columns: Mapping[str, Array]) -> Timeline:
    first, last = float(columns["time"][0]), float(columns["time"][-1])
    time = Axis(time_unit(last - first), first, max(last, first + 1.0), room=0.0)
    cursor = Span(dimension="height", line_color=GREY, line_width=1)
    return Timeline(columns, ColumnDataSource(dict(columns)), time, time.range(), cursor)


def _rows(cell: CellView, page: ComparisonPage, prefix: str) -> list[TooltipRow]:
    keys = {policy: page.key(policy) for policy in cell.curves}
    return [TooltipRow(f"{prefix}{key}", policy, page.look(policy).colour, key) for policy, key in keys.items()]


def _on(line: Timeline, height: int, y: Axis, rows: list[TooltipRow]) -> figure:
    plot = empty(height, line.time, y, line.x_range)
    # an invisible line without gaps, which the cursor always hits
    anchor = curve(plot, line.source, "time", "floor", Look(INK, width=0))
    if y.log:
        anchor.glyph.y = {"value": y.low}
    hover(plot, anchor, ("time", line.time.unit), rows, y.unit)
    cross(plot, line.cursor)
    return plot


def _workload(line: Timeline) -> figure:
    _, top = extent(line.columns, "offered") or (0.0, 1.0)
    plot = _on(line, HEIGHTS["workload"], Axis("/s", 0.0, top or 1.0), [TooltipRow("offered", "offered", BLUE)])
    plot.add_glyph(line.source, VArea(x="time", y1="floor", y2="offered", fill_color=BLUE, fill_alpha=0.12))
    curve(plot, line.source, "time", "offered", LOAD)
    return plot


def _workers(line: Timeline, cell: CellView, page: ComparisonPage) -> figure:
    oracle = [TooltipRow("oracle", "oracle", ORACLE.colour)] if "oracle" in line.columns else []
    _, top = extent(line.columns, "w", *(extent(line.columns, "oracle") or ())) or (0.0, 1.0)
    rows = _rows(cell, page, "w")
    plot = _on(line, HEIGHTS["workers"], Axis("executors", 0.0, max(top, 1.0)), oracle + rows)
    if oracle:
        curve(plot, line.source, "time", "oracle", ORACLE)
    _draw(plot, line.source, rows, cell, page)
    return plot


def _latency(line: Timeline, axis: Axis, cell: CellView, page: ComparisonPage) -> figure:
    rows = _rows(cell, page, "l")
    plot = _on(line, HEIGHTS["latency"], axis, rows)
    _draw(plot, line.source, rows, cell, page)
    if cell.target is not None:
        plot.hspan(y=[cell.target], line_color=SLO.colour, line_dash=SLO.dash, line_width=SLO.width)
    return plot


def _draw(plot: figure, source: ColumnDataSource, rows: list[TooltipRow], cell: CellView, page: ComparisonPage) -> None:
    for row, policy in zip(rows, cell.curves, strict=True):
        curve(plot, source, "time", row.column, page.look(policy)).name = row.policy


def _ecdf(columns: Mapping[str, Array], axis: Axis, cell: CellView, page: ComparisonPage) -> figure:
    plot = empty(HEIGHTS["ecdf"], axis, Axis("share", 0.0, 1.0, room=0.02))
    source = ColumnDataSource(dict(columns))
    anchor = curve(plot, source, "share", "share", Look(INK, width=0))
    anchor.glyph.x = {"value": axis.low}
    rows = [row for row in _rows(cell, page, "e") if row.column in columns]
    hover(plot, anchor, ("share", "share"), rows, "s")
    for row in rows:
        look = page.look(row.name)
        curve(plot, source, row.column, "share", Look(look.colour, look.dash, look.width)).name = row.policy
    if cell.target is not None:
        plot.vspan(x=[cell.target], line_color=SLO.colour, line_dash=SLO.dash, line_width=SLO.width)
    return plot


def _bars(cell: CellView, page: ComparisonPage) -> Iterator[tuple[str, figure]]:
    used, oracle = cell.estimates(BY_KEY["seconds"]), cell.oracle_seconds
    if not used:
        return
    ends = [estimate.mean + (estimate.half or 0.0) for estimate in used.values()]
    top = max([*ends, oracle.mean if oracle else 0.0])
    count = len(used)
    plot = empty(bars_height(count), Axis("records", 0.0, top or 1.0), Axis("records", count - 0.4, -0.6, room=0.0))
    _names(plot, list(used))
    bars: list[DataRenderer] = [
        _bar(plot, row, policy, page, estimate) for row, (policy, estimate) in enumerate(used.items())
    ]
    plot.add_tools(HoverTool(renderers=bars, tooltips=tooltip("bar")))
    if oracle is not None:
        plot.vspan(x=[oracle.mean], line_color=ORACLE.colour, line_dash=ORACLE.dash, line_width=ORACLE.width)
    yield "resources", plot


def _names(plot: figure, policies: list[str]) -> None:
    plot.yaxis.ticker = FixedTicker(ticks=list(range(len(policies))))
    names = {"names": [_cut(policy) for policy in policies]}
    plot.yaxis.formatter = CustomJSTickFormatter(args=names, code="return names[tick] ?? ''")
    plot.ygrid.grid_line_color = None
    plot.xgrid.grid_line_color = GRID


def _cut(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _bar(plot: figure, row: int, policy: str, page: ComparisonPage, used: Estimate) -> GlyphRenderer[Any]:
    half = used.half or 0.0
    write = BY_KEY["seconds"].write
    text = write(used.mean) + (f" ± {write(used.half)}" if used.half is not None else "")
    ends = {"low": [used.mean - half], "high": [used.mean + half]}
    source = ColumnDataSource({"y": [row], "mean": [used.mean], **ends, "name": [policy], "value": [text]})
    look, name = page.look(policy), page.key(policy)
    hatch: dict[str, Any] = (
        {} if look.dash == "solid" else {"hatch_pattern": "/", "hatch_color": "white", "hatch_alpha": 0.6}
    )
    bar = plot.add_glyph(
        source, HBar(y="y", right="mean", height=0.62, fill_color=look.colour, line_color=None, **hatch)
    )
    bar.name = name
    if half:
        whisker = plot.add_glyph(source, Segment(x0="low", x1="high", y0="y", y1="y", line_color=INK, line_width=1.5))
        whisker.name = name
    return bar
