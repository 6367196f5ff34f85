"""`static`: a fixed number of executors, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, InvalidInput, Observation


@dataclass(frozen=True, slots=True)
class Static:
    executors: int
    interval: float = 15.0

    def __post_init__(self) -> None:
        if self.executors < 1:
            raise InvalidInput(f"policy static: need executors >= 1, got {self.executors}")

    def observe(self, obs: Observation) -> None:
        """Nothing to learn."""

    def decide(self, obs: Observation) -> Decision:
        return Decision(self.executors, f"always {self.executors}")
