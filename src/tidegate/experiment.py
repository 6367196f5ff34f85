"""One run: a job under a workload with a policy, on real Spark, stored as it goes and scored at its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidegate.control import Autoscaler, control
from tidegate.core import InvalidInput, Limits, Tick, UnknownName
from tidegate.jobs import Job, events, job
from tidegate.presets import autoscaler
from tidegate.score import score
from tidegate.spark.calls import finish
from tidegate.spark.clock import WallClock
from tidegate.spark.engine import SparkEngine
from tidegate.spark.quota import Quotas, quotas
from tidegate.spark.revisions import keep, latest
from tidegate.spark.session import Cluster, session, workspace
from tidegate.spark.source import register
from tidegate.spark.streams import records, stream
from tidegate.spark.verify import batch, streamed, watched
from tidegate.store import Store
from tidegate.workloads import Shape, named

ENGINES = ("spark",)
MODES = ("active", "monitor")
#: where the revisions of a query in update mode are kept for the check
RESULT = "result"
#: told what the run is doing now
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that a run depends on; stored with it."""

    job: str = "q1"
    workload: str = "tide"
    policy: str = "hpa-cpu"
    options: Mapping[str, float] = field(default_factory=dict)
    engine: str = "spark"
    mode: str = "active"
    duration: float = 180.0
    #: highest offered rate
    peak: float = 100_000.0
    minimum: int = 1
    maximum: int = 4
    initial: int | None = None
    #: records may take this long
    slo: float = 10.0
    seed: int = 0
    #: how unevenly keys are spread
    skew: str = "default"
    trigger: float = 4.0
    #: most records of one batch; 0 for what arrives in four triggers at the peak, so that a backlog comes in pieces
    limit: int = 0
    partitions: int = 0
    #: how long to go on after the workload's end while records wait
    drain: float = 60.0
    verify: bool = True
    quota: float | None = None
    master: str | None = None
    cores: int = 1
    memory: int = 512
    ui_port: int | None = None

    def __post_init__(self) -> None:
        for what, value, known in (("engine", self.engine, ENGINES), ("mode", self.mode, MODES)):
            if value not in known:
                raise UnknownName(what, value, known)
        for name in ("duration", "peak", "slo", "trigger"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"run: need {name} > 0, got {getattr(self, name):g}")
        if self.quota is not None and not 0.02 <= self.quota <= self.cores:
            raise InvalidInput(f"run: need 0.02 <= quota <= {self.cores} cores, got {self.quota:g}")
        if not self.minimum <= self.first <= self.maximum:
            raise InvalidInput(
                f"run: need {self.minimum} <= executors at the start <= {self.maximum}, got {self.first}"
            )
        _ = self.load(), self.autoscaler(), events(job(self.job).events, seed=0, rate=self.peak, skew=self.skew)

    @property
    def limits(self) -> Limits:
        return Limits(self.minimum, self.maximum)

    @property
    def first(self) -> int:
        _ = self.limits
        return self.initial if self.initial is not None else self.minimum

    @property
    def width(self) -> int:
        """Partitions of source and shuffle: by default three tasks for every core there can be, so that any number
        shares them well.
        """
        return self.partitions or 3 * self.maximum * self.cores

    def load(self) -> Shape:
        return named(self.workload, self.duration, self.peak)

    def autoscaler(self) -> Autoscaler:
        return autoscaler(self.policy, self.limits, self.options)

    def source_options(self, start: float) -> dict[str, str]:
        return {
            "events": job(self.job).events,
            "workload": json.dumps(self.load().spec()),
            "seed": str(self.seed),
            "skew": self.skew,
            "partitions": str(self.width),
            "eventRate": str(self.peak),
            "maxRowsPerTrigger": str(self.limit or int(4 * self.trigger * self.peak)),
            "start": repr(start),
        }

    def spec(self, start: float) -> dict[str, Any]:
        """What the store keeps: enough to show and to repeat the run."""
        shape = self.load().spec()
        return {**asdict(self), "workload_spec": shape, "limits": [self.minimum, self.maximum], "start": start}


@dataclass(slots=True)
class Outcome:
    run: str
    status: str
    result: dict[str, Any]


def run(experiment: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> Outcome:
    """Start Spark, stream, scale, verify, score. Whatever ends it, what was seen is in the store, and Spark is gone."""
    live = _Live(experiment, store, say, watch)
    with workspace() as folder:
        try:
            live.go(folder)
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
        except BaseException:
            live.finish("failed")
            raise
    return live.finish(status)


class _Live:
    """A run while it lasts."""

    def __init__(self, experiment: Experiment, store: Store, say: Say, watch: Callable[[Tick], None]) -> None:
        self._experiment, self._store = experiment, store
        self._say, self._watch = say, watch
        self._verified: bool | None = None
        self._start = time.time()
        self._run: str | None = None

    def go(self, folder: Path) -> None:
        e = self._experiment
        cluster = Cluster(e.first, e.maximum, e.master, e.cores, e.memory, e.width, e.ui_port)
        place = e.master or "an embedded cluster"
        self._say(f"starting Spark on {place} with {e.first} executor{'s' if e.first > 1 else ''}")
        with session(cluster, folder) as spark, ExitStack() as end:
            end.callback(self._say, "stopping Spark")
            register(spark)
            self._say("warming up")
            self._warm_up(spark, folder)
            with quotas(str(spark.sparkContext.applicationId), e.quota) as kept:
                engine = self._stream(spark, kept, folder)
            if e.verify:
                self._verify(spark, engine, folder)

    def _warm_up(self, spark: SparkSession, folder: Path) -> None:
        """The same query on a few records that are all there at once: compiled code and Python workers, but no
        history.
        """
        brief = replace(self._experiment, workload="constant", duration=1.0, peak=20_000.0 * self._experiment.width)
        with _query(spark, brief, time.time() - 1, folder / "warm-up") as query:
            query.processAllAvailable()

    def _stream(self, spark: SparkSession, kept: Quotas | None, folder: Path) -> SparkEngine:
        e = self._experiment
        self._start = time.time()
        self._run = self._store.begin(e.spec(self._start))
        self._say(f"run {self._run}: {e.job} under {e.workload}, {e.policy}, {e.duration:g} s")
        with (
            _query(spark, e, self._start, folder) as query,
            closing(SparkEngine(spark, query, quotas=kept, base=0, requested=e.first)) as engine,
        ):
            self._loop(engine)
        return engine

    def _loop(self, engine: SparkEngine) -> None:
        e = self._experiment
        offered = e.load().total(e.duration)
        for tick in control(engine, e.autoscaler(), WallClock(), act=e.mode == "active"):
            self._store.append(str(self._run), tick)
            self._watch(tick)
            passed = tick.observation.time - self._start
            last = engine.log.batch
            drained = last is not None and last.end >= offered
            if passed >= e.duration and (drained or passed >= e.duration + e.drain):
                return

    def _verify(self, spark: SparkSession, engine: SparkEngine, folder: Path) -> None:
        e, kind, last = self._experiment, job(self._experiment.job), engine.log.batch
        if last is None:
            return
        end = round(last.end)
        self._say(f"verifying: one batch query over the same {end:,} records")
        result = kind.build(records(spark, {**e.source_options(0.0), "begin": "0", "end": str(end)}))
        expected = batch(result, kind.closed_by, engine.log.watermark)
        if kind.mode == "update":
            found = batch(latest(spark, folder / RESULT, kind.key))
        else:
            found = streamed(engine.observed.values())
        self._verified = expected == found and engine.log.rows_dropped == 0

    def finish(self, status: str) -> Outcome:
        if self._run is None:
            return Outcome("", status, {})
        result = self._result(status)
        self._store.end(self._run, status, result)
        return Outcome(self._run, status, result)

    def _result(self, status: str) -> dict[str, Any]:
        e, load = self._experiment, self._experiment.load()
        ticks = [tick for _, tick in self._store.ticks(str(self._run))]
        figures = asdict(score(ticks, slo=e.slo, start=self._start, arrived=load.total))
        passed = ticks[-1].observation.time - self._start if ticks else 0.0
        named_by = {key: getattr(e, key) for key in ("job", "workload", "policy", "engine", "mode")}
        lead = {"run": self._run, "status": status, **named_by, "duration": min(passed, e.duration)}
        return {**lead, "offered": load.total(passed), **figures, "verified": self._verified}


@contextmanager
def _query(spark: SparkSession, e: Experiment, start: float, folder: Path) -> Iterator[StreamingQuery]:
    writer = _writer(job(e.job), stream(spark, e.source_options(start)), e.verify, folder)
    named_writer = writer.queryName(e.job).option("checkpointLocation", str(folder / "checkpoint"))
    query = named_writer.trigger(processingTime=f"{int(e.trigger * 1000)} milliseconds").start()
    try:
        yield query
    finally:
        finish("stopping the query", query.stop)


def _writer(kind: Job, records: DataFrame, verify: bool, folder: Path) -> DataStreamWriter:
    """The job's result into nothing; for a check later its fingerprint, or its revisions, are kept."""
    result = kind.build(records)
    if verify and kind.mode == "update":
        return result.writeStream.outputMode(kind.mode).foreachBatch(keep(folder / RESULT))
    return (watched(result) if verify else result).writeStream.format("noop").outputMode(kind.mode)
