"""`static`: a fixed number of executors, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, InvalidInput, Limits, Observation, check, parameter


@dataclass(slots=True)
class Static:
    """0 executors stand for the most that `limits` allow, and need them.

    >>> Static(0, limits=Limits(1, 8))
    Static(executors=8, interval=15.0)
    """

    executors: int = parameter(0, "", "how many, always; 0: the maximum", least=0)
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
