"""All built-in presets: the names that the files of `policies` declare."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from tidegate import policies
from tidegate.policies.entry import Entry
from tidegate.presets.definition import Preset


def _declared() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for module in pkgutil.iter_modules(policies.__path__):
        names: Mapping[str, Entry] = getattr(import_module(f"{policies.__name__}.{module.name}"), "NAMES", {})
        entries |= names
    return entries


PRESETS: Mapping[str, Preset] = {
    name: Preset(entry.summary, entry.source, entry.policy, entry.defaults)
    for name, entry in sorted(_declared().items())
}
