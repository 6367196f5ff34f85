"""No scale-in while there is a backlog to work off."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import held
from tidegate.policies.lag import trigger_wait

#: triggers whose arrivals wait or are being processed even if the query keeps up
TRIGGERS = 2


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """No scale-in while the backlog is more than `seconds` of arrivals (Flink's operator: 300).

    The arrivals of two triggers are no backlog, as long as the query waits for its trigger. If there are no arrivals or
    they are unknown, the backlog is measured against the processing rate. Without either, the latency of the last batch
    is used. If nothing is known of a query that gets records, there is no scale-in.

    >>> behind = Observation(time=0, executors=4, requested=4, backlog=8000, arrival_rate=20)
    >>> CatchingUp(seconds=300).temper(Decision(2, "idle"), behind).reason
    'hold: 2 wished (idle), but the backlog is 400 s of arrivals, more than 300 s: still catching up'
    """

    seconds: float = 300.0
    name: str = "catching-up"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if wish.executors >= obs.requested:
            return wish
        measure = _behind(obs)
        if measure is None:
            return held(wish, obs, "but neither backlog nor latency is known: it may be catching up")
        behind, what = measure
        allowed = max(self.seconds, TRIGGERS * trigger_wait(obs))
        if behind <= allowed:
            return wish
        return held(wish, obs, f"but {what.format(f'{behind:.0f} s')}, more than {allowed:g} s: still catching up")


def _behind(obs: Observation) -> tuple[float, str] | None:
    """How many seconds the query is behind, and a text that says by which measure."""
    if obs.backlog is not None and obs.backlog <= 0:
        return 0.0, "the backlog is {}"
    if obs.backlog is not None and obs.arrival_rate:
        return obs.backlog / obs.arrival_rate, "the backlog is {} of arrivals"
    if obs.backlog is not None and obs.processing_rate:
        return obs.backlog / obs.processing_rate, "the backlog is {} of work"
    if obs.latency is not None:
        return obs.latency, "the latency is {}"
    return (0.0, "the backlog is {}") if obs.backlog is None and obs.arrival_rate == 0 else None
