"""Decisions and events on a chart: a mark each, which tells its story to the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.models.renderers import DataRenderer
from bokeh.plotting import figure

from tidegate.report.choices import Choice
from tidegate.report.looks import INK, MARKS, Mark
from tidegate.report.units import clock
from tidegate.report.view import Happening, Page

#: for all tooltips; lines break where the text has a newline
TIP = f"max-width:34em;font:12px/1.45 system-ui,sans-serif;color:{INK};white-space:pre-line;overflow-wrap:anywhere"


@dataclass(frozen=True, slots=True)
class Moment:
    time: float
    level: float
    story: str


def mark_times(plot: figure, choices: Sequence[Choice]) -> None:
    """A thin line wherever executors were asked for, in the colour of its triangle."""
    for outcome in ("up", "down"):
        if times := [choice.time for choice in choices if choice.outcome == outcome]:
            plot.vspan(x=times, line_color=MARKS[outcome].colour, line_width=1, line_alpha=0.35)


def mark_choices(plot: figure, page: Page, floor: float) -> None:
    """Rescales on the steps that they cause, holds and events in a row of their own at `floor`."""
    shown: list[DataRenderer] = [_scatter(plot, MARKS[key], told) for key, told in _moments(page, floor) if told]
    plot.add_tools(HoverTool(renderers=shown, tooltips=f'<div style="{TIP}">@story</div>'))


def _moments(page: Page, floor: float) -> Iterator[tuple[str, list[Moment]]]:
    for outcome in ("hold", "advised", "up", "down"):
        made = [choice for choice in page.choices if choice.outcome == outcome]
        yield outcome, [Moment(c.time, floor if outcome == "hold" else c.after, story(c)) for c in made]
    yield "event", [Moment(event.time, floor, _news(event)) for event in page.events]


def _scatter(plot: figure, mark: Mark, told: Sequence[Moment]) -> DataRenderer:
    columns: dict[str, Any] = {name: [getattr(moment, name) for moment in told] for name in ("time", "level", "story")}
    return plot.scatter(
        x="time",
        y="level",
        source=ColumnDataSource(columns),
        marker=mark.shape,
        size=mark.size,
        fill_color="white" if mark.hollow else mark.colour,
        line_color=mark.colour if mark.hollow else "white",
        hit_dilation=1.5,  # a dot is hard to meet with a cursor
    )


def story(choice: Choice) -> str:
    """
    >>> print(story(Choice(45, 2, 3, "up", (("hpa-cpu", "CPU 95%: 2 -> 4"), ("limits", "maximum 3")))))
    0:45 · 2 → 3
    hpa-cpu: CPU 95%: 2 -> 4
    limits: maximum 3
    """
    change = f"stay at {choice.before}" if choice.outcome == "hold" else f"{choice.before} → {choice.after}"
    advised = " (advised, not acted on)" if choice.outcome == "advised" else ""
    reasons = "\n".join(f"{by}: {reason}" for by, reason in choice.chain)
    return f"{clock(choice.time)} · {change}{advised}\n{reasons}"


def _news(event: Happening) -> str:
    return f"{clock(event.time)} · {event.kind}\n{event.message}"
