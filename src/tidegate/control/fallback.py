"""The number of executors to fall back to while nothing can be decided, as KEDA has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.core import Decision, InvalidInput, Observation, UnknownName

#: `static` is that number; `at-least` never scales in
BEHAVIORS = ("static", "at-least")


@dataclass(slots=True)
class Fallback:
    """After `after` failures in a row, `executors` are requested until a decision succeeds; None is never.

    >>> fallback = Fallback(4, after=2)
    >>> obs = Observation(time=0, executors=2, requested=2)
    >>> fallback.failed(obs, "ValueError: no idea")
    >>> fallback.failed(obs, "ValueError: no idea").reason
    'fallback to 4 after 2 failures in a row: ValueError: no idea'
    """

    executors: int | None = None
    after: int = 3
    behavior: str = "static"
    _failures: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.executors is not None and self.executors < 1:
            raise InvalidInput(f"fallback: need at least 1 executor, got {self.executors}")
        if self.after < 1:
            raise InvalidInput(f"fallback: need at least 1 failure before it, got {self.after}")
        if self.behavior not in BEHAVIORS:
            raise UnknownName("fallback behavior", self.behavior, BEHAVIORS)

    def failed(self, obs: Observation, error: str) -> Decision | None:
        """A turn without a decision; returns the fallback if it is due."""
        self._failures += 1
        if self.executors is None or self._failures < self.after:
            return None
        number = self.executors if self.behavior == "static" else max(self.executors, obs.requested)
        return Decision(number, f"fallback to {number} after {self._failures} failures in a row: {error}")

    def succeeded(self) -> None:
        self._failures = 0
