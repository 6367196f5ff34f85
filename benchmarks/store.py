"""Size of a store over 90 days of an attached query, the time of an append, and of reading a month for a report.

    python benchmarks/store.py [--days 90] [--executors 4] [--batch 5]

Ticks are those of a query on Spark with a load that rises and falls once a day: four executors, two operators, a batch
every 5 s, a decision every 15 s, all with noise in every digit. The clock is that of the ticks. To be done in minutes,
days that are folded at the end have a tick per minute with the batches of a minute, which folds into ticks of the same
size as sixty ticks would; the last day has one every second. For comparison, an hour is written as it was before ticks
were packed and folded.
"""

import argparse
import json
import math
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, OperatorSample, Step, Tick
from tidegate.runs import RunSpec
from tidegate.store import MIGRATIONS, Store

START, DAY = 1_800_000_000.0, 86_400.0
EACH = 20_000.0


@dataclass(slots=True)
class Query:
    """Ticks of a query without end."""

    executors: int = 4
    every: float = 5.0
    draw: random.Random = field(default_factory=lambda: random.Random(7))
    now: float = START
    arrived: float = 0.0
    done: float = 0.0
    requested: int = 2
    batch: int = 0

    def ticks(self, seconds: float, period: float) -> Iterator[Tick]:
        stages: tuple[OperatorSample, ...] = ()
        rate, end = 0.0, self.now + seconds
        while self.now < end:
            begun, self.now = self.now, self.now + period
            rate = self.load() * self.draw.uniform(0.97, 1.03)
            self.arrived += rate * period
            batches = self.batches(begun)
            if batches or not stages:
                stages = self.stages(rate)
            obs = self.observation(rate, batches, stages)
            decides = math.floor(begun / 15) != math.floor(self.now / 15)
            yield self.decided(obs) if decides else Tick(obs)

    def load(self) -> float:
        return self.executors * EACH * (0.5 - 0.35 * math.cos(2 * math.pi * self.now / DAY))

    def batches(self, begun: float) -> tuple[Batch, ...]:
        made = []
        for number in range(math.floor(begun / self.every) + 1, math.floor(self.now / self.every) + 1):
            at = number * self.every
            end = float(round(self.arrived - self.load() * (self.now - at)))
            if end > self.done:
                done, self.done, self.batch = self.done, end, self.batch + 1
                took = self.draw.uniform(2.0, 4.0)
                made.append(Batch(self.batch, at - took, round(at, 3), done, end, end + 100, round(end - done)))
        return tuple(made)

    def stages(self, rate: float) -> tuple[OperatorSample, ...]:
        def busy() -> float:
            return self.draw.uniform(0.3, 0.5) * rate / EACH

        return (
            OperatorSample("stage 0", (), 12, rate, rate * self.draw.random(), busy(), busy() / 4),
            OperatorSample("stage 1", ("stage 0",), 12, rate * self.draw.random(), 0.0, busy(), busy() / 4),
        )

    def observation(self, rate: float, batches: tuple[Batch, ...], stages: tuple[OperatorSample, ...]) -> Observation:
        share = min(1.0, rate / (self.requested * EACH))
        executors = tuple(
            ExecutorSample(
                str(n),
                "10.0.0.17",
                cpu=share * self.draw.random(),
                busy=share * self.draw.random(),
                rate=rate / self.requested if batches else 0.0,
                uptime=self.now - START + self.draw.random(),
                tasks=self.draw.randrange(3),
            )
            for n in range(self.requested)
        )
        lost = self.draw.random() < 1e-4
        return Observation(
            self.now + 0.01 * self.draw.random(), self.requested, self.requested, rate, rate * self.draw.uniform(1, 2),
            self.arrived - self.done, self.draw.uniform(4, 9), self.every, self.draw.uniform(2, 4), 12, 9308, 1_666_352,
            per_executor=executors, operators=stages, batches=batches,
            events=(Event(self.now, "ExecutorLost", "executor 3 is gone, 3 left"),) if lost else (),
        )  # fmt: skip

    def decided(self, obs: Observation) -> Tick:
        wish = min(self.executors, math.ceil(self.load() / (0.7 * EACH)))
        cpu = self.draw.random()
        evidence = {"cpu": cpu, "target": 0.7, "ready": 3.0}
        first = Step("hpa-cpu", Decision(wish, f"CPU {cpu:.0%}, target 70%: {self.requested} -> {wish}", evidence))
        held = Step("stabilisation", Decision(wish, f"hold: {wish} were needed within the last 300 s", evidence))
        acted, self.requested = wish != self.requested, wish
        return Tick(obs, (first,) if acted else (first, held), acted)


def before(path: Path, query: Query) -> float:
    """Bytes of an hour as the schema before this one had it, a row of JSON for each tick."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for migration in MIGRATIONS[:2]:
            db.executescript(migration)
        db.execute("BEGIN")
        for tick in query.ticks(3600.0, 1.0):
            obs = tick.observation
            row = db.execute(
                "INSERT INTO ticks (run, time, observation) VALUES ('r', ?, ?)", (obs.time, json.dumps(asdict(obs)))
            )
            if tick.decision is not None:
                steps = [
                    {"by": step.by, "decision": {**asdict(step.decision.target), "reason": step.decision.reason,
                     "evidence": dict(step.decision.evidence)}, "error": step.error}
                    for step in tick.steps
                ]  # fmt: skip
                values = (obs.requested, tick.decision.executors, tick.acted, tick.decision.reason, json.dumps(steps))
                db.execute(
                    "INSERT INTO decisions VALUES (?, 'r', ?, ?, ?, ?, ?, ?, ?)",
                    (row.lastrowid, obs.time, *values, json.dumps(asdict(tick.decision.target))),
                )
        db.execute("COMMIT")
    return path.stat().st_size


def write(store: Store, run: str, query: Query, seconds: float, period: float) -> list[float]:
    """CPU-seconds of each append of a minute."""
    spent, minute = [], []
    for tick in query.ticks(seconds, period):
        minute.append(tick)
        if len(minute) * period >= 60:
            began = time.thread_time()
            store.append_many(run, minute)
            spent.append(time.thread_time() - began)
            minute = []
    store.append_many(run, minute)
    return spent


def sizes(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        used = db.execute("PRAGMA page_count").fetchone()[0] - db.execute("PRAGMA freelist_count").fetchone()[0]
        names = ("full", "minutes", "ten minutes")
        grains = db.execute(
            "SELECT grain, sum(length(data) + coalesce(length(folded), 0)), sum(ticks) FROM blocks GROUP BY grain"
        ).fetchall()
    listed = ", ".join(f"{names[grain]} {size / 1e6:.1f} MB in {ticks:,} ticks" for grain, size, ticks in grains)
    return f"{path.stat().st_size / 1e6:.1f} MB ({used * 4096 / 1e6:.1f} MB used: {listed})"


def report(store: Store, run: str, days: float) -> None:
    for points in (2_000, 500):
        began = time.process_time()
        ticks = [tick for _, tick in store.ticks(run, at_most=points)]
        spent = time.process_time() - began
        print(f"{days:g} days in at most {points:,} ticks: {len(ticks):,} ticks, {spent:.2f} CPU-seconds")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--executors", type=int, default=4)
    parser.add_argument("--batch", type=float, default=5.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hour = before(Path(folder) / "before.db", Query(given.executors, given.batch))
        print(
            f"before: {hour * 24 / 1e6:.0f} MB a day, {hour * 24 * given.days / 1e9:.1f} GB in {given.days} days",
            flush=True,
        )
        path, query = Path(folder) / "runs.db", Query(given.executors, given.batch)
        with Store.open(path, clock=lambda: query.now) as store:
            run = store.begin(RunSpec(job="orders"))
            for day in range(1, given.days):
                write(store, run, query, DAY, 60.0)
                if day == 30:
                    print(f"after 30 days, without the full ticks of the last: {sizes(path)}", flush=True)
                    report(store, run, day)
            spent = write(store, run, query, DAY + 3600, 1.0)
            print(f"after {given.days} days: {sizes(path)}")
            highest = 1e3 * max(spent)
            print(
                f"appending a minute: median {1e3 * statistics.median(spent):.1f} ms CPU, highest {highest:.1f} ms CPU"
            )
            report(store, run, given.days)


if __name__ == "__main__":
    main()
