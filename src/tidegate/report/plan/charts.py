"""The capacity curve as a chart: what was measured, what the average and the laws say, and where the rate meets it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSHover, FixedTicker, HoverTool
from bokeh.models.annotations import BoxAnnotation, Span
from bokeh.models.glyphs import Line, Scatter, Segment, Text, VArea
from bokeh.plotting import figure

from tidegate.planner.averaging import AveragedCapacity
from tidegate.report.compare.canvas import Axis, curve, empty
from tidegate.report.document import tooltip
from tidegate.report.frame import FONT, writer
from tidegate.report.looks import AMBER, BLUE, GREEN, GREY, INK, PURPLE, SKY, SOFT, TARGET, Look, Mark
from tidegate.report.parts import LegendEntry, TooltipRow
from tidegate.report.plan.curve import CapacityCurve, Point
from tidegate.report.plan.page import PlanPage
from tidegate.report.plan.wording import between, plural
from tidegate.units import count, share

HEIGHT = 430
MEDIAN = Look(BLUE, width=2.5)
BAND = Look(BLUE, width=0, fill=0.18)
#: in the order of the laws; used again with dots
COLOURS = (GREEN, PURPLE, AMBER, SKY, GREY)
MEASURED = Mark("measured", "●", "circle", INK, 7)
OTHERS = Mark("other memory, or left out", "○", "circle", SOFT, 7, hollow=True)
PLANNED = Mark("plan", "◆", "diamond", TARGET.colour, 17)
#: slots that the measurements do not support
BEYOND = Look(GREY, width=0, fill=0.14)
#: measurements of a number of slots that a tooltip has room for
LISTED = 5
#: room for the label of the rate at the left end of its line, in pixels
MARGIN = 8


def law_looks(capacity: AveragedCapacity) -> dict[str, Look]:
    """By name, the same on every page."""
    names = dict.fromkeys(law.name for law in capacity.laws)
    return {
        name: Look(COLOURS[k % len(COLOURS)], "solid" if k < len(COLOURS) else "dotted", 1.5)
        for k, name in enumerate(names)
    }


def chart(shown: PlanPage, drawn: CapacityCurve) -> figure:
    x, y = axes(shown, drawn)
    plot = empty(HEIGHT, x, y)
    _titles(plot, x, y)
    _beyond(plot, shown.answer.reach, x)
    source = ColumnDataSource(columns(drawn))
    plot.add_glyph(source, VArea(x="slots", y1="low", y2="high", fill_color=BLUE, fill_alpha=BAND.fill))
    looks = law_looks(shown.capacity)
    for k, law in enumerate(drawn.laws):
        curve(plot, source, "slots", f"law{k}", looks[law])
    median = curve(plot, source, "slots", "median", MEDIAN)
    _rate(plot, shown, x)
    _measured(plot, [point for point in drawn.points if not point.used], OTHERS)
    _measured(plot, [point for point in drawn.points if point.used], MEASURED)
    _plan(plot, shown, x, y)
    plot.add_tools(_hover(median, drawn, looks))
    return plot


def axes(shown: PlanPage, drawn: CapacityCurve) -> tuple[Axis, Axis]:
    """Logarithmic where the target is far: laws that grow by a power of slots are straight lines then."""
    low, high = drawn.ends
    low, high = min(low, shown.answer.rate), max(high, shown.answer.rate)
    first, last = drawn.slots[0], drawn.slots[-1]
    if drawn.far:
        return Axis("executors", first, last / 1.3, log=True), Axis("/s", low, high, log=True)
    return Axis("executors", 0.0, last, room=0.0), Axis("/s", 0.0, high)


def columns(drawn: CapacityCurve) -> dict[str, Any]:
    """Of the chart's data source; `law0` is the first of the laws."""
    return {
        "slots": np.array(drawn.slots),
        "low": np.array([interval.low for interval in drawn.average]),
        "median": np.array([interval.median for interval in drawn.average]),
        "high": np.array([interval.high for interval in drawn.average]),
        "measured": [measured_text(drawn, slots) for slots in drawn.slots],
        **{f"law{k}": np.array(medians) for k, medians in enumerate(drawn.laws.values())},
    }


def measured_text(drawn: CapacityCurve, slots: int) -> str:
    """The measurements with so many slots as lines; empty without any."""
    points = [point for point in drawn.points if point.slots == slots]
    lines = [f"measured {count(point.rate)}/s{_bounds(point)}" for point in points[:LISTED]]
    more = len(points) - len(lines)
    return "\n".join([*lines, f"and {more} more"] if more else lines)


def _bounds(point: Point) -> str:
    return f" ({between(point.low, point.high)})" if point.low < point.high else ""


def legend(shown: PlanPage, drawn: CapacityCurve) -> tuple[LegendEntry, ...]:
    return tuple(_legend(shown, drawn))


def _legend(shown: PlanPage, drawn: CapacityCurve) -> Iterator[LegendEntry]:
    yield LegendEntry("measured, with 90 % interval", mark=MEASURED)
    if not all(point.used for point in drawn.points):
        yield LegendEntry(OTHERS.name, mark=OTHERS)
    yield LegendEntry("average of the laws", MEDIAN)
    yield LegendEntry("its 90 % interval", BAND)
    looks, weights = law_looks(shown.capacity), {w.law: w.weight for w in shown.capacity.weights}
    for law in drawn.laws:
        yield LegendEntry(f"{law} {share(weights[law])}", looks[law])
    yield LegendEntry(f"wanted: {count(shown.answer.rate)}/s", TARGET)
    if shown.slots is not None:
        yield LegendEntry("plan, with what is needed at 90 %", mark=PLANNED)
    if shown.answer.reach < drawn.slots[-1]:
        yield LegendEntry("more slots than there are plans for", BEYOND)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers of a logarithmic axis.

    >>> ticks(0.9, 45), ticks(3e5, 4e6)
    ([1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0], [300000.0, 500000.0, 1000000.0, 2000000.0, 3000000.0])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**e for e in exponents for m in (1, 2, 3, 5) if low <= m * 10.0**e <= high]


def _titles(plot: figure, x: Axis, y: Axis) -> None:
    plot.xaxis.axis_label, plot.yaxis.axis_label = "slots", "records/s that they sustain"
    if x.log:
        plot.xaxis.ticker = FixedTicker(ticks=[tick for tick in ticks(*x.ends) if tick >= 1])
        plot.yaxis.ticker = FixedTicker(ticks=ticks(*y.ends))


def _beyond(plot: figure, reach: int, x: Axis) -> None:
    if reach >= x.ends[1]:
        return
    box = BoxAnnotation(left=max(reach, x.ends[0]), fill_color=GREY, fill_alpha=BEYOND.fill, line_color=None)
    plot.add_layout(box)
    if reach > x.ends[0]:
        edge = Span(location=reach, dimension="height", line_color=GREY, line_width=1, line_dash="dotted")
        plot.add_layout(edge)


def _rate(plot: figure, shown: PlanPage, x: Axis) -> None:
    rate = shown.answer.rate
    stroke: dict[str, Any] = {"line_color": TARGET.colour, "line_dash": TARGET.dash, "line_width": TARGET.width}
    plot.add_layout(Span(location=rate, dimension="width", **stroke))
    source = ColumnDataSource({"x": [x.ends[0]], "y": [rate], "text": [f"{count(rate)}/s wanted"]})
    plot.add_glyph(source, Text(x="x", y="y", text="text", x_offset=MARGIN, y_offset=-5, **FONT))


def _measured(plot: figure, points: list[Point], mark: Mark) -> None:
    if not points:
        return
    source = ColumnDataSource(
        {
            "slots": [point.slots for point in points],
            "rate": [point.rate for point in points],
            "low": [point.low for point in points],
            "high": [point.high for point in points],
        }
    )
    plot.add_glyph(source, Segment(x0="slots", x1="slots", y0="low", y1="high", line_color=mark.colour, line_width=2))
    fill, outline = ("white", mark.colour) if mark.hollow else (mark.colour, "white")
    plot.add_glyph(
        source, Scatter(x="slots", y="rate", marker=mark.shape, size=mark.size, fill_color=fill, line_color=outline)
    )


def _plan(plot: figure, shown: PlanPage, x: Axis, y: Axis) -> None:
    """The planned slots on the line of the rate, with the interval of those needed; of a refusal only the interval."""
    rate, slots, interval = shown.answer.rate, shown.slots, shown.answer.interval
    if interval.low is not None:
        high = interval.high or x.ends[1]
        needed = ColumnDataSource({"left": [interval.low], "right": [high], "y": [rate]})
        bar = Segment(x0="left", x1="right", y0="y", y1="y", line_color=TARGET.colour, line_width=5, line_alpha=0.55)
        plot.add_glyph(needed, bar)
    if slots is None:
        return
    foot = ColumnDataSource({"x": [slots, slots], "y": [y.ends[0], rate]})
    plot.add_glyph(foot, Line(x="x", y="y", line_color=TARGET.colour, line_width=1.25))
    source = ColumnDataSource({"x": [slots], "y": [rate], "foot": [y.ends[0]], "text": [plural(slots, "slot")]})
    plot.add_glyph(
        source,
        Scatter(x="x", y="y", marker=PLANNED.shape, size=PLANNED.size, fill_color=PLANNED.colour, line_color="white"),
    )
    label = Text(x="x", y="foot", text="text", x_offset=-MARGIN, y_offset=-MARGIN, text_align="right", **FONT)
    plot.add_glyph(source, label)


def _hover(anchor: Any, drawn: CapacityCurve, looks: dict[str, Look]) -> HoverTool:
    laws = [TooltipRow(f"law{k}", law, looks[law].colour) for k, law in enumerate(drawn.laws)]
    rows = [TooltipRow("high", "at most"), TooltipRow("median", "median", BLUE), TooltipRow("low", "at least"), *laws]
    rate = CustomJSHover(code=writer("/s", "value"))
    return HoverTool(
        renderers=[anchor],
        mode="vline",
        point_policy="follow_mouse",
        tooltips=tooltip("capacity", rows=rows),
        formatters={
            "@slots": CustomJSHover(code=writer("slots", "value")),
            **{f"@{row.column}": rate for row in rows},
        },
    )
