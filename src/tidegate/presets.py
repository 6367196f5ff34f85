"""Policies by name: each with the guards that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from tidegate.control import Autoscaler
from tidegate.core import InvalidInput, Limits, Policy, UnknownName
from tidegate.policies import HpaCpu, Stabilisation, Static, StepLimit

#: options of a policy, as a user gives them
Options = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Preset:
    """`make` builds a new autoscaler, sharing nothing with the last one."""

    summary: str
    make: Callable[[Limits, dict[str, float]], Autoscaler]
    options: Mapping[str, float]


def _static(limits: Limits, options: dict[str, float]) -> Autoscaler:
    executors = options["executors"]
    if not (executors >= 0 and float(executors).is_integer()):
        raise InvalidInput(f"policy static: need a whole number of executors >= 0, got {executors:g}")
    return Autoscaler(Static(int(executors) or limits.maximum, options["interval"]), limits, name="static")


def _hpa_cpu(limits: Limits, options: dict[str, float]) -> Autoscaler:
    policy = HpaCpu(
        target=options["target"],
        tolerance=options["tolerance"],
        interval=options["interval"],
        window=options["window"],
        readiness=options["readiness"],
    )
    return Autoscaler(policy, limits, (StepLimit(), Stabilisation(down=options["down-window"])), name="hpa-cpu")


PRESETS: Mapping[str, Preset] = {
    "static": Preset("always the same number (0: the maximum)", _static, {"executors": 0, "interval": 15}),
    "hpa-cpu": Preset(
        "Kubernetes' rule on CPU: ceil(current x cpu / target), down after a window",
        _hpa_cpu,
        {"target": 0.7, "tolerance": 0.1, "interval": 15, "window": 15, "readiness": 30, "down-window": 300},
    ),
}


def autoscaler(policy: str | Policy, limits: Limits, options: Options | None = None) -> Autoscaler:
    """The autoscaler of that name, or one around a policy object of the user's own.

    >>> autoscaler("static", Limits(1, 4), {"executors": 3}).policy
    Static(executors=3, interval=15)
    """
    if not isinstance(policy, str):
        return Autoscaler(policy, limits, name=type(policy).__name__)
    if policy not in PRESETS:
        raise UnknownName("policy", policy, PRESETS)
    preset = PRESETS[policy]
    for key in options or {}:
        if key not in preset.options:
            raise UnknownName(f"option of policy {policy}", key, preset.options)
    merged = {**preset.options, **(options or {})}
    if not 0 < merged["interval"] < inf:
        raise InvalidInput(f"policy {policy}: need interval > 0 s, got {merged['interval']:g}")
    return preset.make(limits, merged)
