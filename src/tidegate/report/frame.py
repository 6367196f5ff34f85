"""What all charts of all pages have around their curves: unobtrusive axes, and numbers written as in the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTicker,
    CustomJSTickFormatter,
    HoverTool,
    NoOverlap,
)
from bokeh.plotting import figure

from tidegate.report.looks import GRID, INK, RULE, SOFT
from tidegate.report.timescale import Timescale
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
# clock times in the reader's zone; START is that of the run in seconds since 1970
DATES = """
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const at = (x) => new Date((START + x) * 1000);
const day = (d) => d.getDate() + " " + MONTHS[d.getMonth()];
const time = (d) => pad(d.getHours()) + ":" + pad(d.getMinutes()) + ":" + pad(d.getSeconds());
"""
# round times of the reader's clock: an axis that counts from the start of a run would not have any
ROUND_TIMES = """
const {start, end} = cb_data;
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const step = steps.find((s) => (end - start) / s <= 9) ?? 86400 * Math.ceil((end - start) / 86400 / 9);
const away = START - new Date((START + start) * 1000).getTimezoneOffset() * 60;
const ticks = [];
for (let tick = Math.ceil((start + away) / step) * step - away; tick <= end; tick += step) ticks.push(tick);
return ticks;
"""
# midnight is written as the day that begins
ROUND_TIME = """
const d = at(tick);
if (!Number.isFinite(tick)) return "";
return time(d) === "00:00:00" ? day(d) : d.getSeconds() ? time(d) : time(d).slice(0, 5);
"""
#: of texts within a chart
FONT: Mapping[str, Any] = {
    "text_color": INK,
    "text_font_size": "13px",
    "text_font": {"value": "system-ui, sans-serif"},
}
WRITERS: Mapping[str, str] = {
    "/s": 'short(x) + "/s"',
    "records": "short(x)",
    "s": 'short(x) + " s"',
    "executors": "String(x)",
    "partitions": "String(x)",
    "slots": 'x.toLocaleString("en") + (x === 1 ? " slot" : " slots")',
    "share": 'Math.round(x * 100) + " %"',
    "clock": "clock(x)",
    "seconds": 'Math.round(x) + " s"',
}


def writer(unit: str, name: str) -> str:
    """JavaScript that returns the number in the variable `name` as text with its unit."""
    return f'{SHORT}const x = {name};\nreturn Number.isFinite(x) ? {WRITERS[unit]} : "{UNKNOWN}";'


def time_writer(scale: Timescale) -> str:
    """JavaScript that returns the time in `value`: on the clock and since the start, as far as both are known."""
    if not scale.dated:
        return writer(scale.unit, "value")
    moment = 'day(at(x)) + " " + time(at(x)) + " · " + clock(x) + " since the start"'
    return f'{SHORT}{_dates(scale)}const x = value;\nreturn Number.isFinite(x) ? {moment} : "{UNKNOWN}";'


def time_axis(plot: figure, scale: Timescale, ticks: int = 8) -> None:
    """Labels of the time below a chart whose x are seconds since the start."""
    if scale.dated:
        plot.xaxis.formatter = CustomJSTickFormatter(code=f"{SHORT}{_dates(scale)}{ROUND_TIME}")
        plot.xaxis.ticker = CustomJSTicker(major_code=f"const START = {scale.start!r};{ROUND_TIMES}")
    else:
        plot.xaxis.formatter = CustomJSTickFormatter(code=writer(scale.unit, "tick"))
        plot.xaxis.ticker = AdaptiveTicker(
            base=60, mantissas=[1, 2, 5, 10, 15, 30], min_interval=1, desired_num_ticks=ticks
        )


def _dates(scale: Timescale) -> str:
    return f"const START = {scale.start!r};{DATES}"


def hover_steps(plot: figure, source: ColumnDataSource, column: str, tool: HoverTool) -> None:
    """Add a tooltip to a stepped curve over `time`. Bokeh cannot hit steps, so it is attached to an invisible line."""
    tool.renderers = [plot.line(x="time", y=column, source=source, alpha=0)]
    tool.mode, tool.line_policy = "vline", "prev"
    plot.add_tools(tool)


def quiet(plot: figure) -> None:
    # transparent, as the page may be dark
    plot.background_fill_color = plot.border_fill_color = None
    plot.xaxis.major_label_policy = NoOverlap(min_distance=8)
    plot.yaxis.major_label_policy = NoOverlap(min_distance=2)
    plot.axis.axis_line_color = plot.yaxis.major_tick_line_color = plot.axis.minor_tick_line_color = None
    plot.xaxis.major_tick_line_color = RULE
    plot.axis.major_label_text_color = SOFT
    plot.axis.major_label_text_font = "system-ui, sans-serif"
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font = "system-ui, sans-serif"
    plot.axis.axis_label_text_font_size = "13px"
    plot.axis.axis_label_text_color = SOFT
    plot.xgrid.grid_line_color = None
    plot.ygrid.grid_line_color = GRID
