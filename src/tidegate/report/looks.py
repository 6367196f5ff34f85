"""Colours and shapes, shared by the charts and their legends in HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is drawn. With `steps` a value holds until the next one. Without `width` there is no line."""

    colour: str
    dash: Dash = "solid"
    width: float = 1.75
    steps: bool = False
    #: opacity of the area below the line
    fill: float = 0.0

    @property
    def fill_colour(self) -> str:
        """With the opacity as its last two digits.

        >>> Look("#0072b2", fill=0.25).fill_colour
        '#0072b240'
        """
        return f"{self.colour}{round(self.fill * 255):02x}"


@dataclass(frozen=True, slots=True)
class Mark:
    """How a decision or an event is drawn: as `shape` by Bokeh, as `sign` in text."""

    name: str
    sign: str
    shape: str
    colour: str
    size: int
    hollow: bool = False


# after the palette of Okabe and Ito, safe for colour-blind readers; the light ones are darker here, so that every line
# has a contrast of 3 to the page, and of as much when the filter of dark pages has turned it around (style.css)
BLUE, SKY, GREEN, RED, PURPLE, AMBER = "#0072b2", "#2f9bdc", "#009e73", "#d55e00", "#aa4499", "#b97f00"
INK, SOFT, GREY, RULE, GRID = "#1f2933", "#52606d", "#7b8794", "#cbd2d9", "#e4e7eb"

#: by the key of the series
LOOKS: Mapping[str, Look] = {
    "offered": Look("#8a95a1", width=4),
    "arrived": Look(BLUE),
    "processed": Look(RED, width=1.5),
    "running": Look(SKY, width=1, steps=True, fill=0.3),
    "requested": Look(BLUE, width=2, steps=True),
    "wished": Look(INK, "dotted", steps=True),
    "latency": Look(BLUE, steps=True),
    "backlog": Look(PURPLE, fill=0.15),
    "cpu": Look(GREEN),
    "busiest": Look(RED, "dotted", 1.5),
    "idlest": Look(BLUE, "dotted", 1.5),
    "most": Look(RED, width=1.5, steps=True),
    "fewest": Look(BLUE, width=1.5, steps=True),
}
TARGET = Look(RED, "dashed", 1.5)

#: by the outcome of a decision, or by the sort of an event
MARKS: Mapping[str, Mark] = {
    "up": Mark("scaled up", "▲", "triangle", RED, 13),
    "down": Mark("scaled down", "▼", "inverted_triangle", BLUE, 13),
    "advised": Mark("advised only", "◇", "diamond", INK, 11, hollow=True),
    "hold": Mark("held", "●", "circle", GREY, 5),
    "event": Mark("event", "■", "square", PURPLE, 7),
    "failure": Mark("executor lost or stalled", "✖", "x", RED, 11),
}
