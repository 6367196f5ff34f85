"""The page of workloads: a curve of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bokeh.models import AdaptiveTicker, ColumnDataSource, CustomJSHover, CustomJSTickFormatter, HoverTool, Range1d
from bokeh.plotting import figure

from tidegate.report.document import document, embedded, tooltip
from tidegate.report.frame import hover_steps, quiet, writer
from tidegate.report.looks import BLUE
from tidegate.report.parts import TooltipRow
from tidegate.report.timescale import time_unit
from tidegate.units import clock, count
from tidegate.workloads import Shape

#: points of a curve: a whole number per minute for the patterns of 90 and of 140 minutes
POINTS = 1260


@dataclass(frozen=True, slots=True)
class Sketch:
    name: str
    summary: str
    source: str
    shape: Shape


def render(sketches: Sequence[Sketch]) -> str:
    alone = len(sketches) == 1
    script, plots = embedded({str(number): _plot(sketch.shape, alone) for number, sketch in enumerate(sketches)})
    return document(
        "workloads.html",
        "Workload" if alone else "Workloads",
        draws=bool(plots),
        script=script,
        sketches=[(sketch, _size(sketch.shape), plots[str(number)]) for number, sketch in enumerate(sketches)],
    )


def _size(shape: Shape) -> str:
    return f"{clock(shape.duration)}, {count(shape.average())}/s on average, peak {count(shape.highest())}/s"


def _plot(shape: Shape, alone: bool) -> figure:
    rates = shape.means(POINTS)
    times = np.arange(POINTS + 1) * shape.duration / POINTS
    source = ColumnDataSource({"time": times, "rate": np.append(rates, rates[-1]), "floor": np.zeros(POINTS + 1)})
    plot = _empty(shape, top=max(shape.highest(), float(rates.max())), height=460 if alone else 210)
    plot.varea_step(x="time", y1="floor", y2="rate", source=source, fill_color=BLUE, fill_alpha=0.12, step_mode="after")
    plot.step(x="time", y="rate", source=source, mode="after", color=BLUE, line_width=1.5)
    value, time = (CustomJSHover(code=writer(unit, "value")) for unit in ("/s", time_unit(shape.duration)))
    tip = tooltip("values", heading="@time{custom}", rows=[TooltipRow("rate")])
    hover_steps(plot, source, "rate", HoverTool(tooltips=tip, formatters={"@time": time, "@rate": value}))
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
