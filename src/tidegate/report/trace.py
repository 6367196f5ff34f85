"""The page of a trace: its curve, its figures, and the rows that are not part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
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

from tidegate.report.document import document, embedded, tooltip
from tidegate.report.frame import hover_steps, quiet, writer
from tidegate.report.looks import BLUE, INK, Look
from tidegate.report.parts import Fact, LegendEntry, Notice, TooltipRow
from tidegate.traces.result import ALARM, LEVELS, Envelope, Trace
from tidegate.units import UNKNOWN, clock, count, exact, share

#: characters shown of a key, and of the value of a bad row
KEY_LENGTH, VALUE_LENGTH = 32, 100
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
    script, plots = embedded({"curve": _curve(trace.envelope), "shares": _shares(trace.distribution)})
    return document(
        "trace.html",
        trace.path.name,
        draws=True,
        script=script,
        trace=trace,
        notice=_notice(trace),
        facts=facts(trace),
        figures=figures(trace),
        resolution=_resolution(trace.envelope),
        legend=_legend(trace.envelope),
        curve=plots["curve"],
        shares=plots["shares"],
        key_length=KEY_LENGTH,
        value_length=VALUE_LENGTH,
    )


def facts(trace: Trace) -> tuple[Fact, ...]:
    size = trace.size
    return (
        Fact("First event", f"{size.first:%Y-%m-%d %H:%M:%S}", "UTC"),
        Fact("Last event", f"{size.last:%Y-%m-%d %H:%M:%S}", "UTC"),
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


def _notice(trace: Trace) -> Notice | None:
    if trace.bad_share <= ALARM:
        return None
    return Notice(f"{share(trace.bad_share)} of the rows are bad and not in the trace: see below.", "warn")


def _resolution(envelope: Envelope) -> str:
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


def _legend(envelope: Envelope) -> tuple[LegendEntry, ...]:
    line = Look(BLUE, width=2)
    if envelope.width == 1:
        return (LegendEntry("rate", line),)
    return LegendEntry("mean", line), LegendEntry("lowest to highest second", Look(BLUE, width=0, fill=0.25))


def _curve(envelope: Envelope) -> figure:
    """Bokeh's times are in milliseconds. The last value is drawn to the end of its interval."""
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
    plot.step(x="time", y="mean", source=source, mode="after", color=BLUE, line_width=1.5)
    names = {"mean": "rate"} if envelope.width == 1 else {"high": "high", "mean": "mean", "low": "low"}
    rate = CustomJSHover(code=writer("/s", "value"))
    formatters: dict[str, Any] = {"@time": "datetime", **{f"@{column}": rate for column in names}}
    rows = [TooltipRow(column, name) for column, name in names.items()]
    tip = tooltip("values", heading="@time{%F %T}", rows=rows)
    hover_steps(plot, source, "mean", HoverTool(tooltips=tip, formatters=formatters))
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
    tip = tooltip("seconds_share")
    plot.add_tools(HoverTool(renderers=[line], mode="hline", tooltips=tip, formatters=formatters))
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
