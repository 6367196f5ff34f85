"""Profiles as CSV, in Tidegate's format or in that of Phoebe's published data."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from itertools import islice

from tidegate.core import InvalidInput, ProfilePoint
from tidegate.core.reading import shown

OURS = ("executors", "rate", "latency", "saturated")
#: most lines, executors, and records per second or seconds: what is above is no measurement
MOST_ROWS, MOST_EXECUTORS, MOST = 10_000, 1_000_000, 1e12
#: columns of Phoebe's published profiles; latency in ms
PHOEBES = ("scaleOut", "avgThr", "avgLat", "isBckPres")


def parse(text: str) -> tuple[ProfilePoint, ...]:
    """Points of a CSV with the columns `executors,rate,latency,saturated` (latency in seconds) or, as Phoebe's authors
    publish, `scaleOut,avgLat,avgThr,isBckPres` (milliseconds). Their order is free, and other columns are ignored.

    >>> parse("scaleOut,avgLat(ms),avgThr,isBckPres\\n2,1077.7,19964.9,0\\n")
    (ProfilePoint(executors=2, rate=19964.9, latency=1.0777, saturated=False),)
    """
    rows = _rows(text)
    header = [name.strip().removesuffix("(ms)") for name in (rows.pop(0)[1] if rows else [])]
    names = next((columns for columns in (OURS, PHOEBES) if set(columns) <= set(header)), None)
    if names is None:
        actual = ",".join(header)[:100] or "nothing"
        raise InvalidInput(f"profile, line 1: need the columns {','.join(OURS)} or {','.join(PHOEBES)}, got {actual}")
    indices, unit = [header.index(name) for name in names], 1000.0 if names is PHOEBES else 1.0
    return tuple(_point(line, row, names, indices, unit) for line, row in rows if any(cell.strip() for cell in row))


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Lines and their cells, the header first."""
    lines = csv.reader(text.lstrip("\ufeff").splitlines())
    try:
        rows = [(lines.line_num, row) for row in islice(lines, MOST_ROWS + 1)]
    except csv.Error as error:
        raise InvalidInput(f"profile: is no CSV: {error}") from None
    if len(rows) > MOST_ROWS:
        raise InvalidInput(f"profile: need at most {MOST_ROWS:,} lines, it has more")
    return rows


def _point(line: int, row: Sequence[str], names: Sequence[str], indices: Sequence[int], unit: float) -> ProfilePoint:
    if len(row) <= max(indices):
        raise InvalidInput(
            f"profile, line {line}: need a value for each of {', '.join(names)}, got {shown(','.join(row))}"
        )
    cells = [row[index].strip() for index in indices]
    executors, rate, latency = (_number(line, name, cell) for name, cell in zip(names[:3], cells[:3], strict=True))
    if not 1 <= executors <= MOST_EXECUTORS or not executors.is_integer():
        rule = f"a whole number from 1 to {MOST_EXECUTORS:,}"
        raise InvalidInput(f"profile, line {line}: need {names[0]} to be {rule}, got {shown(cells[0])}")
    saturated = {"0": False, "false": False, "1": True, "true": True}.get(cells[3].lower())
    if saturated is None:
        raise InvalidInput(f"profile, line {line}: need {names[3]} to be 0, 1, true or false, got {shown(cells[3])}")
    return ProfilePoint(int(executors), rate, latency / unit, saturated)


def _number(line: int, name: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST:
        raise InvalidInput(f"profile, line {line}: need {name} to be a number from 0 to {MOST:g}, got {shown(cell)}")
    return value


def text(points: Iterable[ProfilePoint]) -> str:
    """The inverse of `parse`, in Tidegate's format.

    >>> text([ProfilePoint(2, 1000.0, 0.5, saturated=True)])
    'executors,rate,latency,saturated\\n2,1000.0,0.5,1\\n'
    """
    rows = [f"{p.executors},{p.rate!r},{p.latency!r},{int(p.saturated)}\n" for p in points]
    return "".join([",".join(OURS) + "\n", *rows])
