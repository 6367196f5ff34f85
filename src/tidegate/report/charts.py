"""The charts of a run as Bokeh figures that share a time axis: a zoom applies to all, a crosshair runs through all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.events import DoubleTap
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CrosshairTool,
    CustomJS,
    CustomJSHover,
    CustomJSTickFormatter,
    HoverTool,
    Model,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from tidegate.report.document import tooltip
from tidegate.report.frame import quiet, time_axis, time_writer, writer
from tidegate.report.looks import GREY, LOOKS, TARGET
from tidegate.report.marks import mark_choices, mark_times
from tidegate.report.parts import TooltipRow
from tidegate.report.timescale import Timescale
from tidegate.report.view import Chart, RunPage

#: room below zero in the executors' chart for the marks of holds and events, as a share of the height above zero
FLOOR = -0.3


@dataclass(frozen=True, slots=True)
class Canvas:
    """What the charts of one page share."""

    source: ColumnDataSource
    x_range: Range1d
    cursor: Span
    scale: Timescale


def figures(page: RunPage) -> dict[str, Model]:
    """A figure for each chart of the page, by the chart's key."""
    canvas = _canvas(page)
    return {chart.key: _figure(chart, page, canvas) for chart in page.charts}


def _canvas(page: RunPage) -> Canvas:
    first, last = min(0.0, page.times[0]), max(page.times[-1], page.times[0] + 1.0)
    columns = {series.key: _column(series.values) for chart in page.charts for series in chart.series}
    source = ColumnDataSource({**columns, "time": _column(page.times), "floor": np.zeros(len(page.times))})
    cursor = Span(dimension="height", line_color=GREY, line_width=1)
    room = 0.008 * (last - first)  # so that a mark at the edge is not cut off
    low, high = first - room, last + room
    return Canvas(source, Range1d(start=low, end=high, bounds=(low, high)), cursor, page.scale)


def _column(values: Iterable[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _figure(chart: Chart, page: RunPage, canvas: Canvas) -> figure:
    plot = _empty(chart, canvas)
    mark_times(plot, page.decisions)
    for series in chart.series:
        _draw(plot, series.key, canvas.source)
    if chart.target is not None:
        plot.hspan(y=[chart.target], line_color=TARGET.colour, line_dash=TARGET.dash, line_width=TARGET.width)
    if chart.key == "executors":
        mark_choices(plot, page, floor=FLOOR * _top(chart))
    else:
        plot.add_tools(_hover(plot, chart, canvas))
    plot.add_tools(CrosshairTool(dimensions="height", overlay=canvas.cursor))
    return plot


def _empty(chart: Chart, canvas: Canvas) -> figure:
    plot = figure(
        height={"rate": 240, "executors": 270}.get(chart.key, 180),
        sizing_mode="stretch_width",
        x_range=canvas.x_range,
        y_range=_y_range(chart),
        tools="xbox_zoom",
        toolbar_location=None,
        min_border_left=64,
        min_border_right=16,
        outline_line_color=None,
    )
    _axes(plot, chart, canvas)
    whole = CustomJS(args={"x": canvas.x_range}, code="[x.start, x.end] = x.bounds")
    plot.js_on_event(DoubleTap, whole)
    return plot


def _y_range(chart: Chart) -> Range1d:
    top = _top(chart)
    return Range1d(start=FLOOR * top if chart.unit == "executors" else 0.0, end=1.12 * top)


def _top(chart: Chart) -> float:
    values = [value for series in chart.series for value in series.values if value is not None]
    least = 1.0 if chart.unit in {"share", "executors"} else 0.0
    return max([*values, chart.target or 0.0, least]) or 1.0


def _axes(plot: figure, chart: Chart, canvas: Canvas) -> None:
    time_axis(plot, canvas.scale)
    plot.yaxis.formatter = CustomJSTickFormatter(code=writer(chart.unit, "tick"))
    whole = 1 if chart.unit in ("executors", "partitions") else 0
    plot.yaxis.ticker = AdaptiveTicker(mantissas=[1, 2, 5], min_interval=whole, desired_num_ticks=5)
    # the room below zero is for marks
    plot.yaxis.bounds = plot.ygrid.bounds = (0.0, 1.12 * _top(chart))
    quiet(plot)


def _draw(plot: figure, key: str, source: ColumnDataSource) -> None:
    look = LOOKS[key]
    if look.fill:
        _fill(plot, key, source)
    stroke: dict[str, Any] = {"color": look.colour, "line_width": look.width, "line_dash": look.dash}
    if look.steps:
        plot.step(x="time", y=key, source=source, mode="after", **stroke)
    else:
        plot.line(x="time", y=key, source=source, line_join="round", **stroke)


def _fill(plot: figure, key: str, source: ColumnDataSource) -> None:
    colour: dict[str, Any] = {"fill_color": LOOKS[key].colour, "fill_alpha": LOOKS[key].fill}
    if LOOKS[key].steps:
        plot.varea_step(x="time", y1="floor", y2=key, source=source, step_mode="after", **colour)
    else:
        plot.varea(x="time", y1="floor", y2=key, source=source, **colour)


def _hover(plot: figure, chart: Chart, canvas: Canvas) -> HoverTool:
    """All values at the cursor's time. It is attached to an invisible line, which has no gaps."""
    anchor = plot.line(x="time", y="floor", source=canvas.source, alpha=0)
    value, time = CustomJSHover(code=writer(chart.unit, "value")), CustomJSHover(code=time_writer(canvas.scale))
    rows = [TooltipRow(series.key, series.name, LOOKS[series.key].colour) for series in chart.series]
    return HoverTool(
        renderers=[anchor],
        mode="vline",
        point_policy="follow_mouse",
        tooltips=tooltip("values", heading="@time{custom}", rows=rows),
        formatters={"@time": time, **{f"@{series.key}": value for series in chart.series}},
    )
