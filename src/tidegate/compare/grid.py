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

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput, UnknownName
from tidegate.experiment.field_parsing import field_value, option_value, shareable

LISTS = ("policies", "jobs", "workloads")
KEYS = (*LISTS, "title", "description", "seeds", "vary", "run")
#: what seeds above 0 change: noise, of the load and of what the engine draws; or drawn patterns too
VARY = ("noise", "workload")


@dataclass(frozen=True, slots=True)
class Item:
    """A policy, job or workload. `values` are those fields of an experiment that only its runs have."""

    name: str
    label: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grid:
    policies: tuple[Item, ...]
    jobs: tuple[Item, ...]
    workloads: tuple[Item, ...]
    seeds: tuple[int, ...] = (0,)
    #: fields of an experiment that all runs have
    shared: Mapping[str, Any] = field(default_factory=dict)
    vary: str = "noise"
    title: str = ""
    description: str = ""


def read(path: Path) -> dict[str, Any]:
    """The plain values of an experiment file, not yet checked."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot read the experiment {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"cannot read the experiment {path}: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is no TOML: {error}") from None


def merged(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says, with flags (in the form of a file) in its place where there are such.

    A flag for all runs also takes the place of what single jobs and workloads say; a name that the file has more to
    say about stands for that.

    >>> merged({"jobs": [{"name": "q1", "slo": 5}], "run": {"slo": 9, "price": 1}}, {"run": {"slo": 3}})
    {'jobs': [{'name': 'q1'}], 'run': {'slo': 3, 'price': 1}}
    """
    given = flags.get("run", {})
    found = {**file, **{key: value for key, value in flags.items() if key != "run"}}
    for key in LISTS:
        if key in flags and isinstance(file.get(key), list):
            found[key] = [one for name in flags[key] for one in _about(name, file[key]) or [name]]
        if isinstance(found.get(key), list):
            found[key] = [_without(one, given) for one in found[key]]
    if given:
        found["run"] = {**_table("run", file.get("run", {})), **given}
    return found


def _about(name: str, items: Sequence[Any]) -> list[Any]:
    tables = [one for one in items if isinstance(one, Mapping)]
    return [one for one in tables if one.get("label") == name] or [one for one in tables if one.get("name") == name]


def _without(item: Any, given: Mapping[str, Any]) -> Any:
    return {key: value for key, value in item.items() if key not in given} if isinstance(item, Mapping) else item


def grid(values: Mapping[str, Any], place: str) -> Grid:
    """The grid of plain values, all of them checked but for names of jobs, policies and workloads.

    >>> made = grid({"policies": ["ds2"], "jobs": ["q1"], "workloads": ["tide"], "seeds": 2}, "x.toml")
    >>> made.policies[0].label, made.seeds
    ('ds2', (0, 1))
    """
    for key in values:
        if key not in KEYS:
            raise UnknownName(f"key ({place})", key, KEYS)
    for key in LISTS:
        if not isinstance(values.get(key), list) or not values[key]:
            raise InvalidInput(f"{place}: need a list of names as {key}, got {values.get(key)!r}")
    shared = _table(f"{place}: run", values.get("run", {}))
    return Grid(
        _distinct(place, "policies", [_policy(f"{place}: policies", one) for one in values["policies"]]),
        _distinct(place, "jobs", [_item(f"{place}: jobs", one) for one in values["jobs"]]),
        _distinct(place, "workloads", [_item(f"{place}: workloads", one) for one in values["workloads"]]),
        _seeds(place, values.get("seeds", 1)),
        {key: field_value(f"{place}: [run]", key, value) for key, value in shared.items()},
        _vary(place, values.get("vary", "noise")),
        _text(place, "title", values.get("title", "")),
        _text(place, "description", values.get("description", "")),
    )


def _table(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{place}: need a table of keys and values, got {value!r}")
    return value


def _text(place: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{place}: need text as {name}, got {value!r}")
    return value


def _vary(place: str, value: Any) -> str:
    if value not in VARY:
        raise InvalidInput(f"{place}: need vary to be one of {', '.join(VARY)}, got {value!r}")
    return str(value)


def _seeds(place: str, value: Any) -> tuple[int, ...]:
    """So many from 0, or those of a list."""
    counted = isinstance(value, int) and not isinstance(value, bool)
    found = tuple(range(value)) if counted else tuple(value) if isinstance(value, list) else ()
    whole = all(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 for seed in found)
    if not found or not whole or len(set(found)) < len(found):
        raise InvalidInput(f"{place}: need a number of seeds >= 1, or a list of different ones >= 0, got {value!r}")
    return found


def _named(place: str, plain: Any, known: Sequence[str]) -> tuple[str, str, Mapping[str, Any]]:
    """Name, label and the rest of an item that is a name alone or a table."""
    found: Mapping[str, Any] = {"name": plain} if isinstance(plain, str) else _table(place, plain)
    name = found.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{place}: need a name, or a table with a name, got {plain!r}")
    for key in found:
        if key not in known:
            raise UnknownName(f"key ({place}: {name})", key, known)
    label = _text(f"{place}: {name}", "label", found.get("label", _short(name)))
    if not label or "/" in label:
        raise InvalidInput(f"{place}: {name}: need a label without '/', got {label!r}")
    return name, label, {key: value for key, value in found.items() if key not in ("name", "label")}


def _short(name: str) -> str:
    """
    >>> _short("trace:days/monday.csv?gaps=zero"), _short("cosine")
    ('monday.csv?gaps=zero', 'cosine')
    """
    return name.rpartition("/")[2] if "/" in name else name


def _item(place: str, plain: Any) -> Item:
    name, label, rest = _named(place, plain, ("name", "label", *shareable()))
    return Item(name, label, {key: field_value(f"{place}: {name}", key, value) for key, value in rest.items()})


def _policy(place: str, plain: Any) -> Item:
    """Policies have options and nothing else of their own: what they are compared on must be the same for all."""
    name, label, rest = _named(place, plain, ("name", "label", "options"))
    given = _table(f"{place}: {name}: options", rest.get("options", {}))
    return Item(name, label, {key: option_value(f"{place}: {name}", key, value) for key, value in given.items()})


def _distinct(place: str, key: str, items: Sequence[Item]) -> tuple[Item, ...]:
    """Items of the same label are told apart by what they have of their own."""
    often = Counter(item.label for item in items)
    found = [replace(item, label=_full(item)) if often[item.label] > 1 else item for item in items]
    for label, times in Counter(item.label for item in found).items():
        if times > 1:
            raise InvalidInput(f"{place}: {key}: {times} are called {label!r}: give each a label of its own")
    return tuple(found)


def _full(item: Item) -> str:
    own = (f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in item.values.items())
    return " ".join((item.label, *own)).replace("/", "_")
