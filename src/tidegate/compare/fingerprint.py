"""The specification of a comparison as plain values. Equal specifications give equal results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tidegate
from tidegate.compare.cells import TRACE
from tidegate.compare.folder import CODE
from tidegate.compare.grid import Grid, Item

#: packages that no figure depends on
LOOKS = ("cli", "report")
SOURCES = (".py", ".json", ".toml", ".csv")


def specification(grid: Grid) -> dict[str, Any]:
    """The grid, digests of the files it names and, for simulated runs, a digest of the code, as results depend on it.
    Runs on Spark take hours and are kept when the code changes.
    """
    spec = {
        "title": grid.title,
        "description": grid.description,
        "policies": [_plain(item, "options") for item in grid.policies],
        "jobs": [_plain(item, "run") for item in grid.jobs],
        "workloads": [_plain(item, "run") for item in grid.workloads],
        "seeds": list(grid.seeds),
        "vary": grid.vary,
        "run": dict(grid.shared),
        "files": {name: _digest([Path(name)]) for name in sorted(set(_files(grid)))},
    }
    return spec if _only_spark(grid) else {**spec, CODE: _code()}


def _plain(item: Item, values_key: str) -> dict[str, Any]:
    return {"name": item.name, "label": item.label, values_key: dict(item.values)}


def _only_spark(grid: Grid) -> bool:
    items = (*grid.jobs, *grid.workloads)
    engines = {item.values["engine"] for item in items if "engine" in item.values} | {grid.shared.get("engine", "sim")}
    return engines == {"spark"}


def _files(grid: Grid) -> Iterator[str]:
    """Traces, models, profiles, queries and samples that the grid refers to as files."""
    traces = (item.name.removeprefix(TRACE).partition("?")[0] for item in grid.workloads if item.name.startswith(TRACE))
    tables = (grid.shared, *(item.values for item in (*grid.policies, *grid.jobs, *grid.workloads)))
    named = (str(values[key]) for values in tables for key in ("model", "profile") if values.get(key))
    samples = (str(values["sample"]).partition("?")[0] for values in tables if values.get("sample"))
    jobs = (item.name for item in grid.jobs)
    yield from (name for name in (*traces, *named, *samples, *jobs) if Path(name).is_file())


def _code() -> str:
    """Digest of every source file that a figure can depend on."""
    root = Path(tidegate.__file__).parent
    files = (path for path in root.rglob("*") if path.suffix in SOURCES and path.is_file())
    return _digest(sorted(path for path in files if path.relative_to(root).parts[0] not in LOOKS))


def _digest(paths: list[Path]) -> str:
    content = hashlib.sha256()
    for path in paths:
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:16]
