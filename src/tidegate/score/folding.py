"""The past of a long run: what is left of its ticks once they are folded into sums.

A portion is folded as soon as nothing that is still to come can change its latency: when the arrivals of its records
are known. So no record is lost or counted twice between what is folded and what is not. The same functions score a fold
and a whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from tidegate.core import Batch, Observation, Tick
from tidegate.score.earlier import NOTHING, UNSPENT, Earlier, Spent
from tidegate.score.figures import finished_by, rescales, spent
from tidegate.score.folded_view import FoldedView
from tidegate.score.histogram import LatencyHistogram
from tidegate.score.latency import LatencyDistribution, unread
from tidegate.score.recorder import START, TraceRecorder, rising
from tidegate.score.recovery import BEFORE, Beginning, begun
from tidegate.score.trace import Array, Cumulative, Finished, Mask, RunTrace

#: no points of arrivals, and arrivals of which nobody tells
NONE = np.zeros((0, 2))
NOBODY = Cumulative(*START.T)
NOTHING_DONE = Finished(np.zeros(0), np.zeros(0), np.zeros(0))
#: what a tick and a batch weigh, in numbers that are kept of them
TICK, BATCH = 13, 9


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a score may keep; about 2 MB as it is."""

    #: numbers of the last ticks and batches, of about 30 bytes each (see `weight`)
    kept: int = 36_000
    #: numbers of earlier batches that wait for word of when their records arrived
    carried: int = 4500
    #: points of arrivals that are still needed, and pieces of lost records: from there on neighbours are merged, if
    #: latencies stay good to 1 %
    points: int = 2048
    #: portions that tell what latency is normal before a failure
    recent: int = 4096
    #: failures of which the recovery is kept; earlier ones are only counted
    failures: int = 500


BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of when records arrived; `arrivals` is None if nobody tells."""

    folded: FoldedView
    #: points of the ticks that are going to be folded
    points: Array
    arrivals: Cumulative | None
    #: nothing to come changes how many records had arrived by then
    known: float


@dataclass(frozen=True, slots=True)
class Past:
    """What is left of the ticks that were folded. Immutable, so that another thread may read it."""

    slo: float
    #: time of the workload's start on the clock of the ticks
    start: float
    native: bool = False
    bounds: Bounds = BOUNDS
    #: both readings; by creation times only once there are records, and while all of them have some
    by_arrival: FoldedView | None = None
    by_creation: FoldedView | None = None
    all_created: bool = True
    #: the last number of records that were seen to have arrived, if any was
    told: Array = field(default_factory=lambda: NONE)
    until: float = 0.0
    spent: Spent | None = None
    up: int = 0
    down: int = 0
    processed: float = 0.0
    unread: float = 0.0
    #: of the records processed
    latencies: LatencyHistogram | None = None
    #: ticks whose backlog is not known yet (rows as of `finished_by`)
    ticks: Array = field(default_factory=lambda: NONE)
    recovery: Beginning = field(default_factory=Beginning)
    #: number of failures folded
    failures: int = 0

    def rest(self, rows: Sequence[Tick]) -> tuple[RunTrace, Earlier]:
        """The trace of the ticks that are not folded, and what it lacks to the whole run."""
        recorder = self._recorded(rows)
        trace = recorder.trace(self.start)
        if self.spent is None:
            return trace, NOTHING
        reading = self._readings(recorder, self._recorded(()))[0]
        folded = reading.folded
        trace = folded.rest(replace(trace, until=max(trace.until, self.until)), reading.arrivals)
        ages = folded.lost.at(trace.until)
        return trace, Earlier(
            processed=self.processed,
            lost=self.unread + folded.missing,
            latencies=ages if self.latencies is None else ages.joined(self.latencies.distribution()),
            first=folded.first,
            spent=self.spent,
            up=self.up,
            down=self.down,
            backlog=folded.backlog,
            ticks=self.ticks,
            recovery=self.recovery,
        )

    def fold(self, rows: Sequence[Tick], count: int) -> tuple[Past, list[Tick]]:
        """Fold the first `count` of the ticks that are not folded. Also returns the others, after a tick that stands
        for the last folded one and carries the batches that could not be folded yet; if these are too many, they are
        folded as they are.
        """
        recorder, old = self._recorded(rows), self._recorded(rows[:count])
        readings = self._readings(recorder, old)
        trace, begin = recorder.trace(self.start, NOBODY), old.trace(self.start, NOBODY, finished=NOTHING_DONE)
        known = min((reading.known for reading in readings if reading.arrivals), default=-math.inf)
        ticks = np.concatenate([self.ticks, finished_by(begin.times, readings[0].folded.rest(trace, None))])
        later = _decisive(ticks[ticks[:, 0] >= known], self.bounds.points)
        batches = [batch for row in rows[:count] for batch in row.observation.batches]
        left = float(trace.times[count - 1 :].min())
        ripe = self._ripe(trace, len(batches), left, readings[-1].arrivals)
        carried = tuple(compress(batches, ~ripe[: len(batches)]))
        if sum(map(_batch_weight, carried)) > self.bounds.carried:
            ripe, carried = np.arange(len(ripe)) < len(batches), ()
        needed = min(left, float(later[:, 0].min(initial=math.inf)))
        told = np.concatenate([self.told, old.arrival_points(self.start)])[-1:]
        past = self._with_ticks(begin)._with_portions(trace, ripe, readings[0])
        past = past._with_failures(begin, trace, ripe, readings[0])
        past = past._with_views(readings, trace, ripe, (ticks[ticks[:, 0] < known], needed))
        past = replace(past, ticks=later, told=told, all_created=self.all_created and recorder.all_created)
        return past, [_standing_for(rows[count - 1], carried), *rows[count:]]

    def _recorded(self, rows: Iterable[Tick]) -> TraceRecorder:
        recorder = TraceRecorder(native=self.native)
        for row in rows:
            recorder.take(row)
        return recorder

    def _readings(self, recorder: TraceRecorder, old: TraceRecorder) -> list[Reading]:
        """Those that are possible, the better one first."""
        told = recorder.arrival_points(self.start)
        folded = self.by_arrival or FoldedView.beginning(START, 0.0)
        arrivals = rising(folded.points, told) if len(told) or len(self.told) else None
        known = -math.inf if arrivals is None else float(arrivals.times[-1])
        readings = [Reading(folded, old.arrival_points(self.start), arrivals, known)]
        created = self.by_creation
        if self.all_created and recorder.all_created and (created or recorder.created):
            points = recorder.creation_points(self.start)
            created = created or FoldedView.beginning(NONE, float(points[0, 1]))
            final = rising(created.points, points)
            latest = np.concatenate([self.told, told])[-1:]
            arrivals, known = rising(created.points, points, latest), float(final.times[-1])
            readings.insert(0, Reading(created, old.creation_points(self.start), arrivals, known))
        return readings

    @staticmethod
    def _ripe(trace: RunTrace, count: int, floor: float, arrivals: Cumulative | None) -> Mask:
        """Of the first `count` portions, those that were finished before every tick that is left, and of whose records
        it is known when they arrived.
        """
        portions = trace.finished
        arrived = -math.inf if arrivals is None else arrivals.whole
        dated = np.zeros(len(portions.times), dtype=bool)
        dated[: len(portions.created)] = [bool(times) for times in portions.created]
        in_time: Mask = (portions.times <= floor) & (np.arange(len(portions.times)) < count)
        return in_time & (dated | (portions.ends <= arrived))

    def _with_ticks(self, begin: RunTrace) -> Past:
        """With ticks from the last folded one on, and their moves."""
        moves = rescales(begin)
        return replace(
            self,
            until=max(self.until, begin.until),
            spent=spent(begin, self.spent or UNSPENT),
            up=self.up + moves.up,
            down=self.down + moves.down,
        )

    def _with_portions(self, trace: RunTrace, ripe: Mask, reading: Reading) -> Past:
        portions, latencies = trace.finished.only(ripe), self.latencies
        if reading.arrivals is not None:
            # the same under both readings, of which one holds for as long as all records have creation times
            latencies = latencies or LatencyHistogram.empty(self.slo)
            latencies = latencies.plus(LatencyDistribution.at(portions, reading.arrivals))
        return replace(
            self,
            processed=self.processed + float((portions.ends - portions.begins).sum()),
            unread=self.unread + unread(portions),
            latencies=latencies,
        )

    def _with_failures(self, begin: RunTrace, trace: RunTrace, ripe: Mask, reading: Reading) -> Past:
        if reading.arrivals is None:
            portions, ripe = trace.finished.only(np.zeros(len(ripe), dtype=bool)), ripe[:0]
        else:
            portions = trace.finished
        since = portions.first_created(reading.arrivals or NOBODY)
        failures = begun(begin.failures, self.recovery, portions, since)
        folded, from_when = portions.only(ripe), since[ripe]
        times, created = np.append(self.recovery.times, folded.times), np.append(self.recovery.since, from_when)
        recent = np.flatnonzero(times >= begin.times.max() - BEFORE)[-self.bounds.recent :]
        after = tuple(failure.after(folded, from_when) for failure in failures[-self.bounds.failures :])
        new = len(failures) - len(self.recovery.failures)
        return replace(self, recovery=Beginning(after, times[recent], created[recent]), failures=self.failures + new)

    def _with_views(self, readings: list[Reading], trace: RunTrace, ripe: Mask, ticks: tuple[Array, float]) -> Past:
        decided, needed = ticks
        points, views = self.bounds.points, []
        for reading in readings:
            view = reading.folded.plus(reading.folded.rest(trace, reading.arrivals), ripe, decided, (points, self.slo))
            record = float(trace.finished.begins[~ripe].min(initial=view.reached))
            views.append(view.needing(reading.points, record, needed).thinned(trace.until, points))
        return replace(self, by_arrival=views[-1], by_creation=views[0] if len(views) > 1 else None)


def _decisive(ticks: Array, most: int) -> Array:
    """Those ticks of which one will turn out to have the largest backlog: it only grows until a portion is finished, so
    the last tick before each. If there are too many, every second one is left out, which is nearly as large.

    >>> _decisive(np.array([(1.0, 0.0), (2.0, 0.0), (3.0, 50.0), (4.0, 50.0), (5.0, 50.0)]), most=9).tolist()
    [[2.0, 0.0], [5.0, 50.0]]
    """
    order = ticks[np.argsort(ticks[:, 0], kind="stable")]
    last = order[np.append(order[1:, 1] != order[:-1, 1], True)] if len(order) else order
    return last if len(last) <= most else last[::-2][::-1]


def _standing_for(tick: Tick, carried: tuple[Batch, ...]) -> Tick:
    obs = tick.observation
    return Tick(Observation(obs.time, obs.executors, obs.requested, rerun_tasks=obs.rerun_tasks, batches=carried))


def weight(tick: Tick) -> int:
    """Numbers kept of a tick."""
    return TICK + sum(map(_batch_weight, tick.observation.batches))


def _batch_weight(batch: Batch) -> int:
    return BATCH + len(batch.times)
