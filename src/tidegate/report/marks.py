"""Decisions and events on a chart: each is a mark, whose tooltip explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.models.renderers import DataRenderer
from bokeh.plotting import figure

from tidegate.report.choices import Choice
from tidegate.report.document import tooltip
from tidegate.report.looks import MARKS, Mark
from tidegate.report.view import RunEvent, RunPage
from tidegate.units import clock


@dataclass(frozen=True, slots=True)
class Moment:
    time: float
    level: float
    story: str


def mark_times(plot: figure, choices: Sequence[Choice]) -> None:
    """A thin vertical line at every rescale, in the colour of its triangle."""
    for outcome in ("up", "down"):
        if times := [choice.time for choice in choices if choice.outcome == outcome]:
            plot.vspan(x=times, line_color=MARKS[outcome].colour, line_width=1, line_alpha=0.35)


def mark_choices(plot: figure, page: RunPage, floor: float) -> None:
    """Rescales on the steps that they cause, holds and events in a row of their own at `floor`."""
    renderers: list[DataRenderer] = [
        _scatter(plot, MARKS[key], moments) for key, moments in _moments(page, floor) if moments
    ]
    plot.add_tools(HoverTool(renderers=renderers, tooltips=tooltip("story")))


def _moments(page: RunPage, floor: float) -> Iterator[tuple[str, list[Moment]]]:
    for outcome in ("hold", "advised", "up", "down"):
        choices = [choice for choice in page.choices if choice.outcome == outcome]
        yield outcome, [Moment(c.time, floor if outcome == "hold" else c.after, choice_story(c)) for c in choices]
    yield "event", [Moment(event.time, floor, _event_story(event)) for event in page.events]


def _scatter(plot: figure, mark: Mark, moments: Sequence[Moment]) -> DataRenderer:
    columns: dict[str, Any] = {
        name: [getattr(moment, name) for moment in moments] for name in ("time", "level", "story")
    }
    return plot.scatter(
        x="time",
        y="level",
        source=ColumnDataSource(columns),
        marker=mark.shape,
        size=mark.size,
        fill_color="white" if mark.hollow else mark.colour,
        line_color=mark.colour if mark.hollow else "white",
        hit_dilation=1.5,  # a dot is hard to hit with a cursor
    )


def choice_story(choice: Choice) -> str:
    """
    >>> print(choice_story(Choice(45, 2, 3, "up", (("hpa-cpu", "CPU 95%: 2 -> 4"), ("limits", "maximum 3")))))
    0:45 · 2 → 3
    hpa-cpu: CPU 95%: 2 -> 4
    limits: maximum 3
    """
    change = f"stay at {choice.before}" if choice.outcome == "hold" else f"{choice.before} → {choice.after}"
    advised = " (advised, not acted on)" if choice.outcome == "advised" else ""
    reasons = "\n".join(f"{by}: {reason}" for by, reason in choice.chain)
    return f"{clock(choice.time)} · {change}{advised}\n{reasons}"


def _event_story(event: RunEvent) -> str:
    return f"{clock(event.time)} · {event.kind}\n{event.message}"
