"""A trace as one HTML file that opens offline: its curve, its figures, and what is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from bokeh.embed import components
from bokeh.events import DoubleTap
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSHover,
    CustomJSTickFormatter,
    DatetimeTicker,
    DatetimeTickFormatter,
    HoverTool,
    Range1d,
)
from bokeh.plotting import figure

from tidegate.report.document import document, shown, told
from tidegate.report.facts import Fact
from tidegate.report.frame import quiet, writer
from tidegate.report.looks import BLUE, INK
from tidegate.report.marks import TIP
from tidegate.report.units import UNKNOWN, clock, count, exact, share
from tidegate.traces.result import ALARM, LEVELS, Envelope, Problem, Skew, Trace

#: of a key, and of a bad value, so that one long text does not fill the page
KEY, VALUE = 32, 100
#: how times are written below the curve, by the distance between them
TICKS: Mapping[str, Any] = {
    "milliseconds": "%H:%M:%S.%3N",
    "seconds": "%H:%M:%S",
    "minsec": "%H:%M:%S",
    "minutes": "%H:%M",
    "hourmin": "%H:%M",
    "hours": "%H:%M",
    "days": "%d %b",
    "months": "%b %Y",
}


def render(trace: Trace) -> str:
    """The whole document, a megabyte of which is Bokeh's own script."""
    script, (curve, shares) = components([_curve(trace.envelope), _shares(trace.distribution)])
    return document(
        "trace.html",
        "trace",
        trace.path.name,
        script,
        notice=_notice(trace),
        facts="\n".join(told(fact) for fact in facts(trace)),
        figures="\n".join(shown(fact) for fact in figures(trace)),
        hint=f"{_each(trace.envelope)} Times are UTC. Drag to zoom, double-click to see all of it again.",
        keys=_keys(trace.envelope),
        curve=curve,
        shares=shares,
        skew="" if trace.skew is None else _skew(trace.skew),
        problems=_problems(trace.problems),
    )


def facts(trace: Trace) -> tuple[Fact, ...]:
    size = trace.size
    return (
        Fact("First event", f"{size.first:%Y-%m-%d %H:%M:%S}"),
        Fact("Last event", f"{size.last:%Y-%m-%d %H:%M:%S}"),
        Fact("Length", f"{exact(size.seconds)} s", clock(size.seconds)),
        Fact("Empty seconds", exact(size.empty), share(size.empty / size.seconds)),
        Fact("Files", exact(trace.files)),
        Fact("Times were written as", ", ".join(trace.notations)),
    )


def figures(trace: Trace) -> tuple[Fact, ...]:
    size = trace.size
    record = UNKNOWN if size.record is None else f"{count(size.record)} B"
    return (
        Fact("Records", count(size.rows), f"{exact(size.rows)} in all"),
        Fact("Mean rate", f"{count(size.mean)}/s", f"median {count(size.p50)}/s"),
        Fact("p95 rate", f"{count(size.p95)}/s", f"p99 {count(size.p99)}/s"),
        Fact("Highest rate", f"{count(size.max)}/s", f"{size.peak_to_mean:.3g} times the mean"),
        Fact("Mean record", record, "" if size.record is None else "before compression"),
        Fact("Bad rows", exact(trace.bad), share(trace.bad_share)),
    )


def _notice(trace: Trace) -> str:
    if trace.bad_share <= ALARM:
        return ""
    return f'<p class="notice warn">{share(trace.bad_share)} of the rows are bad and not in the trace: see below.</p>'


def _each(envelope: Envelope) -> str:
    if envelope.width == 1:
        return "Each second."
    return f"Mean, lowest and highest second of every {_length(envelope.width)}."


def _length(width: int) -> str:
    """
    >>> _length(1), _length(30), _length(300), _length(7200)
    ('1 s', '30 s', '5 min', '2 h')
    """
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if width >= size)
    return f"{width / size:g} {unit}"


def _keys(envelope: Envelope) -> str:
    line = f'<span><i style="border-top:2px solid {BLUE}"></i>{"rate" if envelope.width == 1 else "mean"}</span>'
    area = f'<span><i style="height:9px;background:{BLUE}40"></i>lowest to highest second</span>'
    return line if envelope.width == 1 else line + area


def _curve(envelope: Envelope) -> figure:
    """Bokeh counts times in milliseconds. The last value is drawn to its end."""
    start = envelope.start.timestamp() * 1000
    times = start + np.arange(len(envelope.mean) + 1) * envelope.width * 1000.0
    columns = {"low": envelope.low, "mean": envelope.mean, "high": envelope.high}
    source = ColumnDataSource({"time": times, **{name: _closed(values) for name, values in columns.items()}})
    plot = _empty((float(times[0]), float(times[-1])), float(max(envelope.high)), height=360)
    plot.xaxis.ticker = DatetimeTicker()
    plot.xaxis.formatter = DatetimeTickFormatter(**TICKS)
    if envelope.width > 1:
        band: dict[str, Any] = {"fill_color": BLUE, "fill_alpha": 0.25, "step_mode": "after"}
        plot.varea_step(x="time", y1="low", y2="high", source=source, **band)
    line = plot.step(x="time", y="mean", source=source, mode="after", color=BLUE, line_width=1.5)
    rows = ("mean",) if envelope.width == 1 else ("high", "mean", "low")
    tip = "".join(f"\n{'rate' if envelope.width == 1 else row} <b>@{row}{{custom}}</b>" for row in rows)
    told = CustomJSHover(code=writer("/s", "value"))
    formatters: dict[str, Any] = {"@time": "datetime", **{f"@{row}": told for row in rows}}
    tooltips = f'<div style="{TIP}"><b>@time{{%F %T}}</b>{tip}</div>'
    plot.add_tools(HoverTool(renderers=[line], mode="vline", tooltips=tooltips, formatters=formatters))
    return plot


def _closed(values: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([*values, values[-1]], dtype=np.float64)


def _shares(rates: Sequence[float]) -> figure:
    source = ColumnDataSource({"rate": np.array(rates), "share": np.array(LEVELS)})
    plot = _empty((0.0, max(rates) * 1.02), 1.0, height=280)
    plot.xaxis.formatter = CustomJSTickFormatter(code=writer("/s", "tick"))
    plot.xaxis.ticker = AdaptiveTicker(mantissas=[1, 2, 5], desired_num_ticks=6)
    plot.yaxis.formatter = CustomJSTickFormatter(code=writer("share", "tick"))
    line = plot.line(x="rate", y="share", source=source, color=INK, line_width=1.75)
    units = {"@rate": "/s", "@share": "share"}
    formatters: dict[str, Any] = {name: CustomJSHover(code=writer(unit, "value")) for name, unit in units.items()}
    tooltips = f'<div style="{TIP}"><b>@share{{custom}}</b> of the seconds: at most <b>@rate{{custom}}</b></div>'
    plot.add_tools(HoverTool(renderers=[line], mode="hline", tooltips=tooltips, formatters=formatters))
    return plot


def _empty(x: tuple[float, float], top: float, height: int) -> figure:
    whole = Range1d(start=x[0], end=x[1], bounds=x)
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_range=whole,
        y_range=Range1d(start=0, end=1.06 * top),
        tools="xbox_zoom",
        toolbar_location=None,
        min_border_left=64,
        min_border_right=32,
        outline_line_color=None,
    )
    plot.js_on_event(DoubleTap, CustomJS(args={"x": whole}, code="[x.start, x.end] = x.bounds"))
    plot.yaxis.formatter = CustomJSTickFormatter(code=writer("/s", "tick"))
    plot.yaxis.ticker = AdaptiveTicker(mantissas=[1, 2, 5], desired_num_ticks=5)
    quiet(plot)
    return plot


def _skew(skew: Skew) -> str:
    rows = "".join(_row(_short(hot.key, KEY), exact(hot.rows), share(hot.share)) for hot in skew.top)
    told = (
        f"{exact(skew.keys)} keys in {escape(skew.column)}; the hottest ten have {share(skew.ten)} of the records."
        f" One task gets all records of the hottest key, {share(skew.hottest)}: grouped by it,"
        f" more than {exact(skew.useful)} tasks at a time cannot help."
    )
    head = "<tr><th>Key</th><th>Records</th><th>Share</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f'<section><h2>Hottest keys</h2><p class="hint">{told}</p>{table}</section>'


def _row(first: str, *numbers: str) -> str:
    return f"<tr><td>{first}</td>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"


def _short(value: str | None, length: int) -> str:
    if value is None:
        return "<em>none</em>"
    cut = value if len(value) <= length else value[:length] + "…"
    return f"<code>{escape(cut)}</code>"


def _problems(problems: Sequence[Problem]) -> str:
    if not problems:
        return ""
    rows = "".join(
        f"<tr><td>{exact(p.rows)}</td><td>{escape(p.what)}</td><td>{_examples(p)}</td></tr>" for p in problems
    )
    head = "<tr><th>Rows</th><th>Why</th><th>Such as</th></tr>"
    return f"<section><h2>Not in the trace</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table></section>"


def _examples(problem: Problem) -> str:
    told = (f"<li>{_short(one.value, VALUE)} in {escape(one.file)}</li>" for one in problem.examples)
    return f"<ol>{''.join(told)}</ol>"
