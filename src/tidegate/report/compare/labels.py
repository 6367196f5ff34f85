"""Labels beside points, placed so that they do not cover each other: each takes the first free place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

#: how a label is aligned, and its distance from the point
Place = tuple[str, int, int]
Spot = tuple[float, float]
Box = tuple[float, float, float, float]

#: size inside the axes for which labels are placed; in a smaller chart they may overlap
SIZE = (1100.0, 330.0)
#: possible places: to the right, left, above, below, and further away
PLACES = tuple(
    (align, dx, dy)
    for far in (0, 14, 28)
    for align, dx, dy in (
        ("left", 10 + far, 0),
        ("right", -10 - far, 0),
        ("center", 0, -15 - far),
        ("center", 0, 15 + far),
        ("left", 8, -12 - far),
        ("left", 8, 12 + far),
        ("right", -8, -12 - far),
        ("right", -8, 12 + far),
    )
)


def place(
    points: Sequence[tuple[str, Spot]], lines: Sequence[Spot] = (), whiskers: Sequence[tuple[Spot, Spot]] = ()
) -> list[Place]:
    """A place for the label of each point, which covers as little as possible of other points, labels, `lines` (the
    corners of one line) and `whiskers`. Spots are shares of the chart's width and, from the top, of its height.

    >>> place([("a", (0.5, 0.5)), ("b", (0.505, 0.5))])  # b itself is to the right of a
    [('right', -10, 0), ('left', 10, 0)]
    """
    spots = [(x * SIZE[0], y * SIZE[1]) for _, (x, y) in points]
    strokes = [_stroke(*ends) for ends in (*pairwise(lines), *whiskers)]
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in spots] + strokes
    places = []
    for (name, _), spot in zip(points, spots, strict=True):
        free = _free(name, spot, taken)
        places.append(free)
        taken.append(_box(spot, name, free))
    return places


def _free(name: str, spot: Spot, taken: Sequence[Box]) -> Place:
    """The first that covers least; near the right edge not to the right, where a narrower chart would cut it off."""
    edge = spot[0] > 0.7 * SIZE[0]
    costs = [sum(_covered(_box(spot, name, place), taken)) + (edge and place[0] == "left") for place in PLACES]
    return PLACES[costs.index(min(costs))]


def _stroke(start: Spot, end: Spot) -> Box:
    (left, right), (top, bottom) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    return left * SIZE[0] - 2, top * SIZE[1] - 2, right * SIZE[0] + 2, bottom * SIZE[1] + 2


def short(name: str) -> str:
    return name if len(name) <= 32 else name[:31] + "…"


def _box(spot: Spot, name: str, place: Place) -> Box:
    align, dx, dy = place
    width = 7.2 * len(name)
    left = spot[0] + dx - {"left": 0.0, "center": width / 2, "right": width}[align]
    return left, spot[1] + dy - 8, left + width, spot[1] + dy + 8


def _covered(box: Box, taken: Sequence[Box]) -> Iterator[float]:
    """How much of each other box the label covers, and a penalty for what lies outside the chart."""
    left, top, right, bottom = box
    for other in taken:
        wide = min(right, other[2]) - max(left, other[0])
        high = min(bottom, other[3]) - max(top, other[1])
        yield max(wide, 0.0) * max(high, 0.0)
    yield 20.0 * (max(-left, 0.0) + max(right - SIZE[0], 0.0) + max(-top, 0.0) + max(bottom - SIZE[1], 0.0))
