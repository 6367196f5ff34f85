"""`static`: a fixed number of executors, the baseline for every comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, InvalidInput, Limits, Observation, Options, check, parameter
from tidegate.policies.entry import AS_IS, Entry


@dataclass(slots=True)
class Static:
    """0 executors means the maximum of `limits`, which are then required.

    >>> Static(0, limits=Limits(1, 8))
    Static(executors=8, interval=15.0)
    """

    executors: int = parameter(0, "", "number of executors; 0: the maximum", least=0)
    interval: float = parameter(15.0, "s", "time between decisions", above=0)
    limits: Limits | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self, "policy static")
        if self.executors == 0 and self.limits is None:
            raise InvalidInput("policy static: need executors >= 1 where no limits are given, got 0")
        if self.executors == 0 and self.limits is not None:
            self.executors = self.limits.maximum

    def observe(self, obs: Observation) -> None:
        """Nothing to learn."""

    def decide(self, obs: Observation) -> Decision:
        return Decision(self.executors, f"always {self.executors}", {"executors": float(self.executors)})


#: the number is the user's, so that no backlog is a reason for another one
FIXED: Options = {**AS_IS, "late": 0.0, "catching-up": 0.0}
NAMES = {
    "static": Entry("always the same number (0: the maximum)", "every comparison's baseline", Static, FIXED),
}
