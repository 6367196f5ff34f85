"""Policies by name, built in or from plug-ins, each with its guards."""

from __future__ import annotations

import math
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, Limits, Options, Policy, UnknownName
from tidegate.presets.definition import PROFILE, Preset
from tidegate.presets.plugins import installed
from tidegate.presets.table import PRESETS

__all__ = ["PRESETS", "Options", "Preset", "autoscaler", "need_profile", "parsed_options", "preset", "presets"]


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


def autoscaler(
    policy: str | Policy,
    limits: Limits,
    options: Options | None = None,
    *,
    slo: float | None = None,
    simulated: bool = False,
) -> Autoscaler:
    """An autoscaler for the preset of that name, or for the user's own policy object, which takes options of guards.

    With an SLO it is fit to act on a query whose records may take that many seconds: it does not scale in while they
    are late, and it has everything that its policy needs. Without one, guards are those of the policy's source. A
    `simulated` run may lack a profile, because it makes its own.

    >>> autoscaler("static", Limits(1, 4), {"executors": 3}).policy.executors
    3
    >>> [guard.name for guard in autoscaler("ds2", Limits(1, 4), slo=10.0).guards]
    ['step', 'arriving', 'uneven', 'stalled', 'late', 'catching-up', 'ceiling', 'cooldown']
    """
    if slo is not None and not (math.isfinite(slo) and slo > 0):
        raise InvalidInput(f"need an SLO above 0 s, got {slo:g}")
    if isinstance(policy, str):
        name, made = policy, preset(policy)
        if slo is not None and not simulated:
            need_profile(policy, options or {})
    else:
        name, made = type(policy).__name__, Preset("the user's own", "", lambda: policy)
    return made.make(name, limits, options or {}, installed().guards, slo)


def parsed_options(policy: str, options: Options) -> dict[str, Any]:
    """Options of a policy as plain values, in the units of their parameters. Unknown and invalid ones are refused.

    >>> parsed_options("hpa-cpu", {"interval": "5s", "target": "70%", "ceiling": False})
    {'interval': 5.0, 'target': 0.7, 'ceiling': 0}
    """
    return preset(policy).parsed(policy, options)


def need_profile(policy: str, options: Options) -> None:
    """Refuse a policy that needs a profile of the job and has none."""
    if PROFILE in preset(policy).own and not options.get(PROFILE):
        how = "measure one, or simulate it with `tidegate profile`, and name the file: profile=q1.csv"
        raise InvalidInput(f"policy {policy} decides by a profile of the job and has none: {how}")
