"""Ticks of a stretch of time folded into fewer. Pure: the same ticks fold into the same ticks.

A tick stays one of its own where something changed: where a decision acted, where executors or what was requested
differ from the tick before, where the wish differs from the last, and at the beginning. What lies between two of them
becomes one tick per slot, at the time of its last tick. So the executors of every moment, executor-seconds, actions and
processed records are the same before and after; latencies from merged batches are at most one merge longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice, pairwise

import numpy as np

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, OperatorSample, Step, Tick
from tidegate.store.blocks import Numbered

#: significant digits of a folded figure
DIGITS = 5
#: ticks that are folded at a time when a whole run is read
PIECE = 1_000
#: kind of the event that says what a folded stretch left out
OMITTED = "Omitted"


@dataclass(frozen=True, slots=True)
class Grain:
    """How coarse folded ticks are. The caps hold for one slot, so that whatever happens, a day has its largest size."""

    #: seconds of a slot
    width: float
    #: neighbouring batches that finished within these seconds become one
    batch: float
    #: ticks that stay their own, events, and batches of one tick, at most
    kept: int = 12
    events: int = 20
    batches: int = 40


MINUTE = Grain(60.0, batch=5.0)
TEN_MINUTES = Grain(600.0, batch=60.0, kept=24)


def fold(ticks: Sequence[Numbered], grain: Grain, before: Tick | None = None) -> list[Numbered]:
    """Fold ticks that follow each other; `before` is the one before them, full or folded.

    >>> ticks = [(n, Tick(Observation(n, 2, 2 + (n > 3), backlog=100.0 - n))) for n in range(1, 60)]
    >>> [(n, tick.observation.requested, tick.observation.backlog) for n, tick in fold(ticks, MINUTE)]
    [(1, 2, 99.0), (3, 2, 98.0), (4, 3, 96.0), (59, 3, 95.0)]
    """
    ranks, spans = _ranks(ticks, before), _spans(ticks, before)
    folded: list[Numbered] = []
    slots = groupby(range(len(ticks)), key=lambda k: ticks[k][1].observation.time // grain.width)
    for indices in (list(slot) for _, slot in slots):
        kept = _kept(indices, ranks, grain.kept)
        for group in _groups(indices, kept):
            number = ticks[group[-1]][0]
            folded.append((number, _merged([ticks[k][1] for k in group], [spans[k] for k in group], grain)))
    return folded


def thin(ticks: Iterable[Numbered], at_most: int, end: float) -> list[Numbered]:
    """Ticks up to the time `end`, folded into at most so many, though not below ten. Holds few more at a time."""
    at_most, rest = max(10, at_most), iter(ticks)
    first = list(islice(rest, at_most + 1))
    if len(first) <= at_most:
        return first
    begin = min(tick.observation.time for _, tick in first)
    span = max(end, *(tick.observation.time for _, tick in first)) - begin or 1.0
    # a quarter is for ticks that stay their own
    fine = _slot(span, 3 * at_most // 4)
    folded = _fold_in_pieces(chain(first, rest), Grain(fine, batch=fine, kept=2))
    if len(folded) <= at_most:
        return folded
    # at most three of each slot: what was before the tick that is kept, itself, and what came after
    coarse = _slot(span, at_most // 3)
    return fold(folded, Grain(coarse, batch=coarse, kept=1))


def _fold_in_pieces(ticks: Iterable[Numbered], grain: Grain) -> list[Numbered]:
    """Pieces end where a slot ends, so that they fold into the same as all at once."""
    folded: list[Numbered] = []
    piece: list[Numbered] = []
    for numbered in ticks:
        if len(piece) >= PIECE and numbered[1].observation.time // grain.width != _time(piece[-1]) // grain.width:
            folded += fold(piece, grain, folded[-1][1] if folded else None)
            piece = []
        piece.append(numbered)
    return folded + fold(piece, grain, folded[-1][1] if folded else None)


def _time(numbered: Numbered) -> float:
    return numbered[1].observation.time


def _slot(span: float, most: int) -> float:
    """The shortest slots of which at most so many touch a span: the first and the last may be cut."""
    return span / (most - 1) * (1 + 1e-9)


def _ranks(ticks: Sequence[Numbered], before: Tick | None) -> list[int]:
    """How much each tick deserves to stay its own: 3 if its decision acted, 2 or 1 if something changed or it is the
    first of all, else 0.
    """
    ranks, last = [], before
    wish = None if before is None or before.decision is None else before.decision.target
    for _, tick in ticks:
        ranks.append(3 if tick.acted else 1 if last is None else _change(last.observation, tick.observation))
        if tick.decision is not None:
            if wish is not None and tick.decision.target != wish:
                ranks[-1] = max(ranks[-1], 1)
            wish = tick.decision.target
        last = tick
    return ranks


def _change(before: Observation, now: Observation) -> int:
    if now.requested != before.requested:
        return 2
    return int(now.executors != before.executors)


def _spans(ticks: Sequence[Numbered], before: Tick | None) -> list[float]:
    """Seconds that each tick stands for: those since the one before it."""
    times = [tick.observation.time for _, tick in ticks]
    since = [max(0.0, b - a) for a, b in pairwise(times)]
    first = since[0] if since else 1.0
    if before is not None:
        first = max(0.0, times[0] - before.observation.time)
    return [first, *since] if times else []


def _kept(indices: Sequence[int], ranks: Sequence[int], most: int) -> set[int]:
    """The most deserving ones, the earlier before the later."""
    deserving = [k for k in indices if ranks[k]]
    return set(sorted(deserving, key=lambda k: -ranks[k])[:most])


def _groups(indices: Sequence[int], kept: set[int]) -> Iterator[list[int]]:
    group: list[int] = []
    for k in indices:
        if k in kept:
            if group:
                yield group
            yield [k]
            group = []
        else:
            group.append(k)
    if group:
        yield group


def _merged(ticks: Sequence[Tick], spans: Sequence[float], grain: Grain) -> Tick:
    """The last of some ticks, with means of rates and the highest latency, backlog and duration of all."""
    seen = [tick.observation for tick in ticks]
    last, decider = seen[-1], _decider(ticks)

    def mean(value: Callable[[Observation], float | None]) -> float | None:
        return _mean([value(obs) for obs in seen], spans)

    def highest(value: Callable[[Observation], float | None]) -> float | None:
        return _short(max((v for obs in seen if (v := _finite(value(obs))) is not None), default=None))

    acted = sum(tick.acted for tick in ticks)
    obs = replace(
        last,
        time=round(last.time, 3),
        arrival_rate=mean(lambda obs: obs.arrival_rate),
        processing_rate=mean(lambda obs: obs.processing_rate),
        backlog=highest(lambda obs: obs.backlog),
        latency=highest(lambda obs: obs.latency),
        batch_duration=highest(lambda obs: obs.batch_duration),
        trigger=_short(last.trigger),
        per_executor=_executors(seen, spans),
        operators=_operators(seen, spans),
        batches=merge_batches([batch for obs in seen for batch in obs.batches], grain.batch, grain.batches),
        events=_events([event for obs in seen for event in obs.events], acted - 1, last.time, grain.events),
    )
    return Tick(obs, () if decider is None else _short_steps(decider.steps), acted > 0)


def _decider(ticks: Sequence[Tick]) -> Tick | None:
    """The last tick whose decision acted, or else the last with a decision."""
    deciding = [tick for tick in ticks if tick.steps]
    acting = [tick for tick in deciding if tick.acted]
    return next(reversed(acting or deciding), None)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _short(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """The mean of the known values; the plain one where the weights say nothing."""
    known = [(v, w) for value, w in zip(values, weights, strict=True) if (v := _finite(value)) is not None]
    if not known:
        return None
    whole = math.fsum(w for _, w in known)
    if whole <= 0:
        return _short(math.fsum(v for v, _ in known) / len(known))
    return _short(math.fsum(v * w for v, w in known) / whole)


def _executors(seen: Sequence[Observation], spans: Sequence[float]) -> tuple[ExecutorSample, ...]:
    """One sample with the means of all executors, however many there are."""
    samples = [(sample, span) for obs, span in zip(seen, spans, strict=True) for sample in obs.per_executor]
    if not samples:
        return ()
    weights = [span for _, span in samples]

    def mean(value: Callable[[ExecutorSample], float | None]) -> float | None:
        return _mean([value(sample) for sample, _ in samples], weights)

    return (
        ExecutorSample(
            "mean",
            cores=max(sample.cores for sample, _ in samples),
            cpu=mean(lambda sample: sample.cpu),
            busy=mean(lambda sample: sample.busy),
            rate=mean(lambda sample: sample.rate),
        ),
    )


def _operators(seen: Sequence[Observation], spans: Sequence[float]) -> tuple[OperatorSample, ...]:
    """The operators of the last tick that has any, with the means of their figures."""
    names = next((obs.operators for obs in reversed(seen) if obs.operators), ())
    return tuple(_operator(last, seen, spans) for last in names)


def _operator(last: OperatorSample, seen: Sequence[Observation], spans: Sequence[float]) -> OperatorSample:
    pairs = [
        (one, span) for obs, span in zip(seen, spans, strict=True) for one in obs.operators if one.name == last.name
    ]
    samples, weights = [one for one, _ in pairs], [span for _, span in pairs]

    def mean(value: Callable[[OperatorSample], float | None]) -> float | None:
        return _mean([value(one) for one in samples], weights)

    return replace(
        last,
        rate_in=mean(lambda one: one.rate_in),
        rate_out=mean(lambda one: one.rate_out),
        busy=mean(lambda one: one.busy),
        cpu=mean(lambda one: one.cpu),
        backpressured=mean(lambda one: one.backpressured),
        queue=mean(lambda one: one.queue),
    )


def _events(events: list[Event], actions: int, now: float, most: int) -> tuple[Event, ...]:
    """The first events, and one more that says what was left out."""
    left_out = [f"{actions} actions"] if actions > 0 else []
    if len(events) > most:
        left_out.append(f"{len(events) - most} events")
    told = tuple(events[:most])
    return (*told, Event(now, OMITTED, " and ".join(left_out) + " of this stretch are not kept")) if left_out else told


def _short_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(replace(step, decision=_short_decision(step.decision)) for step in steps)


def _short_decision(decision: Decision) -> Decision:
    evidence = {name: _short(value) for name, value in decision.evidence.items()}
    return Decision(
        decision.target, decision.reason, {name: value for name, value in evidence.items() if value is not None}
    )


def merge_batches(batches: Sequence[Batch], seconds: float, most: int) -> tuple[Batch, ...]:
    """Neighbours that finished within the same `seconds` become one batch, which holds the same records.

    A gap between two batches (records that were lost) or an overlap (records read twice) stays, up to `most` batches.

    >>> b = [Batch(n, n, n + 1.0, 10 * n, 10 * n + 10, arrived=10 * n + 12, rows=10) for n in range(8)]
    >>> [(one.id, one.begin, one.end, one.rows, one.finished) for one in merge_batches(b, 5.0, 20)]
    [(3, 0, 40, 40, 4.0), (7, 40, 80, 40, 8.0)]
    """
    groups: list[list[Batch]] = []
    for batch in batches:
        if groups and _adjoin(groups[-1][-1], batch, seconds):
            groups[-1].append(batch)
        else:
            groups.append([batch])
    if len(groups) > most:
        groups = [*groups[: most - 1], [batch for group in groups[most - 1 :] for batch in group]]
    return tuple(_one_batch(group) for group in groups)


def _adjoin(a: Batch, b: Batch, seconds: float) -> bool:
    return a.end == b.begin and a.finished // seconds == b.finished // seconds


def _one_batch(group: Sequence[Batch]) -> Batch:
    """Arrivals are a line through the totals seen at plannings, so the last planning and its total stay together."""
    first, last = group[0], group[-1]
    records = [batch.end - batch.begin for batch in group]
    # after a gap or an overlap the end is not that of the last, but the number of records is right
    end = last.end if all(a.end == b.begin for a, b in pairwise(group)) else first.begin + sum(records)
    planned = next((batch for batch in reversed(group) if batch.arrived is not None), last)
    return Batch(
        last.id,
        round(planned.planned, 3),
        round(last.finished, 3),
        first.begin,
        end,
        planned.arrived,
        sum(batch.rows for batch in group),
        _quantiles(group, records),
    )


def _quantiles(group: Sequence[Batch], records: Sequence[float]) -> tuple[float, ...]:
    """Creation times of all records of a group, as many quantiles as its batches have; none if one of them has none."""
    dated = [(batch.times, size) for batch, size in zip(group, records, strict=True) if size > 0]
    if not dated or not all(times for times, _ in dated):
        return ()
    positions: list[float] = []
    created: list[float] = []
    done = 0.0
    for times, size in dated:
        positions += np.linspace(done, done + size, len(times)).tolist()
        created += times
        done += size
    points = np.linspace(0.0, done, max(len(times) for times, _ in dated))
    return tuple(round(time, 3) for time in np.interp(points, positions, np.maximum.accumulate(created)).tolist())
