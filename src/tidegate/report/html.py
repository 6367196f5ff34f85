"""The report of a run as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tidegate.report.charts import figures
from tidegate.report.document import document, embedded
from tidegate.report.looks import LOOKS, MARKS, TARGET, Mark
from tidegate.report.parts import Badge, LegendEntry, Notice, Tone
from tidegate.report.thinning import Sampled
from tidegate.report.view import Chart, RunPage
from tidegate.units import exact, seconds

TONES: Mapping[str, Tone] = {
    "done": "good",
    "running": "plain",
    "interrupted": "warn",
    "abandoned": "warn",
    "failed": "bad",
}
VERIFIED = {True: Badge("verified", "good"), False: Badge("output differs", "bad"), None: Badge("not verified")}
TIME_UNITS = {"seconds": "seconds", "clock": "hours, minutes and seconds"}
#: the line about an autoscaler's health, by its first word; others are plain
HEALTH: Mapping[str, Tone] = {"scaling": "good", "monitoring": "good", "holding": "warn", "degraded": "bad"}
#: marks of changes, in the order of the legend of their table
CHANGES = ("up", "down", "advised")


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
        time_unit=TIME_UNITS.get(page.scale.unit),
        health=None if not page.health else Notice(page.health, HEALTH.get(page.health.split(":")[0], "plain")),
        signs=[MARKS[key] for key in CHANGES if key in page.decisions.marks],
    )


def _legend(chart: Chart, page: RunPage) -> tuple[LegendEntry, ...]:
    entries = [LegendEntry(series.name, look=LOOKS[series.key]) for series in chart.series]
    if chart.target is not None:
        entries.append(LegendEntry(f"target {seconds(chart.target)}", look=TARGET))
    if chart.key == "executors":
        sampled: dict[str, Sampled[Any]] = {}
        sampled.update(page.decisions.marks.items())
        sampled.update(page.events.marks.items())
        entries += [LegendEntry(_named(mark, sampled[key]), mark=mark) for key, mark in MARKS.items() if key in sampled]
    return tuple(entries)


def _named(mark: Mark, sampled: Sampled[Any]) -> str:
    """The name of a mark, with the number of those drawn if they are not all."""
    drawn = len(sampled.items)
    return mark.name if drawn == sampled.count else f"{mark.name} ({exact(drawn)} of {exact(sampled.count)} drawn)"
