"""The autoscaled day: a policy on the trace, against as many executors as the peak needs all the time."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.needs.cost import MonthlyCost, cost_of_executors


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a simulated run. `mean` are executors that are paid for; `late` is the share of records that missed the SLO,
    None if no records arrived.
    """

    mean: float
    #: the most executors that were there
    most: int
    worker_seconds: float
    late: float | None


@dataclass(frozen=True, slots=True)
class AutoscaledDay:
    """`scaled` is what the policy does if the capacity is its median, `weak` and `strong` at its bounds. A trace of any
    length counts as a day like all others.
    """

    policy: str
    #: how long the trace is, and the bounds of the policy
    seconds: float
    minimum: int
    maximum: int
    slo: float
    #: always the maximum, at the median capacity
    static: Outcome
    scaled: Outcome
    weak: Outcome
    strong: Outcome

    @property
    def executors(self) -> tuple[float, float]:
        """The interval of `scaled.mean`."""
        means = [outcome.mean for outcome in (self.scaled, self.weak, self.strong)]
        return min(means), max(means)

    @property
    def late(self) -> tuple[float, float] | None:
        """The interval of `scaled.late`."""
        shares = [outcome.late for outcome in (self.scaled, self.weak, self.strong) if outcome.late is not None]
        return (min(shares), max(shares)) if shares else None

    @property
    def saved(self) -> float:
        """Share of the static executors' worker-seconds; below 0 if the policy needs more."""
        return 1 - self.scaled.worker_seconds / self.static.worker_seconds

    def cost(self, price: float) -> MonthlyCost:
        low, high = self.executors
        return MonthlyCost(*(cost_of_executors(number, price) for number in (self.scaled.mean, low, high)))
