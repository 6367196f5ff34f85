"""Policies, forecasters and guards of others, found by Python entry points.

A package that declares

    [project.entry-points."tidegate.policies"]
    mine = "mypackage.rules:MINE"

offers the policy `mine`, in the same way forecasters (`tidegate.forecasters`) and guards (`tidegate.guards`). A policy
is a `Preset`, or a dataclass with parameters. What cannot be loaded is kept with its error: listed, and refused by name
when somebody asks for it; all else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tidegate.forecast import FORECASTERS as KNOWN
from tidegate.forecast import register
from tidegate.presets.definition import MakeGuard, Preset

POLICIES, FORECASTERS, GUARDS = "tidegate.policies", "tidegate.forecasters", "tidegate.guards"


@dataclass(frozen=True, slots=True)
class Plugins:
    policies: Mapping[str, Preset] = field(default_factory=dict)
    forecasters: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    guards: Mapping[str, MakeGuard] = field(default_factory=dict)
    #: name -> why it could not be loaded
    broken: Mapping[str, str] = field(default_factory=dict)


@cache
def installed() -> Plugins:
    """Those of this Python, looked up once. Its forecasters are known by name from then on."""
    found = loaded(point for group in (POLICIES, FORECASTERS, GUARDS) for point in entry_points(group=group))
    for name, make in found.forecasters.items():
        if name not in KNOWN:  # a plug-in cannot replace a built-in forecaster
            register(name, make)
    return found


def loaded(points: Iterable[EntryPoint]) -> Plugins:
    found: dict[str, dict[str, Any]] = {POLICIES: {}, FORECASTERS: {}, GUARDS: {}}
    broken: dict[str, str] = {}
    for point in points:
        try:
            thing = point.load()
            found[point.group][point.name] = _preset(thing) if point.group == POLICIES else _callable(thing)
        except Exception as error:  # whatever a stranger's module does when it is loaded
            broken[point.name] = f"{point.value}: {type(error).__name__}: {error}"
    return Plugins(found[POLICIES], found[FORECASTERS], found[GUARDS], broken)


def _preset(thing: Any) -> Preset:
    if isinstance(thing, Preset):
        return thing
    words = (_callable(thing).__doc__ or "a plug-in").strip().splitlines()
    return Preset(words[0], thing.__module__, thing)


def _callable(thing: Any) -> Callable[..., Any]:
    if not callable(thing):
        raise TypeError(f"need something that can be called, got {type(thing).__name__}")
    made: Callable[..., Any] = thing
    return made
