"""Roughly what a query can process, from a minute under a rising backlog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.planner.estimator.phases import WarmUp
from tidegate.profiling.testbed import Testbed

#: rate of the first window, records/s, and factor from what a window processed to the rate of the next
FIRST_RATE, GROWTH = 20_000.0, 4.0
#: a window is so many trigger intervals long, but has a least length in seconds; there are at most so many
TRIGGERS, LEAST_SECONDS, MOST_WINDOWS = 3.0, 10.0, 8
#: growth from one window to the next below which the query is as fast as it gets, once it had time to be compiled
SETTLED, COLD_WINDOWS = 1.25, 3

OnPhase = Callable[[WarmUp, float], None]


@dataclass(frozen=True, slots=True)
class Pilot:
    """`rate` is good for a factor of two: the query was not warm, and its backlog was never worked off."""

    rate: float
    seconds: float


def pilot(testbed: Testbed, trigger: float, on_phase: OnPhase = lambda phase, seconds: None) -> Pilot:
    """The highest rate that was processed in a window; `FIRST_RATE` if nothing was."""
    length = max(LEAST_SECONDS, TRIGGERS * trigger)
    best, rate, spent = 0.0, FIRST_RATE, 0.0
    for window in range(MOST_WINDOWS):
        phase = WarmUp(rate, length, max(1, round(rate * trigger)))
        on_phase(phase, spent)
        measured = testbed.measure(phase)
        spent += measured.seconds
        processed = measured.processed_rate or 0.0
        if window >= COLD_WINDOWS and processed < SETTLED * best:
            break
        best = max(best, processed)
        rate = max(rate, GROWTH * best)
    return Pilot(best or FIRST_RATE, spent)
