"""What a comparison has found: as tables for other programs, and summed up over seeds with the best marked."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput
from tidegate.score.interval import Interval, interval

#: columns of text, which stay so even where they look like numbers
TEXTS = ("run", "status", "job", "workload", "policy", "engine", "mode", "source", "options", "error", "stored")
#: figures of the summary, by their place in a run; of all of them less is better
FIGURES = ("workers.mean", "workers.seconds", "oracle.ratio", "latency.p95", "slo.violated", "rescales.count")
#: share of records that may be late for an SLO to count as kept: its p95 is within it
TOLERATED = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a report needs. `spec` is what the runs were made from, `series` the curves of some."""

    title: str
    spec: dict[str, Any]
    runs: list[dict[str, Any]]
    series: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """A policy on a job under a workload, over its seeds.

    `leads` are the figures in which none is better. `best` is the one to choose: the fewest worker-seconds of those
    that keep the SLO; where none does, the fewest late records.
    """

    job: str
    workload: str
    policy: str
    figures: Mapping[str, Interval]
    failed: int = 0
    leads: frozenset[str] = frozenset()
    best: bool = False


def summary(runs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row for each job, workload and policy, in the order in which they come."""
    cells: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for run in runs:
        cells.setdefault((run["job"], run["workload"]), {}).setdefault(run["policy"], []).append(run)
    return [row for place, policies in cells.items() for row in _judged(place, policies)]


def _judged(place: tuple[str, str], policies: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Row]:
    means = {
        policy: {name: interval(_figure(run, name) for run in runs) for name in FIGURES}
        for policy, runs in policies.items()
    }
    chosen = _best(means)
    return [
        Row(
            *place,
            policy,
            means[policy],
            failed=sum(run["status"] == "failed" for run in runs),
            leads=frozenset(name for name in FIGURES if _leads(name, policy, means)),
            best=policy == chosen,
        )
        for policy, runs in policies.items()
    ]


def _figure(run: Mapping[str, Any], name: str) -> float | None:
    outer, inner = name.split(".")
    found = (run.get(outer) or {}).get(inner)
    return None if found is None else float(found)


def _leads(name: str, policy: str, means: Mapping[str, Mapping[str, Interval]]) -> bool:
    known = [one[name].mean for one in means.values() if one[name].mean is not None]
    mean = means[policy][name].mean
    return mean is not None and mean <= min(value for value in known if value is not None)


def _best(means: Mapping[str, Mapping[str, Interval]]) -> str | None:
    """Of equals the first."""

    def order(policy: str) -> tuple[bool, float, float]:
        late, seconds = means[policy]["slo.violated"].mean, means[policy]["workers.seconds"].mean
        assert late is not None
        assert seconds is not None
        kept = late <= TOLERATED
        return (not kept, 0.0 if kept else late, seconds)

    known = [p for p, one in means.items() if all(one[n].mean is not None for n in ("slo.violated", "workers.seconds"))]
    return min(known, key=order, default=None)


def flat(run: Mapping[str, Any]) -> dict[str, Any]:
    """One level of columns; lists, and a policy's options, as JSON.

    >>> flat({"run": "a", "options": {"target": 0.8}, "latency": {"p95": 2.5}, "recovery": [{"seconds": 4}]})
    {'run': 'a', 'options': '{"target": 0.8}', 'latency.p95': 2.5, 'recovery': '[{"seconds": 4}]'}
    """
    found: dict[str, Any] = {}
    for key, value in run.items():
        if isinstance(value, Mapping) and key != "options":
            found |= {f"{key}.{inner}": one for inner, one in flat(value).items()}
        else:
            found[key] = json.dumps(value) if isinstance(value, Mapping | list | tuple) else value
    return found


def table(runs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Runs as rows that all have the same columns; None where a run has no such figure."""
    rows = [flat(run) for run in runs]
    columns = _columns(rows)
    return [{column: row.get(column) for column in columns} for row in rows]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Without those that only say of a run that it has none of the columns below them (`latency` of `latency.p95`)."""
    found = dict.fromkeys(column for row in rows for column in row)
    parents = {column.rpartition(".")[0] for column in found}
    return [column for column in found if column not in parents]


def write_tables(folder: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    """`runs.csv` and `runs.parquet`."""
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
    import pyarrow  # noqa: PLC0415, takes a fifth of a second
    from pyarrow import parquet  # noqa: PLC0415

    columns = list(rows[0]) if rows else ["run"]
    found = {name: _array(pyarrow, name, [row[name] for row in rows]) for name in columns}
    parquet.write_table(pyarrow.table(found), path)


def _array(pyarrow: Any, name: str, values: list[Any]) -> Any:
    """Columns of text are such even where all is unknown; whole numbers are such where all are."""
    if name in TEXTS:
        return pyarrow.array(values, pyarrow.string())
    mixed = any(isinstance(value, float) for value in values)
    return pyarrow.array(values, pyarrow.float64() if mixed else None)


def read_table(path: Path) -> list[dict[str, Any]]:
    """The rows of a `runs.csv` or `runs.parquet`, as `table` made them."""
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
