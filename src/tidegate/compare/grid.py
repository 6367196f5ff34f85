"""Policies x jobs x workloads x seeds, from flags or from a TOML file.

title = "HPA against DS2"
policies = ["ds2", { name = "hpa-cpu", label = "HPA 80", options = { target = 0.8 } }]
jobs = ["q1", { name = "q5", maximum = 12 }]
workloads = ["cosine", { name = "steps", peak = "250k" }]
seeds = 5

[run]
duration = "6h"
slo = "30s"
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.reading import MOST_TOML, parse_toml, read_text, shown
from tidegate.experiment.field_parsing import field_value, option_value, shareable

LISTS = ("policies", "jobs", "workloads")
KEYS = (*LISTS, "title", "description", "seeds", "vary", "max-runs", "run")
#: most runs of a comparison unless `max-runs` says otherwise, and most that it can say
MOST_RUNS, LIMIT = 20_000, 1_000_000
#: what seeds above 0 change: the noise of load and engine, or also randomly generated patterns
VARY = ("noise", "workload")


@dataclass(frozen=True, slots=True)
class Item:
    """A policy, job or workload. `values` are fields of an experiment (options of a policy) for its runs only."""

    name: str
    label: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grid:
    policies: tuple[Item, ...]
    jobs: tuple[Item, ...]
    workloads: tuple[Item, ...]
    seeds: tuple[int, ...] = (0,)
    #: fields of an experiment that all runs share
    shared: Mapping[str, Any] = field(default_factory=dict)
    vary: str = "noise"
    title: str = ""
    description: str = ""


def read(path: Path) -> dict[str, Any]:
    """The values of an experiment file. Only size, depth and numbers are checked."""
    return parse_toml(read_text(path, f"cannot read the experiment {path}", MOST_TOML), str(path))


def merged(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a file, overridden by flags in the form of a file.

    A flag for all runs also overrides the values of single jobs and workloads. A name in a flag refers to the table
    with that label or name in the file, if there is one.

    >>> merged({"jobs": [{"name": "q1", "slo": 5}], "run": {"slo": 9, "price": 1}}, {"run": {"slo": 3}})
    {'jobs': [{'name': 'q1'}], 'run': {'slo': 3, 'price': 1}}
    """
    overrides = flags.get("run", {})
    values = {**file, **{key: value for key, value in flags.items() if key != "run"}}
    for key in LISTS:
        if key in flags and isinstance(file.get(key), list):
            values[key] = [item for name in flags[key] for item in _tables_named(name, file[key]) or [name]]
        if isinstance(values.get(key), list):
            values[key] = [_without(item, overrides) for item in values[key]]
    if overrides:
        values["run"] = {**_table("run", file.get("run", {})), **overrides}
    return values


def _tables_named(name: str, items: Sequence[Any]) -> list[Any]:
    tables = [item for item in items if isinstance(item, Mapping)]
    labelled = [table for table in tables if table.get("label") == name]
    return labelled or [table for table in tables if table.get("name") == name]


def _without(item: Any, keys: Mapping[str, Any]) -> Any:
    return {key: value for key, value in item.items() if key not in keys} if isinstance(item, Mapping) else item


def grid(values: Mapping[str, Any], place: str) -> Grid:
    """Build a grid from plain values. Names of jobs, policies and workloads are not checked here.

    >>> small = grid({"policies": ["ds2"], "jobs": ["q1"], "workloads": ["tide"], "seeds": 2}, "x.toml")
    >>> small.policies[0].label, small.seeds
    ('ds2', (0, 1))
    """
    for key in values:
        if key not in KEYS:
            raise UnknownName(f"key ({place})", key, KEYS)
    for key in LISTS:
        if not isinstance(values.get(key), list) or not values[key]:
            raise InvalidInput(f"{place}: need a list of names as {key}, got {shown(values.get(key))}")
    _check_size(place, values)
    shared = _table(f"{place}: run", values.get("run", {}))
    return Grid(
        _distinct(place, "policies", [_policy(f"{place}: policies", item) for item in values["policies"]]),
        _distinct(place, "jobs", [_item(f"{place}: jobs", item) for item in values["jobs"]]),
        _distinct(place, "workloads", [_item(f"{place}: workloads", item) for item in values["workloads"]]),
        _seeds(place, values.get("seeds", 1)),
        {key: field_value(f"{place}: [run]", key, value) for key, value in shared.items()},
        _vary(place, values.get("vary", "noise")),
        _text(place, "title", values.get("title", "")),
        _text(place, "description", values.get("description", "")),
    )


def _check_size(place: str, values: Mapping[str, Any]) -> None:
    """Reject more runs than anybody means, before they are laid out: a seed too many zeros, a list pasted twice."""
    most, seeds = values.get("max-runs", MOST_RUNS), values.get("seeds", 1)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= LIMIT:
        raise InvalidInput(f"{place}: need max-runs to be a whole number from 1 to {LIMIT:,}, got {shown(most)}")
    count = len(seeds) if isinstance(seeds, list) else seeds if isinstance(seeds, int) else 0
    runs = math.prod(len(values[key]) for key in LISTS) * count
    if runs > most:
        raise InvalidInput(f"{place}: these are {runs:,} runs, need at most {most:,}: state max-runs to allow more")


def _table(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{place}: need a table of keys and values, got {shown(value)}")
    return value


def _text(place: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{place}: need text as {name}, got {shown(value)}")
    return value


def _vary(place: str, value: Any) -> str:
    if not isinstance(value, str) or value not in VARY:
        raise InvalidInput(f"{place}: need vary to be one of {', '.join(VARY)}, got {shown(value)}")
    return str(value)


def _seeds(place: str, value: Any) -> tuple[int, ...]:
    """Seeds from a list, or the first `value` ones from 0."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    seeds = tuple(range(value)) if is_count else tuple(value) if isinstance(value, list) else ()
    valid = all(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 for seed in seeds)
    if not seeds or not valid or len(set(seeds)) < len(seeds):
        rule = "need a number of seeds >= 1, or a list of different ones >= 0"
        raise InvalidInput(f"{place}: {rule}, got {shown(value)}")
    return seeds


def _parsed(place: str, plain: Any, allowed: Sequence[str]) -> tuple[str, str, Mapping[str, Any]]:
    """Name, label and remaining values of an item, which is a name or a table."""
    table: Mapping[str, Any] = {"name": plain} if isinstance(plain, str) else _table(place, plain)
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{place}: need a name, or a table with a name, got {shown(plain)}")
    for key in table:
        if key not in allowed:
            raise UnknownName(f"key ({place}: {name})", key, allowed)
    label = _text(f"{place}: {name}", "label", table.get("label", _short(name)))
    if not label or "/" in label:
        raise InvalidInput(f"{place}: {name}: need a label without '/', got {shown(label)}")
    return name, label, {key: value for key, value in table.items() if key not in ("name", "label")}


def _short(name: str) -> str:
    """
    >>> _short("trace:days/monday.csv?gaps=zero"), _short("cosine")
    ('monday.csv?gaps=zero', 'cosine')
    """
    return name.rpartition("/")[2] if "/" in name else name


def _item(place: str, plain: Any) -> Item:
    name, label, rest = _parsed(place, plain, ("name", "label", *shareable()))
    return Item(name, label, {key: field_value(f"{place}: {name}", key, value) for key, value in rest.items()})


def _policy(place: str, plain: Any) -> Item:
    """A policy may only set its options, as all other settings must be the same for every policy."""
    name, label, rest = _parsed(place, plain, ("name", "label", "options"))
    options = _table(f"{place}: {name}: options", rest.get("options", {}))
    return Item(name, label, {key: option_value(f"{place}: {name}", key, value) for key, value in options.items()})


def _distinct(place: str, key: str, items: Sequence[Item]) -> tuple[Item, ...]:
    """Extend labels that occur more than once with the items' own values; reject those that still do."""
    counts = Counter(item.label for item in items)
    labelled = [replace(item, label=_full(item)) if counts[item.label] > 1 else item for item in items]
    for label, times in Counter(item.label for item in labelled).items():
        if times > 1:
            raise InvalidInput(f"{place}: {key}: {times} are called {label!r}: give each a label of its own")
    return tuple(labelled)


def _full(item: Item) -> str:
    extra = (f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in item.values.items())
    return " ".join((item.label, *extra)).replace("/", "_")
