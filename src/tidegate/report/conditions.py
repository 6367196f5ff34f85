"""What an autoscaler said about itself when it last wrote to the store: a line, and conditions as Kubernetes' HPA has
them (`AbleToScale`, `ScalingActive`, `ScalingLimited`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.report.parts import Tone
from tidegate.store import Run
from tidegate.units import known

#: types that are bad news if they hold; all others are if they do not
BAD_IF_TRUE = frozenset({"ScalingLimited"})


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: bool
    reason: str
    message: str
    #: seconds since 1970, or since the start of a simulated run; None if it is not known
    since: float | None = None

    @property
    def tone(self) -> Tone:
        """
        >>> Condition("AbleToScale", True, "", "").tone, Condition("ScalingLimited", True, "", "").tone
        ('good', 'warn')
        """
        return "warn" if self.status == (self.type in BAD_IF_TRUE) else "good"


def conditions(run: Run) -> tuple[Condition, ...]:
    """Empty for runs of earlier versions, and for those that nobody watched."""
    stored = (run.conditions or {}).items()
    return tuple(_condition(type, values) for type, values in stored if isinstance(values, Mapping))


def _condition(type: str, values: Mapping[str, Any]) -> Condition:
    reason, message = (str(values.get(name) or "") for name in ("reason", "message"))
    return Condition(type, values.get("status") is True, reason, message, known(values.get("since")))
