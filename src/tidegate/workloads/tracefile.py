"""Reads the table of a trace from CSV or Parquet: the columns `time` and `rate`. Other columns are ignored."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput
from tidegate.core.reading import shown
from tidegate.workloads.shape import LONGEST
from tidegate.workloads.table import Places, Table, checked_rates, checked_table, seconds

COLUMNS = ("time", "rate")
#: first bytes of a Parquet file
MAGIC = b"PAR1"
#: most rows: those of the longest trace, and those of a CSV file, which takes far more memory
MOST_ROWS, MOST_LINES = int(LONGEST) + 1, 5_000_000
#: unit of Arrow timestamps -> units per second
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read(file: str) -> Table:
    """The format is detected from the content. A CSV file without a header has the columns `time,rate`, or a single
    column with one rate per second.
    """
    try:
        with Path(file).open("rb") as stream:
            start = stream.read(len(MAGIC))
        return _parquet(file) if start == MAGIC else _csv(file)
    except OSError as error:
        raise InvalidInput(f"trace {file}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"trace {file}: is neither Parquet nor CSV in UTF-8") from None
    except ValueError as error:  # a path with a NUL
        raise InvalidInput(f"trace {shown(file)}: cannot be read: {error}") from None


def _csv(file: str) -> Table:
    lines = _lines(file)
    first = next(iter(lines.values()), None)
    if first is None:
        raise InvalidInput(f"trace {file}: the file is empty")
    # a data row starts with a number or a time
    names = [] if seconds(first[0]) is not None else [cell.lower() for cell in first]
    if names:
        lines.pop(next(iter(lines)))
    places, columns = Places(file, "line", tuple(lines)), _columns(file, lines, len(first))
    if not names and len(first) == 1:
        return Table(places, None, checked_rates(places, columns[0]))
    if not names and len(first) != 2:
        raise InvalidInput(f"trace {file}: {len(first)} columns need a header that names time and rate, found none")
    times, rates = _select(file, names or COLUMNS, columns)
    return checked_table(places, times, rates, written=times)


def _lines(file: str) -> dict[int, list[str]]:
    """Line number -> cells, without blank lines."""
    with Path(file).open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream)
        numbered = ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
        filled = ((line, cells) for line, cells in numbered if any(cells))
        lines = dict(islice(filled, MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        raise InvalidInput(f"trace {file}: need at most {MOST_LINES:,} lines, it has more: write it as Parquet")
    return lines


def _columns(file: str, lines: dict[int, list[str]], width: int) -> list[tuple[str, ...]]:
    if not lines:
        raise InvalidInput(f"trace {file}: there are no rows below the header")
    for line, cells in lines.items():
        if len(cells) != width:
            need = f"need {width} values, as in the first line"
            raise InvalidInput(f"trace {file}, line {line}: {need}, found {len(cells)}")
    return list(zip(*lines.values(), strict=True))


def _select(file: str, names: Sequence[str], columns: Sequence[Any]) -> list[Any]:
    if not set(COLUMNS) <= set(names):
        raise InvalidInput(f"trace {file}: need the columns time and rate, found {_abridged(names)}")
    if any(names.count(name) > 1 for name in COLUMNS):
        raise InvalidInput(f"trace {file}: need one column time and one column rate, found {_abridged(names)}")
    return [columns[names.index(name)] for name in COLUMNS]


def _abridged(names: Sequence[str]) -> str:
    text = ", ".join(name[:40] for name in names[:10]) or "none"
    return text if len(names) <= 10 else f"{text} and {len(names) - 10:,} more"


def _parquet(file: str) -> Table:
    import pyarrow as pa  # noqa: PLC0415, only needed for Parquet
    from pyarrow import parquet  # noqa: PLC0415

    try:
        footer = parquet.read_metadata(file)
        if footer.num_rows > MOST_ROWS:
            raise InvalidInput(f"trace {file}: need at most {MOST_ROWS:,} rows, it has {footer.num_rows:,}")
        names = parquet.read_schema(file).names
        _select(file, names, names)
        times, rates = parquet.read_table(file, columns=list(COLUMNS)).select(COLUMNS).columns
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or ["its content is damaged"])[0]
        raise InvalidInput(f"trace {file}: cannot be read as Parquet: {reason}") from None
    if not len(times):
        raise InvalidInput(f"trace {file}: the file has no rows")
    places = Places(file, "row", range(1, len(times) + 1))
    return checked_table(places, _as_seconds(times), rates.to_pylist(), written=times)


def _as_seconds(times: Any) -> list[Any]:
    """Timestamps as seconds since 1970; other values are unchanged."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_timestamp(times.type):
        return list(times.to_pylist())
    ticks = times.cast(pa.int64()).to_pylist()
    return [None if tick is None else tick / UNITS[times.type.unit] for tick in ticks]
