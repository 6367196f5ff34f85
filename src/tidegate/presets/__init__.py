"""Policies by name, built in or from plug-ins, each with its guards."""

from __future__ import annotations

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, Limits, Options, Policy, UnknownName
from tidegate.presets.definition import Preset
from tidegate.presets.plugins import installed
from tidegate.presets.table import PRESETS

__all__ = ["PRESETS", "Options", "Preset", "autoscaler", "preset", "presets"]


def presets() -> dict[str, Preset]:
    """All presets. A plug-in cannot replace a built-in one."""
    return {**installed().policies, **PRESETS}


def preset(name: str) -> Preset:
    """The preset of that name."""
    by_name, broken = presets(), installed().broken
    if name not in by_name and name in broken:
        raise InvalidInput(f"the plug-in {name!r} could not be loaded: {broken[name]}")
    if name not in by_name:
        raise UnknownName("policy", name, by_name)
    return by_name[name]


def autoscaler(policy: str | Policy, limits: Limits, options: Options | None = None) -> Autoscaler:
    """An autoscaler for the preset of that name, or for the user's own policy object.

    >>> autoscaler("static", Limits(1, 4), {"executors": 3}).policy.executors
    3
    """
    if not isinstance(policy, str):
        return Autoscaler(policy, limits, name=type(policy).__name__)
    return preset(policy).make(policy, limits, options or {}, installed().guards)
