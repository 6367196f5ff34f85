"""Empty charts of a comparison, and their curves. A curve is named after its policy, so that a click can hide it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bokeh.events import DoubleTap
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CrosshairTool,
    CustomJS,
    CustomJSHover,
    CustomJSTickFormatter,
    HoverTool,
    Range1d,
)
from bokeh.models.glyphs import Line, Step
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

from tidegate.report.document import tooltip
from tidegate.report.frame import quiet, writer
from tidegate.report.looks import Look
from tidegate.report.parts import TooltipRow

#: an axis is logarithmic from this ratio of its highest to its lowest value on
WIDE = 30.0
#: with a decimal, so that 99.5 % of the records do not read as all of them
PART = 'return Number((value * 100).toFixed(1)) + " % of the records within"'


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows. `low` and `high` are its lowest and highest value, without the room around them."""

    unit: str
    low: float
    high: float
    log: bool = False
    #: room above `high`, as a share of the values' span; logarithmic axes have their own
    room: float = 0.1

    @classmethod
    def of(cls, unit: str, ends: tuple[float, float]) -> Axis:
        """Logarithmic if its values are far apart, else from zero."""
        low, high = ends
        return cls(unit, low, high, True) if high > WIDE * low > 0 else cls(unit, 0.0, high or 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        if self.log:
            return self.low / 1.3, self.high * 1.3
        return self.low, self.high + self.room * (self.high - self.low)

    def range(self) -> Range1d:
        """Its bounds are what a double-click returns to."""
        start, end = self.ends
        return Range1d(start=start, end=end, bounds=(start, end) if start < end else None)


def empty(height: int, x: Axis, y: Axis, x_range: Range1d | None = None) -> figure:
    """A chart without curves, zoomed by dragging along `x`."""
    ends = x_range or x.range()
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_range=ends,
        y_range=y.range(),
        x_axis_type="log" if x.log else "linear",
        y_axis_type="log" if y.log else "linear",
        tools="xbox_zoom",
        toolbar_location=None,
        min_border_left=64,
        min_border_right=16,
        outline_line_color=None,
    )
    _axes(plot, x, y)
    plot.js_on_event(DoubleTap, CustomJS(args={"x": ends}, code="[x.start, x.end] = x.bounds"))
    return plot


def _axes(plot: figure, x: Axis, y: Axis) -> None:
    for side, axis, ticks in ((plot.xaxis, x, 7), (plot.yaxis, y, 5)):
        side.formatter = CustomJSTickFormatter(code=_hours(axis) + writer(axis.unit, "tick"))
        if axis.log:
            continue
        if axis.unit in {"clock", "seconds"}:
            mantissas, base = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0], 60.0
        else:
            mantissas, base = [1.0, 2.0, 5.0], 10.0
        least = 1.0 if axis.unit in {"executors", "clock", "seconds"} else 0.0
        side.ticker = AdaptiveTicker(base=base, mantissas=mantissas, min_interval=least, desired_num_ticks=ticks)
    quiet(plot)


def _hours(axis: Axis) -> str:
    """Full hours are written short, so that the labels fit on a phone."""
    return 'if (tick && tick % 3600 === 0) return tick / 3600 + " h";' if axis.unit == "clock" else ""


def curve(plot: figure, source: ColumnDataSource, x: str, y: str, look: Look) -> GlyphRenderer[Any]:
    """Invisible without a width. Glyphs for selections, which `plot.line` would add, double the size of the file."""
    stroke: dict[str, Any] = {
        "line_alpha": 1.0 if look.width else 0.0,
        "line_color": look.colour,
        "line_width": look.width,
        "line_dash": look.dash,
    }
    glyph = Step(x=x, y=y, mode="after", **stroke) if look.steps else Line(x=x, y=y, **stroke)
    return plot.add_glyph(source, glyph)


def hover(plot: figure, anchor: GlyphRenderer[Any], head: tuple[str, str], rows: list[TooltipRow], unit: str) -> None:
    """Show all rows at the cursor, which hits `anchor`. `head` is the column along which it moves, and its unit."""
    column, head_unit = head
    value = CustomJSHover(code=writer(unit, "value"))
    position = CustomJSHover(code=PART if head_unit == "share" else writer(head_unit, "value"))
    tool = HoverTool(
        renderers=[anchor],
        mode="hline" if column == "share" else "vline",
        point_policy="follow_mouse",
        tooltips=tooltip("values", heading=f"@{column}{{custom}}", rows=rows),
        formatters={f"@{column}": position, **{f"@{row.column}": value for row in rows}},
    )
    plot.add_tools(tool)


def cross(plot: figure, cursor: Any) -> None:
    plot.add_tools(CrosshairTool(dimensions="height", overlay=cursor))
