"""Key skew by name; each kind of events defines what it means."""

from __future__ import annotations

from enum import StrEnum

from tidegate.core import InvalidInput


class Skew(StrEnum):
    """`default` is the skew of the benchmark, `off` distributes keys evenly, and with `heavy` a few keys are hot
    enough to slow down a query that is partitioned by key.
    """

    off = "off"
    default = "default"
    heavy = "heavy"


def refuse_skew(kind: str, skew: Skew) -> None:
    """Raise for `heavy` skew. For events whose keys are equally frequent by definition."""
    if skew is Skew.heavy:
        raise InvalidInput(f"events {kind}: every key occurs once per second, so skew 'heavy' is not supported")
