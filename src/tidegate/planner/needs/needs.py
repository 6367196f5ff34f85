"""All needs of a query, as far as somebody asked for them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.needs.day import AutoscaledDay
from tidegate.planner.needs.peak import Peak
from tidegate.planner.needs.recovery import RecoveryNeed
from tidegate.planner.plan import Plan, Refusal


@dataclass(frozen=True, slots=True)
class TracePeak:
    """`trace` is its name for people."""

    trace: str
    peak: Peak
    answer: Plan | Refusal


@dataclass(frozen=True, slots=True)
class Needs:
    """Parts that nobody asked for are None. Those that were asked for and cannot be said are in `notes`, as sentences.
    Recovery is at the peak of the trace, without a trace at the rate.
    """

    #: of an executor
    cores: int
    rate: Plan | Refusal
    peak: TracePeak | None = None
    recovery: RecoveryNeed | None = None
    day: AutoscaledDay | None = None
    notes: tuple[str, ...] = ()

    @property
    def largest(self) -> Plan | None:
        """The plan that keeps everything that was asked for, and exists: what the executors are bounded by."""
        answers = (self.rate, self.peak and self.peak.answer, self.recovery and self.recovery.answer)
        return max((a for a in answers if isinstance(a, Plan)), key=lambda a: a.slots, default=None)
