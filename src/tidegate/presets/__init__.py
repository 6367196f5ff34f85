"""Policies by name, Tidegate's own and those of plug-ins, each with the guards that belong to it."""

from __future__ import annotations

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, Limits, Policy, UnknownName
from tidegate.presets.definition import Options, Preset
from tidegate.presets.plugins import installed
from tidegate.presets.table import PRESETS

__all__ = ["PRESETS", "Options", "Preset", "autoscaler", "preset", "presets"]


def presets() -> dict[str, Preset]:
    """All of them; a plug-in cannot take a name that Tidegate has."""
    return {**installed().policies, **PRESETS}


def preset(name: str) -> Preset:
    known, broken = presets(), installed().broken
    if name not in known and name in broken:
        raise InvalidInput(f"the plug-in {name!r} could not be loaded: {broken[name]}")
    if name not in known:
        raise UnknownName("policy", name, known)
    return known[name]


def autoscaler(policy: str | Policy, limits: Limits, options: Options | None = None) -> Autoscaler:
    """The autoscaler of that name, or one around a policy object of the user's own.

    >>> autoscaler("static", Limits(1, 4), {"executors": 3}).policy.executors
    3
    """
    if not isinstance(policy, str):
        return Autoscaler(policy, limits, name=type(policy).__name__)
    return preset(policy).make(policy, limits, options or {}, installed().guards)
