"""An empty chart of a comparison, and how curves are drawn. Those of a policy have a name: a click can hide them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
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

from tidegate.report.frame import quiet, writer
from tidegate.report.looks import Look
from tidegate.report.marks import TIP

#: from this ratio of the highest to the lowest value on an axis has powers of ten
WIDE = 30.0
#: with a decimal: 99.5 % of the records are not all of them
PART = 'return Number((value * 100).toFixed(1)) + " % of the records within"'


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows. `low` and `high` are the ends of its values, without the room around them."""

    unit: str
    low: float
    high: float
    log: bool = False
    #: above `high`, as a share of what is below; an axis of powers of ten has its own
    room: float = 0.1

    @classmethod
    def of(cls, unit: str, ends: tuple[float, float]) -> Axis:
        """Of powers of ten if its values are far apart, from zero else."""
        low, high = ends
        return cls(unit, low, high, True) if high > WIDE * low > 0 else cls(unit, 0.0, high or 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        if self.log:
            return self.low / 1.3, self.high * 1.3
        return self.low, self.high + self.room * (self.high - self.low)

    def range(self) -> Range1d:
        """Which a double-click goes back to."""
        start, end = self.ends
        return Range1d(start=start, end=end, bounds=(start, end) if start < end else None)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a tooltip: whose column, in which colour, and which policy's it is (none: it is always shown)."""

    column: str
    name: str
    colour: str
    policy: str = ""


def empty(height: int, x: Axis, y: Axis, x_range: Range1d | None = None) -> figure:
    """A quiet chart, zoomed by dragging along `x`."""
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
    """Full hours are written short, so that they fit below each other's charts on a phone."""
    return 'if (tick && tick % 3600 === 0) return tick / 3600 + " h";' if axis.unit == "clock" else ""


def curve(plot: figure, source: ColumnDataSource, x: str, y: str, look: Look) -> GlyphRenderer[Any]:
    """One without width is not seen. What Bokeh keeps for selections is left out: half the size of the file."""
    stroke: dict[str, Any] = {
        "line_alpha": 1.0 if look.width else 0.0,
        "line_color": look.colour,
        "line_width": look.width,
        "line_dash": look.dash,
    }
    glyph = Step(x=x, y=y, mode="after", **stroke) if look.steps else Line(x=x, y=y, **stroke)
    return plot.add_glyph(source, glyph)


def hover(plot: figure, anchor: GlyphRenderer[Any], head: tuple[str, str], rows: list[Row], unit: str) -> None:
    """Tells all rows at the cursor. `head` is the column that the cursor is at and its unit; it hangs on `anchor`."""
    at, at_unit = head
    value = CustomJSHover(code=writer(unit, "value"))
    where = CustomJSHover(code=PART if at_unit == "share" else writer(at_unit, "value"))
    lines = "".join(_line(row) for row in rows)
    tool = HoverTool(
        renderers=[anchor],
        mode="hline" if at == "share" else "vline",
        point_policy="follow_mouse",
        tooltips=f'<div style="{TIP}"><b>@{at}{{custom}}</b>{lines}</div>',
        formatters={f"@{at}": where, **{f"@{row.column}": value for row in rows}},
    )
    plot.add_tools(tool)


def _line(row: Row) -> str:
    """The page hides a policy by a variable of its style sheet, which reaches into Bokeh's tooltips too."""
    display = f"display:var(--{row.policy},block)" if row.policy else "display:block"
    mark = f'<span style="color:{row.colour}">■</span>'
    return f'<span style="{display}">{mark} {plain(row.name)} <b>@{row.column}{{custom}}</b></span>'


def plain(name: str) -> str:
    """A name of the data within a tooltip's template: neither HTML nor a reference to a column.

    >>> plain("<b>@time{x}$y")
    '&lt;b&gt;&#64;time&#123;x}&#36;y'
    """
    return escape(name).replace("@", "&#64;").replace("$", "&#36;").replace("{", "&#123;")


def cross(plot: figure, cursor: Any) -> None:
    plot.add_tools(CrosshairTool(dimensions="height", overlay=cursor))
