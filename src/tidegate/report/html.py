"""The report of a run as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from tidegate.report.charts import figures, time_unit
from tidegate.report.choices import fold
from tidegate.report.document import document, embedded
from tidegate.report.looks import LOOKS, MARKS, TARGET
from tidegate.report.parts import Badge, LegendEntry, Notice, Tone
from tidegate.report.view import Chart, RunPage
from tidegate.units import seconds

TONES: Mapping[str, Tone] = {"done": "good", "running": "plain", "interrupted": "warn", "failed": "bad"}
VERIFIED = {True: Badge("verified", "good"), False: Badge("output differs", "bad"), None: Badge("not verified")}
TIME_UNITS = {"seconds": "Seconds", "clock": "Minutes and seconds"}


@dataclass(frozen=True, slots=True)
class ChartFigure:
    title: str
    legend: tuple[LegendEntry, ...]
    plot: Markup


def render(page: RunPage) -> str:
    tone = TONES.get(page.status, "plain")
    script, plots = embedded(figures(page) if page.charts else {})
    return document(
        "run.html",
        page.title,
        draws=bool(plots),
        script=script,
        page=page,
        badges=(Badge(page.status, tone), VERIFIED[page.verified]),
        notice=None if page.notice is None else Notice(page.notice, tone),
        charts=[ChartFigure(chart.title, _legend(chart, page), plots[chart.key]) for chart in page.charts],
        time_unit=TIME_UNITS[time_unit(page.span)],
        changes=fold([choice for choice in page.choices if choice.outcome != "hold"]),
        every=fold(page.choices),
    )


def _legend(chart: Chart, page: RunPage) -> tuple[LegendEntry, ...]:
    entries = [LegendEntry(series.name, look=LOOKS[series.key]) for series in chart.series]
    if chart.target is not None:
        entries.append(LegendEntry(f"target {seconds(chart.target)}", look=TARGET))
    if chart.key == "executors":
        present = {choice.outcome for choice in page.choices} | ({"event"} if page.events else set())
        entries += [LegendEntry(mark.name, mark=mark) for key, mark in MARKS.items() if key in present]
    return tuple(entries)
