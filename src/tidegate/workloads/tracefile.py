"""Reads a trace's table from CSV or Parquet: the columns `time` and `rate`; all others are left alone."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput
from tidegate.workloads.table import Places, Table, as_rates, checked, seconds

COLUMNS = ("time", "rate")
#: how a Parquet file begins
MAGIC = b"PAR1"
#: of Arrow's timestamps, in a second
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read(file: str) -> Table:
    """Which of the two it is, the file itself says. A CSV file may come without a header: `time,rate`, or one column
    of rates, a second each.
    """
    try:
        with Path(file).open("rb") as opened:
            start = opened.read(len(MAGIC))
        return _parquet(file) if start == MAGIC else _csv(file)
    except OSError as error:
        raise InvalidInput(f"trace {file}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"trace {file}: is neither Parquet nor CSV in UTF-8") from None


def _csv(file: str) -> Table:
    lines = _lines(file)
    first = next(iter(lines.values()), None)
    if first is None:
        raise InvalidInput(f"trace {file}: the file is empty")
    # a row of data begins with a number or a time
    names = [] if seconds(first[0]) is not None else [cell.lower() for cell in first]
    if names:
        lines.pop(next(iter(lines)))
    places, columns = Places(file, "line", tuple(lines)), _columns(file, lines, len(first))
    if not names and len(first) == 1:
        return Table(places, None, as_rates(places, columns[0]))
    if not names and len(first) != 2:
        raise InvalidInput(f"trace {file}: {len(first)} columns need a header that names time and rate, found none")
    times, rates = _chosen(file, names or COLUMNS, columns)
    return checked(places, times, rates, written=times)


def _lines(file: str) -> dict[int, list[str]]:
    """The cells of every line that is not blank, by its number."""
    with Path(file).open(newline="", encoding="utf-8-sig") as opened:
        reader = csv.reader(opened)
        numbered = ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
        return {line: cells for line, cells in numbered if any(cells)}


def _columns(file: str, lines: dict[int, list[str]], width: int) -> list[tuple[str, ...]]:
    if not lines:
        raise InvalidInput(f"trace {file}: there are no rows below the header")
    for line, cells in lines.items():
        if len(cells) != width:
            need = f"need {width} values, as in the first line"
            raise InvalidInput(f"trace {file}, line {line}: {need}, found {len(cells)}")
    return list(zip(*lines.values(), strict=True))


def _chosen(file: str, names: Sequence[str], columns: Sequence[Any]) -> list[Any]:
    if not set(COLUMNS) <= set(names):
        raise InvalidInput(f"trace {file}: need the columns time and rate, found {', '.join(names) or 'none'}")
    return [columns[names.index(name)] for name in COLUMNS]


def _parquet(file: str) -> Table:
    import pyarrow as pa  # noqa: PLC0415, only for those who have such a file
    from pyarrow import parquet  # noqa: PLC0415

    try:
        names = parquet.read_schema(file).names
        _chosen(file, names, names)
        times, rates = parquet.read_table(file, columns=list(COLUMNS)).columns
    except pa.ArrowException as error:
        raise InvalidInput(f"trace {file}: cannot be read as Parquet: {error}") from None
    if not len(times):
        raise InvalidInput(f"trace {file}: the file has no rows")
    places = Places(file, "row", range(1, len(times) + 1))
    return checked(places, _plain(times), rates.to_pylist(), written=times)


def _plain(times: Any) -> list[Any]:
    """Timestamps as seconds since 1970, everything else as it is."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_timestamp(times.type):
        return list(times.to_pylist())
    ticks = times.cast(pa.int64()).to_pylist()
    return [None if tick is None else tick / UNITS[times.type.unit] for tick in ticks]
