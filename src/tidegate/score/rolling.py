"""The score of a run of any length, at any time, in bounded memory.

The last ticks are kept, and all figures of a run that is not longer are those of `figures`. Of a longer one, what lies
further back is folded into sums (see `folding`). Then records, shares later than the SLO, worker-seconds, rescales and
backlog are still exact, and so are the mean and the maximum of latencies; their percentiles are good to 1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core import Decision, Observation, Step, Tick
from tidegate.score.figures import Figures, Objective, figures
from tidegate.score.folding import BOUNDS, Bounds, Past, weight
from tidegate.score.recorder import FAILURES, counts


@dataclass(slots=True)
class RollingScore:
    """A sink that scores what it has seen so far.

    After any number of ticks it holds at most 2 MB: the last ticks and batches (of the last 7 to 27 minutes at one
    of each per second), and sums. While one thread shows it ticks, others may ask for figures.

    What is not exact beyond the last ticks: latencies of records that waited longer are good to 1 %; a batch that is
    reported later than that, or clocks set back by more, may be missing in the largest backlog, and records that such
    a batch brings after all stay lost; where nobody tells arrivals for longer, records until then have no latency; of
    failures the last 500 are kept, and `failures` counts them all. There is no oracle, hence no convergence.

    >>> score = RollingScore(slo=10.0, start=100.0)
    >>> for time in (101.0, 102.0, 103.0):
    ...     score.take(Tick(Observation(time, executors=2, requested=2)))
    >>> score.until, score.figures().workers.seconds
    (3.0, 4.0)
    """

    #: latency objective in seconds
    slo: float
    #: time of the run's start on the clock of the ticks; by default that of the first tick
    start: float | None = None
    #: for Spark's dynamic allocation, as of `TraceRecorder`
    native: bool = False
    bounds: Bounds = BOUNDS
    name: str = "score"
    _weight: int = 0
    #: replaced as one, and the list is only ever appended to, so a reader needs no lock
    _state: tuple[Past, list[Tick]] | None = None

    def take(self, tick: Tick) -> None:
        if self._state is None:
            start = tick.observation.time if self.start is None else self.start
            self._state = Past(self.slo, start, self.native, self.bounds), []
        past, rows = self._state
        row = _slim(tick)
        rows.append(row)
        self._weight += weight(row)
        if self._weight > self.bounds.kept:
            count = self._older(rows)
            try:
                self._state = past.fold(rows, count)
            except Exception:
                self._state = past, rows[count:]  # what cannot be folded must not pile up
                raise
            finally:
                self._weight = sum(map(weight, self._state[1]))

    def _older(self, rows: Sequence[Tick]) -> int:
        """The number of ticks before those that weigh a quarter of what is kept."""
        count, left = len(rows), weight(rows[-1])
        while count > 1 and left <= self.bounds.kept // 4:
            count -= 1
            left += weight(rows[count - 1])
        return count

    def figures(self, objective: Objective | float | None = None) -> Figures:
        """The figures of the run so far, against the SLO unless told otherwise."""
        if objective is None:
            objective = self.slo
        if not isinstance(objective, Objective):
            objective = Objective(objective)
        past, rows = self._now()
        trace, earlier = past.rest(rows)
        return figures(trace, objective, earlier=earlier)

    @property
    def failures(self) -> int:
        """The number of failures in the run so far."""
        past, rows = self._now()
        times = {event.time for row in rows for event in row.observation.events}
        return 0 if self.native else past.failures + len(times)

    @property
    def until(self) -> float:
        """Seconds from the start to the last tick."""
        past, rows = self._now()
        return max(past.until, *(row.observation.time - past.start for row in rows), 0.0)

    def _now(self) -> tuple[Past, list[Tick]]:
        past, rows = self._state or (Past(self.slo, self.start or 0.0, self.native, self.bounds), [])
        return past, rows[:]


def _slim(tick: Tick) -> Tick:
    """What `TraceRecorder` reads of a tick: all else would be kept for nothing."""
    obs = tick.observation
    batches = tuple(filter(counts, obs.batches))
    events = tuple(event for event in obs.events if event.kind in FAILURES)
    kept = Observation(
        obs.time, obs.executors, obs.requested, rerun_tasks=obs.rerun_tasks, batches=batches, events=events
    )
    if not tick.acted:
        return Tick(kept)
    return Tick(kept, (Step("", Decision(tick.steps[-1].decision.target.executors, "")),), acted=True)
