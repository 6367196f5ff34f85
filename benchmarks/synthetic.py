"""A long attached run without Spark: ticks as `tidegate.attach` would keep them, for benchmarks of store and report.

python benchmarks/synthetic.py day.db [--days 1] [--period 1]

The load is a daily wave with a short peak every hour; some decisions act, an executor is lost now and then, one failure
is repeated all day. The same arguments give the same ticks.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, OperatorSample, Step, Tick
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import Objective, figures
from tidegate.score.recorder import TraceRecorder
from tidegate.store import Store

#: 2026-03-02 00:00 UTC, a Monday
START = 1_772_409_600.0
DAY = 86_400.0
#: records per second that one executor can process
EACH = 20_000.0


@dataclass(frozen=True, slots=True)
class LongRun:
    """How long a run and how often things happen in it, in seconds."""

    seconds: float = DAY
    period: float = 1.0
    executors: int = 4
    operators: int = 2
    batch_every: float = 5.0
    decide_every: float = 15.0
    start: float = START

    @property
    def spec(self) -> RunSpec:
        return RunSpec(
            job="orders", policy="hpa-cpu", maximum=self.executors, period=self.period, verify=False, start=self.start
        )

    def ticks(self) -> Iterator[Tick]:
        requested, arrived, done = self.executors, 0.0, 0.0
        every, due = (max(1, round(length / self.period)) for length in (self.batch_every, self.decide_every))
        for number in range(round(self.seconds / self.period)):
            at = number * self.period
            load = rate(at)
            arrived += load * self.period
            batch = None
            if number % every == every - 1:
                batch, done = self._batch(number // every, at, done, arrived), arrived
            obs = self._observation(number, requested, load, batch)
            if number % due:
                yield Tick(obs)
                continue
            step = self._decision(obs)
            acted = step.decision.executors != requested
            yield Tick(obs, (step,), acted)
            requested = step.decision.executors

    def _observation(self, number: int, requested: int, load: float, batch: Batch | None) -> Observation:
        at = number * self.period
        busy = min(1.0, load / (requested * EACH))
        waiting = max(0.0, load - requested * EACH) * 30 + load * self.batch_every / 2
        return Observation(
            time=self.start + at,
            executors=requested,
            requested=requested,
            arrival_rate=load,
            processing_rate=min(load, requested * EACH),
            backlog=waiting,
            latency=self.batch_every + waiting / (requested * EACH),
            trigger=self.batch_every,
            batch_duration=self.batch_every * busy,
            ceiling=8,
            state_rows=100_000,
            state_bytes=20_000_000,
            per_executor=tuple(
                ExecutorSample(str(k), "10.0.0.1", 1, busy, busy, load / requested, at, 1) for k in range(requested)
            ),
            operators=tuple(
                OperatorSample(f"stage {k}", (f"stage {k - 1}",) if k else (), 8, load, load, busy * requested, busy)
                for k in range(self.operators)
            ),
            batches=() if batch is None else (batch,),
            events=tuple(self._events(number)),
        )

    def _batch(self, id: int, at: float, begin: float, end: float) -> Batch:
        now = self.start + at
        return Batch(id, now - self.batch_every, now, begin, end, arrived=end, rows=round(end - begin))

    def _decision(self, obs: Observation) -> Step:
        load = obs.arrival_rate or 0.0
        wish = min(self.executors, max(1, math.ceil(load / (0.75 * EACH))))
        now = f"CPU {load / (obs.requested * EACH):.1%}"
        reason = f"hold: {now} is within 10% of 75%" if wish == obs.requested else f"{now}: {obs.requested} -> {wish}"
        return Step("hpa-cpu", Decision(wish, reason, {"cpu": load / (obs.requested * EACH)}))

    def _events(self, number: int) -> Iterator[Event]:
        at = self.start + number * self.period
        if number % 10_000 == 9_999:
            yield Event(at, "ExecutorLost", f"executor {number // 10_000}: heartbeat timed out")
        if number % 60 == 59:
            yield Event(at, "SinkFailed", "sink jsonl: OSError: no space left on device")


def rate(at: float) -> float:
    """Records per second: a wave over the day, and a peak of 20 s in every hour.

    >>> round(rate(0)), round(rate(43_200)), round(rate(1_800))
    (10000, 60000, 82205)
    """
    wave = 34_000.0 - 24_000.0 * math.cos(2 * math.pi * at / DAY)
    return wave + (72_000.0 if 1_800 <= at % 3_600 < 1_820 else 0.0) + 2_000.0 * (at % 7 == 3)


def fill(store: Store, run: LongRun) -> str:
    """Append all ticks to a store, as a sink would, and the result so far; returns the id of the run, which goes on."""
    id, recorder = store.begin(run.spec), TraceRecorder()
    for tick in run.ticks():
        store.append(id, tick)
        recorder.take(tick)
    scored = figures(recorder.trace(run.start), Objective(run.spec.slo))
    store.update(id, replace(RunResult.of(id, "running", run.spec), duration=run.seconds, figures=scored))
    return id


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--days", type=float, default=1.0)
    parser.add_argument("--period", type=float, default=1.0)
    given = parser.parse_args()
    began = time.process_time()
    with Store.open(given.store) as store:
        id = fill(store, LongRun(seconds=given.days * DAY, period=given.period))
    print(f"run {id}: {time.process_time() - began:.1f} CPU-seconds, {given.store.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
