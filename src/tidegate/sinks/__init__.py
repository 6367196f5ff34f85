"""Sinks that can be asked for by name, beside the store and the terminal.

A sink is a file in this folder with `SINKS`: a name, and what makes the sink from the text after `NAME:`. Others come
in by the entry point group `tidegate.sinks`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points

from tidegate.core import InvalidInput, Sink, UnknownName

#: makes a sink from the argument that a user gives, which may be empty
MakeSink = Callable[[str], Sink]
GROUP = "tidegate.sinks"


def known_sinks() -> dict[str, MakeSink]:
    """Those of this folder, and those of plug-ins whose names are free."""
    own: dict[str, MakeSink] = {}
    for module in pkgutil.iter_modules(__path__):
        sinks: Mapping[str, MakeSink] = import_module(f"{__name__}.{module.name}").SINKS
        own |= sinks
    plugged = {point.name: _loaded(point.name) for point in entry_points(group=GROUP)}
    return {**plugged, **own}


def _loaded(name: str) -> MakeSink:
    def make(argument: str) -> Sink:
        try:
            (point,) = entry_points(group=GROUP, name=name)
            sink: Sink = point.load()(argument)
        except Exception as error:  # whatever a stranger's module does
            raise InvalidInput(f"the plug-in sink {name!r} could not be made: {error}") from error
        return sink

    return make


def find_sinks(text: str) -> list[Sink]:
    """Sinks from `NAME[:ARGUMENT]`, separated by commas.

    >>> [sink.name for sink in find_sinks("log")], find_sinks("")
    (['log'], [])
    """
    known = known_sinks()
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, argument = part.partition(":")
        if name not in known:
            raise UnknownName("sink", name, known)
        found.append(known[name](argument))
    return found
