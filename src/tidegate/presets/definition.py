"""A preset: a policy class under a name, with default options for the policy and its guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import (
    Guard,
    InvalidInput,
    Limits,
    Options,
    Parameter,
    Policy,
    UnknownName,
    build,
    parameters,
    typed,
)
from tidegate.policies.guards import GuardSettings
from tidegate.policies.guards.settings import live_defaults

#: creates a guard of a plug-in
MakeGuard = Callable[[], Guard]
#: option of policies that need a profile: the path of a file, or the text itself
PROFILE = "profile"
#: option of every policy: the names of guards from plug-ins
GUARDS = Parameter("guards", "", "", "names of further guards, separated by commas")


@dataclass(frozen=True, slots=True)
class Preset:
    """`policy` is a dataclass whose fields are parameters (`core.parameter`), or any callable that creates a policy
    from its options. `defaults` override the defaults of the policy and of the guards.
    """

    summary: str
    source: str
    policy: Callable[..., Policy]
    defaults: Options = field(default_factory=dict)

    @property
    def own(self) -> dict[str, Parameter]:
        """The policy's parameters, with the defaults of this preset."""
        return {name: self._with_default(parameter) for name, parameter in _parameters(self.policy).items()}

    @property
    def guards(self) -> dict[str, Parameter]:
        """The parameters of the guards, except those that have the same name as one of the policy."""
        own, common = _parameters(self.policy), {**parameters(GuardSettings), GUARDS.name: GUARDS}
        return {name: self._with_default(parameter) for name, parameter in common.items() if name not in own}

    def make(
        self,
        name: str,
        limits: Limits,
        options: Options,
        guards: Mapping[str, MakeGuard],
        slo: float | None = None,
    ) -> Autoscaler:
        """A new autoscaler. Two calls share no state. With an SLO, guards have their defaults for live queries; those
        that this preset sets itself stay as they are.
        """
        own, common = self.own, self.guards
        defaults = {key: parameter.default for key, parameter in {**own, **common}.items()}
        values = {**defaults, **self.live(slo), **self.parsed(name, options)}
        policy = self._policy(limits, {key: values[key] for key in own})
        return Autoscaler(policy, limits, chain(name, {key: values[key] for key in common}, guards), name=name)

    def parsed(self, name: str, options: Options) -> dict[str, Any]:
        """Options as plain values, in the units of their parameters. Unknown and invalid ones are refused."""
        return parsed(f"policy {name}", {**self.own, **self.guards}, options)

    def live(self, slo: float | None) -> Options:
        """Defaults of the guards that depend on the SLO of a live query."""
        if slo is None:
            return {}
        common = self.guards
        return {key: value for key, value in live_defaults(slo).items() if key in common and common[key].live}

    def _with_default(self, parameter: Parameter) -> Parameter:
        if parameter.name not in self.defaults:
            return parameter
        return replace(parameter, default=self.defaults[parameter.name], live=None)

    def _policy(self, limits: Limits, options: dict[str, Any]) -> Policy:
        kind: Any = self.policy
        if not _has_parameters(kind):
            return self.policy(**options)
        arguments = {"limits": limits} if "limits" in {entry.name for entry in fields(kind)} else {}
        if options.get(PROFILE):
            options[PROFILE] = _text(options[PROFILE])
        policy: Policy = build(kind, options, **arguments)
        return policy


def parsed(place: str, available: Mapping[str, Parameter], options: Options) -> dict[str, Any]:
    for key in options:
        if key not in available:
            raise UnknownName(f"option of {place}", str(key), available)
    return typed(place, available, options)


def chain(name: str, values: Options, guards: Mapping[str, MakeGuard]) -> tuple[Guard, ...]:
    """The guards of a policy, from the values of all their options."""
    further = _further(name, str(values.get(GUARDS.name, "")), guards)
    return build(GuardSettings, values).chain(further)


def _text(path: str) -> str:
    """The text of a file. Text of several lines cannot be a path and is returned as it is."""
    if "\n" in path:
        return path
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the profile {path!r}: {error}") from None


def _has_parameters(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")


def _parameters(kind: Any) -> dict[str, Parameter]:
    return _of_class(kind) if _has_parameters(kind) else {}


@cache
def _of_class(kind: Any) -> dict[str, Parameter]:
    return parameters(kind)


def _further(policy: str, option: str, available: Mapping[str, MakeGuard]) -> list[Guard]:
    """The guards that the option `guards` names."""
    names = [name.strip() for name in option.split(",") if name.strip()]
    for name in names:
        if name not in available:
            raise UnknownName(f"guard (option guards of policy {policy})", name, available)
    try:
        return [available[name]() for name in names]
    except Exception as error:
        raise InvalidInput(f"policy {policy}: a guard of {option!r} cannot be made: {error}") from error
