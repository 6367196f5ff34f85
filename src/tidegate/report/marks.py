"""Decisions and events on a chart: each is a mark, whose tooltip explains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool
from bokeh.models.renderers import DataRenderer
from bokeh.plotting import figure

from tidegate.report.choices import Choice, Outcome, RunDecisions
from tidegate.report.document import tooltip
from tidegate.report.events import RunEvent, Sort
from tidegate.report.frame import time_writer
from tidegate.report.looks import MARKS, Mark
from tidegate.report.view import RunPage

OUTCOMES: tuple[Outcome, ...] = ("hold", "advised", "up", "down")
#: where the rows below zero are, as shares of the room there
HOLD = 0.25
SORTS: Mapping[Sort, float] = {"event": 0.75, "failure": 0.5}
#: more rescales than this have no lines through all charts, which would hide the curves
LINES = 150


@dataclass(frozen=True, slots=True)
class Moment:
    time: float
    level: float
    story: str


def mark_times(plot: figure, decisions: RunDecisions) -> None:
    """A thin vertical line at every rescale, in the colour of its triangle."""
    if len(decisions.marked("up", "down")) > LINES:
        return
    outcomes: tuple[Outcome, ...] = ("up", "down")
    for outcome in outcomes:
        if times := [choice.time for choice in decisions.marked(outcome)]:
            plot.vspan(x=times, line_color=MARKS[outcome].colour, line_width=1, line_alpha=0.35)


def mark_choices(plot: figure, page: RunPage, floor: float) -> None:
    """Rescales on the steps that they cause; holds, events and failures in rows of their own, down to `floor`."""
    renderers: list[DataRenderer] = [
        _scatter(plot, MARKS[key], moments) for key, moments in _moments(page, floor) if moments
    ]
    time = CustomJSHover(code=time_writer(page.scale))
    plot.add_tools(HoverTool(renderers=renderers, tooltips=tooltip("story"), formatters={"@time": time}))


def _moments(page: RunPage, floor: float) -> Iterator[tuple[str, list[Moment]]]:
    for outcome in OUTCOMES:
        choices = page.decisions.marked(outcome)
        level = HOLD * floor
        yield outcome, [Moment(c.time, level if outcome == "hold" else c.after, choice_story(c)) for c in choices]
    for sort, row in SORTS.items():
        events = page.events.marks[sort].items if sort in page.events.marks else []
        yield sort, [Moment(event.time, row * floor, _event_story(event)) for event in events]


def _scatter(plot: figure, mark: Mark, moments: Sequence[Moment]) -> DataRenderer:
    columns: dict[str, Any] = {
        name: [getattr(moment, name) for moment in moments] for name in ("time", "level", "story")
    }
    outlined = mark.hollow or mark.shape == "x"  # which consists of lines only
    return plot.scatter(
        x="time",
        y="level",
        source=ColumnDataSource(columns),
        marker=mark.shape,
        size=mark.size,
        fill_color="white" if mark.hollow else mark.colour,
        line_color=mark.colour if outlined else "white",
        line_width=2.5 if mark.shape == "x" else 1,
        hit_dilation=1.5,  # a dot is hard to hit with a cursor
    )


def choice_story(choice: Choice) -> str:
    """
    >>> print(choice_story(Choice(45, 2, 3, "up", (("hpa-cpu", "CPU 95%: 2 -> 4"), ("limits", "maximum 3")))))
    2 → 3
    hpa-cpu: CPU 95%: 2 -> 4
    limits: maximum 3
    """
    change = f"stay at {choice.before}" if choice.outcome == "hold" else f"{choice.before} → {choice.after}"
    advised = " (advised, not acted on)" if choice.outcome == "advised" else ""
    reasons = "\n".join(f"{by}: {reason}" for by, reason in choice.chain)
    return f"{change}{advised}\n{reasons}"


def _event_story(event: RunEvent) -> str:
    return f"{event.kind}\n{event.message}"
