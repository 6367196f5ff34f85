"""How unevenly keys are spread: a name, and what it means for each kind of events."""

from __future__ import annotations

from enum import StrEnum

from tidegate.core import InvalidInput


class Skew(StrEnum):
    """`default` is what the kind of events defines for itself; `off` spreads keys evenly; `heavy` makes few keys hot
    enough to hold back a query that is split by key.
    """

    off = "off"
    default = "default"
    heavy = "heavy"


def refuse_skew(kind: str, skew: Skew) -> None:
    """For events whose keys all come equally often by their nature."""
    if skew is Skew.heavy:
        raise InvalidInput(f"events {kind}: every key comes once a second, skew 'heavy' means nothing for them")
