"""A policy that has a name: its class, the defaults that go with the name, and the guards that go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from tidegate.control import Autoscaler
from tidegate.core import Guard, InvalidInput, Limits, Parameter, Policy, UnknownName, build, parameters, typed
from tidegate.policies.guards import GuardSettings

#: options of a policy, as a user gives them
Options = Mapping[str, float | str]
#: makes a guard that somebody else has written
MakeGuard = Callable[[], Guard]
#: of policies that need one: a file, which they are given the text of, or the text itself
PROFILE = "profile"
#: of every policy: guards of plug-ins, by name
GUARDS = Parameter("guards", "", "", "names of further guards, separated by commas")


@dataclass(frozen=True, slots=True)
class Preset:
    """`policy` is a dataclass whose fields describe themselves (`core.parameter`), or any callable that makes a
    policy from its options. `defaults` are those of this name where they are not the class's own, guards' included.
    """

    summary: str
    source: str
    policy: Callable[..., Policy]
    defaults: Options = field(default_factory=dict)

    @property
    def own(self) -> dict[str, Parameter]:
        """The policy's parameters, with this preset's defaults."""
        return {name: self._with_default(one) for name, one in _of(self.policy).items()}

    @property
    def guards(self) -> dict[str, Parameter]:
        """Those of the guards, where the policy has none of the same name."""
        common = {**parameters(GuardSettings), GUARDS.name: GUARDS}
        return {name: self._with_default(one) for name, one in common.items() if name not in _of(self.policy)}

    def make(self, name: str, limits: Limits, options: Options, guards: Mapping[str, MakeGuard]) -> Autoscaler:
        """A new autoscaler, sharing nothing with the last one."""
        own, common = self.own, self.guards
        known = {**own, **common}
        for key in options:
            if key not in known:
                raise UnknownName(f"option of policy {name}", key, known)
        chosen = typed(f"policy {name}", known, {**{key: one.default for key, one in known.items()}, **options})
        policy = self._policy(limits, {key: chosen[key] for key in own})
        settings = build(GuardSettings, {key: chosen[key] for key in common})
        further = _further(name, str(chosen.get(GUARDS.name, "")), guards)
        return Autoscaler(policy, limits, settings.chain(further), name=name)

    def _with_default(self, one: Parameter) -> Parameter:
        return replace(one, default=self.defaults[one.name]) if one.name in self.defaults else one

    def _policy(self, limits: Limits, options: dict[str, Any]) -> Policy:
        kind: Any = self.policy
        if not _describes_itself(kind):
            return self.policy(**options)
        given = {"limits": limits} if any(one.name == "limits" for one in fields(kind)) else {}
        if options.get(PROFILE):
            options[PROFILE] = _text(options[PROFILE])
        made: Policy = build(kind, options, **given)
        return made


def _text(path: str) -> str:
    """No file's name has more than one line."""
    if "\n" in path:
        return path
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the profile {path!r}: {error}") from None


def _describes_itself(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")


@cache
def _of(kind: Any) -> dict[str, Parameter]:
    return parameters(kind) if _describes_itself(kind) else {}


def _further(policy: str, names: str, known: Mapping[str, MakeGuard]) -> list[Guard]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise UnknownName(f"guard (option guards of policy {policy})", name, known)
    try:
        return [known[name]() for name in wanted]
    except Exception as error:
        raise InvalidInput(f"policy {policy}: a guard of {names!r} cannot be made: {error}") from error
