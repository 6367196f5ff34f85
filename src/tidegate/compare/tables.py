"""Export of the runs of a comparison as CSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput
from tidegate.runs import RunResult, encode

#: text columns, whose values stay text even if they look like numbers
TEXTS = ("run", "status", "job", "workload", "policy", "engine", "mode", "source", "options", "error", "stored")


def flat(run: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a run into one level of columns; lists and the policy's options become JSON.

    >>> flat({"run": "a", "options": {"target": 0.8}, "latency": {"p95": 2.5}, "recovery": [{"seconds": 4}]})
    {'run': 'a', 'options': '{"target": 0.8}', 'latency.p95': 2.5, 'recovery': '[{"seconds": 4}]'}
    """
    columns: dict[str, Any] = {}
    for key, value in run.items():
        if isinstance(value, Mapping) and key != "options":
            columns |= {f"{key}.{inner}": nested for inner, nested in flat(value).items()}
        else:
            columns[key] = json.dumps(value) if isinstance(value, Mapping | list | tuple) else value
    return columns


def table(runs: Iterable[RunResult]) -> list[dict[str, Any]]:
    """Runs as rows with the same columns; None if a run lacks a figure."""
    rows = [flat(encode(run)) for run in runs]
    columns = _columns(rows)
    return [{column: row.get(column) for column in columns} for row in rows]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns, without empty parents such as `latency` of `latency.p95`."""
    columns = dict.fromkeys(column for row in rows for column in row)
    parents = {column.rpartition(".")[0] for column in columns}
    return [column for column in columns if column not in parents]


def write_tables(folder: Path, runs: Sequence[RunResult]) -> None:
    """Write `runs.csv` and `runs.parquet`."""
    rows = table(runs)
    try:
        _write_csv(folder / "runs.csv", rows)
        _write_parquet(folder / "runs.parquet", rows)
    except OSError as error:
        raise InvalidInput(f"cannot write the tables to {folder}: {error.strerror}") from None


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["run"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: json.dumps(v) if isinstance(v, bool) else v for key, v in row.items()} for row in rows)


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow  # noqa: PLC0415, the import takes a fifth of a second
    from pyarrow import parquet  # noqa: PLC0415

    columns = list(rows[0]) if rows else ["run"]
    arrays = {name: _array(pyarrow, name, [row[name] for row in rows]) for name in columns}
    parquet.write_table(pyarrow.table(arrays), path)


def _array(pyarrow: Any, name: str, values: list[Any]) -> Any:
    """Text columns keep their type even if all values are None; a column is integer only if all its values are."""
    if name in TEXTS:
        return pyarrow.array(values, pyarrow.string())
    mixed = any(isinstance(value, float) for value in values)
    return pyarrow.array(values, pyarrow.float64() if mixed else None)


def read_table(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a `runs.csv` or `runs.parquet`, as returned by `table`."""
    try:
        return _read_csv(path) if path.suffix == ".csv" else _read_parquet(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read the runs in {path}: {error}") from None


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet  # noqa: PLC0415

    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def _read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(name: str, text: str) -> Any:
    if text == "":
        return None
    if name in TEXTS or text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
