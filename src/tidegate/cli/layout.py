"""Tables that fit into the terminal: cells are never cut. Columns are left out, long names lose their middle.

Rich shortens every cell of a table that is too wide, also the ids that a reader needs whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

GAP = 2
ELLIPSIS = "…"
#: fewest characters of a name that lost its middle: `order…prod`
SHORTEST = 10


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    right: bool = True
    #: columns with the highest number are left out first; 0 stays at any width
    drop: int = 0
    #: whether its cells may lose their middle
    elide: bool = False


#: a line of cells, or a heading that is as long as it likes
Line = Sequence[Text | str] | Text


@dataclass(frozen=True, slots=True)
class Laid:
    """The lines of a table, and the titles of the columns for which there was no room."""

    lines: tuple[Text, ...]
    dropped: tuple[str, ...] = ()


def lay_out(columns: Sequence[Column], lines: Sequence[Line], width: int) -> Laid:
    """Lay out a table in at most `width` characters if its columns allow.

    >>> columns = (Column("run", right=False), Column("query", right=False, elide=True), Column("p95", drop=1))
    >>> laid = lay_out(columns, [("20261118-101500", "orders-of-today-prod", "4 s")], 28)
    >>> [line.plain for line in laid.lines], laid.dropped
    (['run              query', '20261118-101500  order…-prod'], ('p95',))
    """
    cells = [[_text(cell) for cell in line] for line in lines if not isinstance(line, Text)]
    widths = [max([cell_len(column.title), *(_len(row[k]) for row in cells)]) for k, column in enumerate(columns)]
    kept = _kept(columns, widths, width)
    widths = _narrowed(columns, widths, kept, width)
    drawn = [_line([Text(columns[k].title, "dim") for k in kept], columns, kept, widths)]
    rows = iter(cells)
    for line in lines:
        if isinstance(line, Text):
            drawn.append(line)
            continue
        row = next(rows)
        drawn.append(_line([_fitted(row[k], widths[k]) for k in kept], columns, kept, widths))
    return Laid(tuple(drawn), tuple(column.title for k, column in enumerate(columns) if k not in kept))


def left_out(dropped: Sequence[str]) -> Iterator[str]:
    """A sentence about the columns that did not fit, if any."""
    if dropped:
        yield f"not shown at this width: {', '.join(dropped)} (--output json has all)"


def _text(cell: Text | str) -> Text:
    """A cell on one line, without what would move the cursor or start markup."""
    if isinstance(cell, Text):
        return cell
    return Text(printable(cell))


def printable(text: str) -> str:
    """
    >>> printable("orders\\n\\x1b[31m")
    'orders  [31m'
    """
    return "".join(character if character.isprintable() else " " for character in text)


def _len(text: Text) -> int:
    return cell_len(text.plain)


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[k] for k in kept) + GAP * (len(kept) - 1)


def _least(columns: Sequence[Column], widths: Sequence[int]) -> list[int]:
    """Widths if all names that may lose their middle have lost it."""
    return [min(w, max(SHORTEST, cell_len(c.title))) if c.elide else w for c, w in zip(columns, widths, strict=True)]


def _kept(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    kept, least = list(range(len(columns))), _least(columns, widths)
    droppable = sorted((k for k in kept if columns[k].drop), key=lambda k: columns[k].drop, reverse=True)
    for k in droppable:
        if _total(least, kept) <= width:
            break
        kept.remove(k)
    return kept


def _narrowed(columns: Sequence[Column], widths: list[int], kept: Sequence[int], width: int) -> list[int]:
    """Take what is too much from the widest name first."""
    narrowed, least = list(widths), _least(columns, widths)
    while (excess := _total(narrowed, kept) - width) > 0:
        loose = [k for k in kept if narrowed[k] > least[k]]
        if not loose:
            break
        widest = max(loose, key=lambda k: narrowed[k])
        narrowed[widest] -= min(excess, 1 if len(loose) > 1 else narrowed[widest] - least[widest])
    return narrowed


def _fitted(text: Text, width: int) -> Text:
    if _len(text) <= width:
        return text
    return Text(elided(text.plain, width), text.style)


def elided(name: str, width: int) -> str:
    """A name without its middle: both ends tell names of a family apart.

    >>> elided("orders-europe-prod", 11), elided("short", 11)
    ('order…-prod', 'short')
    """
    if cell_len(name) <= width:
        return name
    head, tail = width // 2, width - 1 - width // 2
    while head + tail > 0:
        text = f"{name[:head]}{ELLIPSIS}{name[-tail:] if tail else ''}"
        if cell_len(text) <= width:
            return text
        head, tail = (head - 1, tail) if head >= tail else (head, tail - 1)
    return ELLIPSIS


def _line(cells: Sequence[Text], columns: Sequence[Column], kept: Sequence[int], widths: Sequence[int]) -> Text:
    line = Text(no_wrap=True, overflow="ignore")
    for position, (k, cell) in enumerate(zip(kept, cells, strict=True)):
        if position:
            line.append(" " * GAP)
        space = " " * (widths[k] - _len(cell))
        last = position == len(kept) - 1
        line.append_text(Text.assemble(space, cell) if columns[k].right else Text.assemble(cell, "" if last else space))
    line.rstrip()
    return line
