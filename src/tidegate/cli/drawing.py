"""Curves in a terminal, drawn with block characters."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.units import count

#: bars of 0 to 8 eighths of a line's height
BLOCKS = " ▁▂▃▄▅▆▇█"
EIGHTHS = len(BLOCKS) - 1


def bars(values: Sequence[float], top: float, rows: int = 1) -> list[str]:
    """A column for each value, at full height for `top`. Values above 0 are always visible.

    >>> print("|\\n".join(bars([0, 1, 25, 50, 100], top=100, rows=2)))
        █|
     ▁▄██
    """
    heights = [min(rows * EIGHTHS, _eighths(value, top, rows)) for value in values]
    return ["".join(BLOCKS[min(max(h - row * EIGHTHS, 0), EIGHTHS)] for h in heights) for row in reversed(range(rows))]


def _eighths(value: float, top: float, rows: int) -> int:
    return max(1, round(value / top * rows * EIGHTHS)) if value > 0 else 0


def plot(values: Sequence[float], top: float, duration: float, rows: int = 12) -> list[str]:
    """A curve with axes: rates on the left, times below.

    >>> print("\\n".join(plot([1, 2, 3, 4] * 5, top=4, duration=90, rows=2)))
      4 ┤  ▄█  ▄█  ▄█  ▄█  ▄█
      2 ┤▄███▄███▄███▄███▄███
      0 └┬─────────┬────────┬
         0 s     45 s    90 s
    """
    lines = bars(values, top, rows)
    labels = [count(top * (rows - row) / rows) if not row % max(1, rows // 4) else "" for row in range(rows)]
    width = max(len(label) for label in labels) + 2
    drawn = [f"{label:>{width}} {'┤' if label else '│'}{line}" for label, line in zip(labels, lines, strict=True)]
    ticks = _ticks(len(values), duration)
    axis = "".join("┬" if column in ticks else "─" for column in range(len(values)))
    return [*drawn, f"{'0':>{width}} └{axis}", " " * (width + 2) + _labelled(ticks, len(values))]


def _ticks(columns: int, duration: float) -> dict[int, str]:
    """Labels of the time axis by column: three, or five if there is room."""
    parts = 4 if columns >= 48 else 2
    return {round(k * (columns - 1) / parts): span(duration * k / parts) for k in range(parts + 1)}


def _labelled(ticks: dict[int, str], columns: int) -> str:
    """Labels centred at their ticks, kept within the line."""
    line = [" "] * columns
    for column, label in ticks.items():
        start = min(max(0, column - len(label) // 2), columns - len(label))
        line[start : start + len(label)] = label
    return "".join(line)


def span(seconds: float) -> str:
    """A duration in two units at most.

    >>> span(8400), span(2100), span(22.5), span(135), span(21600), span(100_000)
    ('2 h 20 min', '35 min', '22.5 s', '2 min 15 s', '6 h', '27 h 47 min')
    """
    if seconds < 120:
        return f"{seconds:.3g} s"
    large, small, names = (3600, 60, ("h", "min")) if seconds >= 3600 else (60, 1, ("min", "s"))
    counts = divmod(round(seconds / small), large // small)
    return " ".join(f"{count} {name}" for count, name in zip(counts, names, strict=True) if count)
