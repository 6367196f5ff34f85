"""Resources against late records, a point for each policy: which one wins depends on what a late record costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, CustomJSTickFormatter, FixedTicker, HoverTool
from bokeh.models.glyphs import Line, Scatter, Segment, Text
from bokeh.models.renderers import DataRenderer, GlyphRenderer
from bokeh.plotting import figure

from tidegate.compare.columns import BY_KEY, Column
from tidegate.report.compare.canvas import Axis, empty
from tidegate.report.compare.labels import Place, Spot, place, short
from tidegate.report.compare.page import DASHES, ComparisonPage
from tidegate.report.document import tooltip
from tidegate.report.frame import FONT
from tidegate.report.looks import GREY, SOFT
from tidegate.score.estimate import Estimate, over_cells

HEIGHT = 400
#: the shape of a point, by the dash of the policy's lines
SHAPES = dict(zip(DASHES, ("circle", "square", "triangle"), strict=True))
#: to the right of every axis
FAR = 1e12
TICKS = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    policy: str
    used: Estimate
    late: Estimate

    def beaten_by(self, other: Point) -> bool:
        """Whether the other is no worse in both figures, and better in one."""
        ours, theirs = (self.used.mean, self.late.mean), (other.used.mean, other.late.mean)
        return theirs != ours and theirs[0] <= ours[0] and theirs[1] <= ours[1]


def resources(page: ComparisonPage) -> Column:
    """The figure of the horizontal axis: the ratio to the oracle if every policy has one, else worker-seconds."""
    ratios, used = page.overall(BY_KEY["ratio"]), page.overall(BY_KEY["seconds"])
    return BY_KEY["ratio"] if ratios and set(ratios) >= set(used) else BY_KEY["seconds"]


def points(page: ComparisonPage) -> list[Point]:
    used, late = page.overall(resources(page)), page.overall(BY_KEY["violated"])
    return [Point(policy, used[policy], late[policy]) for policy in page.policies if policy in used and policy in late]


def front(points: Sequence[Point]) -> list[Point]:
    """Those that no other beats in both, from the fewest resources on.

    >>> three = [Point(name, Estimate(x), Estimate(y)) for name, x, y in (("a", 3, 0.1), ("b", 2, 0.2), ("c", 3, 0.3))]
    >>> [point.policy for point in front(three)]
    ['b', 'a']
    """
    unbeaten = [point for point in points if not any(point.beaten_by(other) for other in points)]
    return sorted(unbeaten, key=lambda point: (point.used.mean, point.late.mean))


def complete(points: Sequence[Point], page: ComparisonPage) -> Sequence[Point]:
    """Policies that finished all runs, as the others' means may be those of easier cells. All, if none did."""
    return [point for point in points if page.complete(point.policy)] or points


def chart(page: ComparisonPage) -> figure | None:
    """None without a policy that has both figures."""
    shown = points(page)
    if not shown:
        return None
    by_ratio, oracle = resources(page).key == "ratio", _oracle(page)
    axes = _axes(shown, by_ratio, oracle)
    plot = empty(HEIGHT, *axes)
    _titles(plot, by_ratio, axes[1].high)
    steps = _front(front(complete(shown, page)))
    xs, ys = zip(*steps, strict=True)
    if len(shown) > 1:
        plot.add_glyph(ColumnDataSource({"x": xs, "y": ys}), Line(x="x", y="y", line_color=GREY, line_width=1.5))
    if by_ratio:
        _mark_oracle(plot, oracle)
    spots = _places(axes, [(point, _name(point, page)) for point in shown], steps)
    marks: list[DataRenderer] = [_mark(plot, point, page, spots[point.policy]) for point in shown]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tooltip("point")))
    return plot


def _height(late: float) -> float:
    """A square root stretches the axis near zero and, unlike a logarithm, has a zero."""
    return math.sqrt(max(late, 0.0))


def _ends(estimate: Estimate) -> tuple[float, float]:
    half = estimate.half or 0.0
    return estimate.mean - half, estimate.mean + half


def _oracle(page: ComparisonPage) -> float:
    """The oracle's share of late records: zero, unless even the most executors allowed are too few."""
    cells = [cell.oracle_violated for cell in page.cells]
    mean = over_cells([violated for violated in cells if violated is not None])
    return mean.mean if mean else 0.0


def _axes(shown: Sequence[Point], by_ratio: bool, oracle: float) -> tuple[Axis, Axis]:
    low, high = _reach([point.used for point in shown], [1.0] if by_ratio else [])
    room = 0.06 * (high - low or abs(high) or 1.0)
    wide = high > 6 * low > 0
    x = Axis("records", low, high, True) if wide else Axis("records", max(low - room, 0.0), high)
    _, most = _reach([point.late for point in shown], [0.0, oracle])
    top = _height(min(most, 1.0) or 0.0001)
    return x, Axis("share", -0.06 * top, top)


def _reach(estimates: Sequence[Estimate], others: Sequence[float]) -> tuple[float, float]:
    """The ends of all intervals. A very wide one, as two seeds can give, is cut so that the means stay apart.

    >>> _reach([Estimate(1.0), Estimate(2.0, error=1.0, freedom=1)], [])  # 2 ± 12.7, cut at half of 2 - 1
    (0.5, 2.5)
    """
    means = [estimate.mean for estimate in estimates] + list(others)
    least, most = min(means), max(means)
    room = 0.5 * (most - least or abs(most))
    low = min([least, *(_ends(estimate)[0] for estimate in estimates)])
    high = max([most, *(_ends(estimate)[1] for estimate in estimates)])
    return max(low, least - room), min(high, most + room)


def _titles(plot: figure, by_ratio: bool, top: float) -> None:
    plot.xaxis.axis_label = "worker-seconds ÷ the oracle's" if by_ratio else "worker-seconds"
    plot.yaxis.axis_label = "records later than the SLO"
    plot.xgrid.grid_line_color = plot.ygrid.grid_line_color
    plot.yaxis.ticker = FixedTicker(ticks=ticks(top))
    plot.yaxis.formatter = CustomJSTickFormatter(code='return Number((tick * tick * 100).toPrecision(3)) + " %"')


def ticks(top: float) -> list[float]:
    """Heights of round shares, not too close to each other.

    >>> [round(tick**2, 4) for tick in ticks(0.5)]
    [0.0, 0.0025, 0.01, 0.02, 0.05, 0.1, 0.2]
    """
    heights = [0.0]
    for share in TICKS:
        if heights[-1] + 0.08 * top <= math.sqrt(share) <= 1.05 * top:
            heights.append(math.sqrt(share))
    return heights


def _front(best: Sequence[Point]) -> list[Spot]:
    """The corners of a stepped line: what lies above or to the right of it is beaten."""
    corners = [(best[0].used.mean, 1.2)]
    for before, after in zip(best, [*best[1:], None], strict=True):
        height = _height(before.late.mean)
        corners += [(before.used.mean, height), (after.used.mean if after else FAR, height)]
    return corners


def _mark_oracle(plot: figure, late: float) -> None:
    source = ColumnDataSource({"x": [1.0], "y": [_height(late)], "text": ["oracle"]})
    star = Scatter(x="x", y="y", marker="star", size=17, fill_color=GREY, line_color="white")
    plot.add_glyph(source, star)
    label = Text(x="x", y="y", text="text", x_offset=11, text_baseline="middle", **{**FONT, "text_color": SOFT})
    plot.add_glyph(source, label)


def _mark(plot: figure, point: Point, page: ComparisonPage, place: Place) -> GlyphRenderer[Any]:
    look, name = page.look(point.policy), page.key(point.policy)
    source = ColumnDataSource(_columns(point, page))
    stroke: dict[str, Any] = {"line_color": look.colour, "line_width": 1.5, "line_alpha": 0.6}
    across = Segment(x0="left", x1="right", y0="y", y1="y", **stroke)
    upright = Segment(x0="x", x1="x", y0="low", y1="high", **stroke)
    plot.add_glyph(source, across).name = plot.add_glyph(source, upright).name = name
    shape = Scatter(x="x", y="y", marker=SHAPES[look.dash], size=12, fill_color=look.colour, line_color="white")
    mark = plot.add_glyph(source, shape)
    align, dx, dy = place
    label = Text(x="x", y="y", text="short", x_offset=dx, y_offset=dy, text_align=align, text_baseline="middle", **FONT)
    plot.add_glyph(source, label).name = mark.name = name
    return mark


def _columns(point: Point, page: ComparisonPage) -> dict[str, list[object]]:
    (left, right), (low, high) = _ends(point.used), _ends(point.late)
    used = resources(page)
    return {
        "x": [point.used.mean],
        "y": [_height(point.late.mean)],
        "left": [left],
        "right": [right],
        "low": [_height(low)],
        "high": [_height(high)],
        "name": [point.policy],
        "short": [_name(point, page)],
        "used": [f"{used.write(point.used.mean)} {'times the oracle' if used.key == 'ratio' else 'worker-seconds'}"],
        "late": [BY_KEY["violated"].write(point.late.mean)],
    }


def _name(point: Point, page: ComparisonPage) -> str:
    return short(point.policy) + ("" if page.complete(point.policy) else " (incomplete)")


def _places(axes: tuple[Axis, Axis], named: Sequence[tuple[Point, str]], lines: Sequence[Spot]) -> dict[str, Place]:
    spots = [(name, _part(axes, (point.used.mean, _height(point.late.mean)))) for point, name in named]
    whiskers = [(_part(axes, start), _part(axes, end)) for point, _ in named for start, end in _whiskers(point)]
    places = place(spots, [_part(axes, corner) for corner in lines], whiskers)
    return {point.policy: beside for (point, _), beside in zip(named, places, strict=True)}


def _whiskers(point: Point) -> list[tuple[Spot, Spot]]:
    """The lines of its confidence intervals, where it has any."""
    x, y = point.used.mean, _height(point.late.mean)
    (left, right), (low, high) = _ends(point.used), _ends(point.late)
    lines = [((left, y), (right, y)), ((x, _height(low)), (x, _height(high)))]
    return [line for line, estimate in zip(lines, (point.used, point.late), strict=True) if estimate.half]


def _part(axes: tuple[Axis, Axis], at: Spot) -> Spot:
    """Where a point is, as shares of the chart's width and, from the top, of its height. The end of an interval may be
    beyond the axis, where a logarithm may have no value: it is taken for the end of the axis.
    """
    x, y = axes
    left, right = x.ends
    start, end, along = (math.log(value) if x.log else value for value in (left, right, min(max(at[0], left), right)))
    low, high = y.ends
    return (along - start) / (end - start), (high - at[1]) / (high - low)
