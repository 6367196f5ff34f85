"""What all charts of all pages have around their curves: unobtrusive axes, and numbers written as in the text."""

from __future__ import annotations

from collections.abc import Mapping

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from tidegate.report.looks import GRID, RULE, SOFT
from tidegate.units import UNKNOWN

# the same as units.py, for numbers that are written in the browser
SHORT = """
const short = (x) => {
  const r = Number(x.toPrecision(3)), a = Math.abs(r);
  const [size, prefix] = a >= 1e9 ? [1e9, " G"] : a >= 1e6 ? [1e6, " M"] : a >= 1e3 ? [1e3, " k"] : [1, ""];
  return Number((r / size).toPrecision(3)) + prefix;
};
const pad = (n) => String(n).padStart(2, "0");
const clock = (x) => {
  const s = Math.round(Math.abs(x)), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  return (x < 0 && s ? "-" : "") + (h ? h + ":" + pad(m) : m) + ":" + pad(s % 60);
};
"""
WRITERS: Mapping[str, str] = {
    "/s": 'short(x) + "/s"',
    "records": "short(x)",
    "s": 'short(x) + " s"',
    "executors": "String(x)",
    "share": 'Math.round(x * 100) + " %"',
    "clock": "clock(x)",
    "seconds": 'Math.round(x) + " s"',
}


def writer(unit: str, name: str) -> str:
    """JavaScript that returns the number in the variable `name` as text with its unit."""
    return f'{SHORT}const x = {name};\nreturn Number.isFinite(x) ? {WRITERS[unit]} : "{UNKNOWN}";'


def hover_steps(plot: figure, source: ColumnDataSource, column: str, tool: HoverTool) -> None:
    """Add a tooltip to a stepped curve over `time`. Bokeh cannot hit steps, so it is attached to an invisible line."""
    tool.renderers = [plot.line(x="time", y=column, source=source, alpha=0)]
    tool.mode, tool.line_policy = "vline", "prev"
    plot.add_tools(tool)


def quiet(plot: figure) -> None:
    plot.axis.axis_line_color = plot.yaxis.major_tick_line_color = plot.axis.minor_tick_line_color = None
    plot.xaxis.major_tick_line_color = RULE
    plot.axis.major_label_text_color = SOFT
    plot.axis.major_label_text_font = "system-ui, sans-serif"
    plot.axis.major_label_text_font_size = "12px"
    plot.xgrid.grid_line_color = None
    plot.ygrid.grid_line_color = GRID
