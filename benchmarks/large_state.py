"""What it costs to move state of a gigabyte: all of it in one batch, or a few partitions per batch.

    python benchmarks/large_state.py [--gigabytes 1.2] [--partitions 12] [--quota 0.5] [--budgets 0 0.5]

A deduplication of random keys of 256 bytes is filled by large batches, then goes on at a low rate. It is scaled 1 -> 2
-> 1 executors: with the whole state moving at once, with budgets of seconds per batch, and at once again with
changelog checkpointing. The longest batch of a move is given beside the settled one before it.

Exit code 1 if a task ran again or the state did not become even.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.quota import quotas
from tidegate.cluster.session import Cluster, session
from tidegate.core import Decision
from tidegate.spark.actuator import Pace
from tidegate.spark.engine import SparkEngine, Watching

ROW = 256
FILL = 300_000
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
#: batches before and after each rescale
CALM = 8
#: seconds after which a step has failed
PATIENCE = 900.0


@dataclass(frozen=True)
class Row:
    """A batch: seconds, and what it loaded from the checkpoint."""

    took: float
    loaded: int
    load: float
    #: bytes of state, and the stores they are in
    size: float
    stores: int


@dataclass
class Move:
    changelog: bool
    #: seconds that a batch may take longer, None without a limit
    budget: float | None
    executors: str
    #: median batches before and after, the longest in between, and how many loaded something
    before: float
    longest: float
    after: float
    loading: int
    #: from the request until state was even and executors were as requested
    seconds: float
    megabytes: float
    #: bytes loaded per second of loading, of one store
    rate: float | None
    events: list[str] = field(default_factory=list)


def keys(values: DataFrame) -> DataFrame:
    """A key of 256 random bytes for each value."""
    parts = [F.unhex(F.sha2(F.concat(F.col("value").cast("string"), F.lit(f"-{k}")), 512)) for k in range(ROW // 64)]
    return values.select(F.concat(*parts).alias("key")).dropDuplicates(["key"])


def start(spark: SparkSession, folder: Path, rows: int, trigger: float) -> StreamingQuery:
    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=rows, numPartitions=4).load()
    writer = keys(source).writeStream.format("noop").option("checkpointLocation", str(folder)).queryName("large")
    return writer.trigger(processingTime=f"{int(trigger * 1000)} milliseconds").start()


def row(report: Mapping[str, Any]) -> Row:
    (operator,) = report["stateOperators"]
    metrics = operator["customMetrics"]
    return Row(
        report["durationMs"]["triggerExecution"] / 1e3,
        metrics["rocksdbNumLoadedFromDfs"],
        metrics["rocksdbLoadLatencyMs"] / 1e3,
        metrics["rocksdbSstFileSize"],
        operator["numStateStoreInstances"],
    )


def fill(spark: SparkSession, folder: Path, size: float) -> None:
    query = start(spark, folder, FILL, 0)
    begun = time.monotonic()
    try:
        while time.monotonic() < begun + PATIENCE:
            time.sleep(1)
            report = query.lastProgress
            done = row(report).size if report and report["stateOperators"] else 0
            if done >= size:
                return
            print(f"\r  {done / 1e9:.2f} of {size / 1e9:.2f} GB", end="", flush=True)
        raise TimeoutError(f"the state has not reached {size / 1e9:g} GB in {PATIENCE:g} s")
    finally:
        print()
        query.stop()


class Watcher:
    def __init__(self, spark: SparkSession, query: StreamingQuery, budget: float | None) -> None:
        self.rows: list[Row] = []
        self.events: list[str] = []
        self.reruns = 0
        watching = Watching(on_progress=self._take, move_budget=1e9 if budget is None else budget)
        self.engine = SparkEngine(spark, query, watching)
        assert self.engine.actuator
        self.engine.actuator.pace = Pace(patience=PATIENCE, drain=PATIENCE)
        self.executors, self.uneven = 0, ""

    def _take(self, report: Mapping[str, Any]) -> None:
        self.rows.append(row(report))
        last = self.rows[-1]
        print(f"  {last.took:.1f} s, loaded {last.loaded} in {last.load:.1f} s", flush=True)

    def until(self, over: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not over():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.executors} executors, {self.uneven or 'even'} after {PATIENCE:g} s")
            obs = self.engine.observe()
            self.executors, self.uneven, self.reruns = obs.executors, obs.uneven, obs.rerun_tasks
            self.events += [f"{event.kind}: {event.message}" for event in obs.events]
            time.sleep(0.05)

    def batches(self, count: int) -> list[Row]:
        begin = len(self.rows)
        self.until(lambda: len(self.rows) >= begin + count)
        return self.rows[begin:]

    def rescale(self, executors: int) -> float:
        """Seconds until it has taken effect."""
        asked = time.monotonic()
        self.events = []
        self.engine.scale(Decision(executors, "benchmark"))
        self.until(lambda: self.executors == executors and not self.uneven)
        return time.monotonic() - asked


def move(watcher: Watcher, executors: int, condition: tuple[bool, float | None]) -> Move:
    """Rescale, and what that took. The executors are those of one query, one after another."""
    before = statistics.median(row.took for row in watcher.rows[-CALM:])
    begin, was = len(watcher.rows), watcher.executors
    took = watcher.rescale(executors)
    watcher.batches(1)  # what was entered last is loaded by this batch
    moving = watcher.rows[begin:]
    after = watcher.batches(CALM)
    loads = [row for row in moving if row.loaded]
    seconds = sum(row.load for row in loads)
    size = sum(row.size / row.stores * row.loaded for row in loads)
    changelog, budget = condition
    return Move(
        changelog, budget, f"{was} → {executors}", before, max(row.took for row in moving),
        statistics.median(row.took for row in after), len(loads), took, size / 1e6,
        size / seconds if seconds else None, watcher.events,
    )  # fmt: skip


def show(moves: list[Move]) -> None:
    print("| checkpoints | budget | executors | settled before | longest of the move | settled after"
          " | batches that loaded | moved, MB | until even | load rate of a store |")  # fmt: skip
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for m in moves:
        how = "changelog" if m.changelog else "snapshots"
        budget = "all at once" if m.budget is None else f"{m.budget:g} s per batch"
        rate = "none" if m.rate is None else f"{m.rate / 1e6:.0f} MB/s"
        cells = f"{m.before:.1f} s | {m.longest:.1f} s | {m.after:.1f} s | {m.loading} | {m.megabytes:,.0f}"
        print(f"| {how} | {budget} | {m.executors} | {cells} | {m.seconds:.0f} s | {rate} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.2)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--rows", type=int, default=4_000, help="records of a batch once the state is filled")
    parser.add_argument("--quota", type=float, default=0.5)
    parser.add_argument("--trigger", type=float, default=4.0)
    parser.add_argument("--budgets", nargs="*", type=float, default=[0, 0.5], help="seconds per batch; 0: all at once")
    parser.add_argument("--changelog", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    conditions: list[tuple[bool, float | None]] = [(False, budget or None) for budget in given.budgets]
    conditions += [(True, None)] if given.changelog else []
    moves: list[Move] = []
    reruns = 0
    with tempfile.TemporaryDirectory(prefix="tidegate-large-") as work:
        folder = Path(work)
        cluster = Cluster(initial=1, maximum=2, memory=768, shuffle_partitions=given.partitions)
        with session(cluster, folder) as spark:
            print("filling the state")
            fill(spark, folder / "checkpoint", given.gigabytes * 1e9)
            with quotas(str(spark.sparkContext.applicationId), given.quota):
                for changelog, budget in conditions:
                    spark.conf.set(CHANGELOG, str(changelog).lower())
                    query = start(spark, folder / "checkpoint", given.rows, given.trigger)
                    try:
                        watcher = Watcher(spark, query, budget)
                        with closing(watcher.engine):
                            print(f"changelog {changelog}, budget {budget}")
                            watcher.batches(CALM + 1)
                            moves += [move(watcher, executors, (changelog, budget)) for executors in (2, 1)]
                            reruns += watcher.reruns
                    finally:
                        query.stop()
                    show(moves)
    for m in moves:
        print(m.executors, *m.events, sep="\n    ")
    if given.json:
        given.json.write_text(json.dumps([asdict(m) for m in moves], indent=1))
    return 1 if reruns else 0


if __name__ == "__main__":
    sys.exit(main())
