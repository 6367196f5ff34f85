"""Workloads as one HTML file that opens offline: a curve of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from bokeh.embed import components
from bokeh.models import AdaptiveTicker, ColumnDataSource, CustomJSHover, CustomJSTickFormatter, HoverTool, Range1d
from bokeh.plotting import figure

from tidegate.report.charts import time_unit
from tidegate.report.document import document
from tidegate.report.frame import quiet, writer
from tidegate.report.looks import BLUE
from tidegate.report.marks import TIP
from tidegate.report.units import clock, count
from tidegate.workloads import Shape

#: of a curve: a whole number for each minute of the patterns of 90 and of 140 minutes
POINTS = 1260


@dataclass(frozen=True, slots=True)
class Sketch:
    name: str
    summary: str
    source: str
    shape: Shape


def render(sketches: Sequence[Sketch]) -> str:
    """The whole document, a megabyte of which is Bokeh's own script."""
    script, plots = components([_plot(sketch.shape, alone=len(sketches) == 1) for sketch in sketches])
    title = "Workload" if len(sketches) == 1 else "Workloads"
    drawn = "\n".join(_figure(sketch, plot) for sketch, plot in zip(sketches, plots, strict=True))
    return document("workloads.html", "workloads", title, script, figures=drawn)


def _figure(sketch: Sketch, plot: str) -> str:
    shape = sketch.shape
    size = f"{clock(shape.duration)}, {count(shape.average())}/s on average, peak {count(shape.highest())}/s"
    told = f"<b>{escape(sketch.name)}</b>{escape(sketch.summary)}<small>{escape(sketch.source)} · {size}</small>"
    return f"<figure><figcaption>{told}</figcaption>{plot}</figure>"


def _plot(shape: Shape, alone: bool) -> figure:
    rates = shape.means(POINTS)
    times = np.arange(POINTS + 1) * shape.duration / POINTS
    source = ColumnDataSource({"time": times, "rate": np.append(rates, rates[-1]), "floor": np.zeros(POINTS + 1)})
    plot = _empty(shape, top=max(shape.highest(), float(rates.max())), height=460 if alone else 210)
    plot.varea_step(x="time", y1="floor", y2="rate", source=source, fill_color=BLUE, fill_alpha=0.12, step_mode="after")
    line = plot.step(x="time", y="rate", source=source, mode="after", color=BLUE, line_width=1.5)
    value, time = (CustomJSHover(code=writer(unit, "value")) for unit in ("/s", time_unit(shape.duration)))
    tip = f'<div style="{TIP}"><b>@time{{custom}}</b>\n@rate{{custom}}</div>'
    plot.add_tools(HoverTool(renderers=[line], mode="vline", tooltips=tip, formatters={"@time": time, "@rate": value}))
    return plot


def _empty(shape: Shape, top: float, height: int) -> figure:
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_range=Range1d(start=0, end=shape.duration),
        y_range=Range1d(start=0, end=1.08 * top),
        tools="",
        toolbar_location=None,
        min_border_left=64,
        min_border_right=24,
        outline_line_color=None,
    )
    plot.xaxis.formatter = CustomJSTickFormatter(code=writer(time_unit(shape.duration), "tick"))
    plot.xaxis.ticker = AdaptiveTicker(base=60, mantissas=[1, 2, 5, 10, 15, 30], min_interval=1, desired_num_ticks=6)
    plot.yaxis.formatter = CustomJSTickFormatter(code=writer("/s", "tick"))
    plot.yaxis.ticker = AdaptiveTicker(mantissas=[1, 2, 5], desired_num_ticks=4)
    quiet(plot)
    return plot
