import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    ExecutorShape,
    InvalidInput,
    Limits,
    Observation,
    OperatorSample,
    Step,
    Target,
    Tick,
)
from tidegate.runs import RunResult, RunSpec
from tidegate.score.figures import Backlog, Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.store import MIGRATIONS, Run, Store, StoreSink
from tidegate.store.schema import APPLICATION_ID

FULL = Tick(
    Observation(
        time=1000.5,
        executors=2,
        requested=3,
        arrival_rate=30_000.25,
        processing_rate=20_000.5,
        backlog=159_307.0,
        latency=9.125,
        trigger=3.0,
        batch_duration=1.814,
        ceiling=12,
        state_rows=9308,
        state_bytes=1_666_352,
        batch_limit=60_000,
        shape=ExecutorShape(cores=2, memory=1024),
        rerun_tasks=4,
        per_executor=(
            ExecutorSample("0", host="127.0.0.1", cores=2, cpu=0.75, busy=0.5, rate=1000.0, uptime=60.5),
            ExecutorSample("1"),
        ),
        operators=(
            OperatorSample("stage 0", (), 4, 20_000.0, 19_000.0, 1.5, 0.25, 0.125, 0.0),
            OperatorSample("stage 1", ("stage 0",), 4),
        ),
        batches=(
            Batch(7, 997.0, 998.8, 409_901, 469_901, arrived=629_208, rows=60_000),
            Batch(8, 1, 2, 0, 0, times=(0.5, 0.75)),
        ),
        events=(Event(999.0, "ExecutorLost", "executor 1 is gone, 1 left"),),
    ),
    (
        Step("hpa-cpu", Decision(Target(9, {"stage 0": 4, "stage 1": 5}), "CPU 90%", {"cpu": 0.9, "target": 0.7})),
        Step("own", Decision(Target(9, batch_limit=50_000, shape=ExecutorShape(4, 2048)), "larger"), "ValueError: odd"),
        Step("limits", Decision(4, "maximum 4: CPU 90%", {"cpu": 0.9})),
    ),
    acted=True,
)


FIGURES = Figures(
    processed=100,
    lost=1,
    latency=Latency(mean=2.5, p50=2.0, p95=4.25, p99=5.0, max=6.0),
    slo=Slo(target=10.0, violated=0.0),
    workers=Workers(mean=2.0, max=3, seconds=120.0, seen_mean=1.5, seen_seconds=90.0),
    rescales=Rescales(count=1, up=1),
    backlog=None,
    throughput=Throughput(offered=None, processed=1.5, ratio=None),
)


class Stopped:
    """A clock that stands still."""

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        return self.now


def tick(at: float) -> Tick:
    return Tick(Observation(at, 1, 1))


def times(store: Store, run: str, after: int = 0) -> list[tuple[int, float]]:
    return [(number, tick.observation.time) for number, tick in store.ticks(run, after)]


def test_every_field_of_a_tick_comes_back_as_it_went_in(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        run = store.begin(RunSpec(job="q11"))
        for one in (FULL, tick(1001)):
            store.append(run, one)
    with Store.open(path) as store:
        assert list(store.ticks(run)) == [(1, FULL), (2, tick(1001))]


def test_a_second_connection_follows_a_run_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as writer, Store.open(path) as reader:
        run, other = writer.begin(RunSpec()), writer.begin(RunSpec())
        writer.append(run, tick(1))
        writer.append(other, tick(1.5))
        writer.append(run, tick(2))
        assert times(reader, run) == [(1, 1), (3, 2)]  # number 2 is the other run's
        assert times(reader, run, after=3) == []
        writer.append(run, FULL)
        writer.append(run, tick(4))
        assert times(reader, run, after=3) == [(4, 1000.5), (5, 4)]
        assert reader.run(run).status == "running"
        writer.end(run, "done")
        assert reader.run(run).status == "done"


def test_runs_begun_within_one_second_have_different_ids() -> None:
    with Store.open(":memory:", clock=lambda: 1_700_000_000.25) as store:
        first, second, third = (store.begin(RunSpec(seed=n)) for n in range(3))
        assert (second, third) == (f"{first}-1", f"{first}-2")
        assert [run.spec.seed for run in store.runs()] == [0, 1, 2]
        assert store.run("last").id == third
        assert store.run(first).created == 1_700_000_000.25


def test_the_last_of_twelve_runs_of_one_second_is_the_last() -> None:
    with Store.open(":memory:", clock=lambda: 1_700_000_000.0) as store:
        ids = [store.begin(RunSpec()) for _ in range(12)]
        assert store.run("last").id == ids[-1]


def test_a_run_runs_until_it_is_ended_with_a_status_and_a_result() -> None:
    spec = RunSpec(job="q1", minimum=2, maximum=4, options={"target": 0.8}, start=5.0)
    found = RunResult("r", "done", job="q1", duration=60.0, figures=FIGURES, verified=True)
    with Store.open(":memory:") as store:
        run, failed, stopped = (store.begin(spec) for _ in range(3))
        assert (store.run(run).status, store.run(run).result) == ("running", None)
        store.end(run, "done", found)
        store.end(failed, "failed")
        store.end(stopped, "interrupted", RunResult("r", "interrupted"))
        assert store.run(run).spec == spec
        assert store.run(run).result == found
        assert [(r.status, r.result is None) for r in store.runs()] == [
            ("done", False),
            ("failed", True),
            ("interrupted", False),
        ]


def test_an_unknown_run_is_refused_with_the_last_ones() -> None:
    clock = Stopped(1_700_000_000)
    with Store.open(":memory:", clock=clock.time) as store:
        with pytest.raises(InvalidInput) as refused:
            store.run("last")
        assert str(refused.value) == "no run 'last' in the store (the last ones: none yet)"
        ids = []
        for clock.now in range(1_700_000_000, 1_700_000_007):
            ids.append(store.begin(RunSpec()))
        with pytest.raises(InvalidInput) as refused:
            store.run("yesterday's")
        last = ", ".join(ids[2:])  # five of seven
        assert str(refused.value) == f'no run "yesterday\'s" in the store (the last ones: {last})'


def test_no_ticks_of_an_unknown_run() -> None:
    with Store.open(":memory:") as store:
        assert list(store.ticks("nobody's")) == []


def test_a_path_that_cannot_be_a_store_is_named(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are notes and no database at all, however long they may be" * 20)
    for path in (tmp_path, text, text / "below.db"):
        with pytest.raises(InvalidInput) as refused, Store.open(path):
            pass
        assert str(refused.value).startswith(f"cannot use {path} as a store of runs: ")


def test_a_tick_that_cannot_be_stored_does_not_spoil_the_next() -> None:
    bad = Tick(Observation(1, 1, 1), (Step("own", Decision(1, "odd", {"seen": object()})),))  # type: ignore[dict-item]
    with Store.open(":memory:") as store:
        run = store.begin(RunSpec())
        with pytest.raises(TypeError):
            store.append(run, bad)
        store.append(run, tick(2))
        assert [at for _, at in times(store, run)] == [2]


def test_a_write_that_fails_midway_leaves_no_open_transaction(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store, Store.open(tmp_path / "runs.db") as other:
        run = store.begin(RunSpec())
        with pytest.raises(sqlite3.IntegrityError):
            store.append(None, FULL)  # type: ignore[arg-type]
        # another process is not locked out either
        other.append(run, tick(1))
        store.append(run, tick(2))
        assert [at for _, at in times(store, run)] == [1, 2]


def test_a_sink_keeps_every_tick_of_its_run() -> None:
    with Store.open(":memory:") as store:
        run, other = store.begin(RunSpec()), store.begin(RunSpec())
        sink = StoreSink(store, run)
        for one in (FULL, tick(1001)):
            sink.take(one)
        assert sink.name == "store"
        assert [kept for _, kept in store.ticks(run)] == [FULL, tick(1001)]
        assert list(store.ticks(other)) == []


#: what the first version wrote of an attached run
OLD_SPEC = {
    "job": "orders",
    "policy": "hpa-cpu",
    "engine": "spark",
    "mode": "active",
    "limits": [1, 4],
    "slo": 10.0,
    "start": 5.0,
}
OLD_RESULT = {
    "run": "20240101-120000",
    "status": "done",
    "job": "orders",
    "policy": "hpa-cpu",
    "engine": "spark",
    "duration": 60.0,
    "processed": 100,
    "lost": 0,
    "latency": {"mean": 2.5, "p50": 2.0, "p95": 4.25, "p99": 5.0, "max": 6.0},
    "slo": {"target": 10.0, "violated": 0.25},
    "workers": {"mean": 1.5, "max": 2, "seconds": 90.0},
    "rescales": {"count": 1, "up": 1, "down": 0},
    "backlog": {"max": 40.0, "final": 0.0},
    "rerun_tasks": 3,
    "verified": None,
}
OLD_STEPS = [
    {
        "by": "hpa-cpu",
        "decision": {"executors": 5, "reason": "CPU 90%", "evidence": {"cpu": 0.9}, "per_operator": None},
    },
    {
        "by": "limits",
        "decision": {"executors": 4, "reason": "maximum 4: CPU 90%", "evidence": {}, "per_operator": {"stage 0": 4}},
    },
]


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def written_by_the_first_version(path: Path) -> None:
    """A run that is done, one that had nothing to tell, and a tick with its decision."""
    seen: dict[str, Any] = {"time": 6.0, "executors": 1, "requested": 1, "backlog": 10.0}
    seen |= {"per_executor": [], "operators": [], "events": []}
    seen |= {"batches": [{"id": 0, "planned": 5.0, "finished": 5.5, "begin": 0, "end": 10, "arrived": 20, "rows": 10}]}
    with plain(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(MIGRATIONS[0])
        rows = [
            ("20240101-120000", 5.0, "done", json.dumps(OLD_SPEC), json.dumps(OLD_RESULT)),
            ("20240101-120100", 65.0, "interrupted", json.dumps(OLD_SPEC), "{}"),
            ("20240101-120200", 125.0, "failed", json.dumps({"job": "q1", "minimum": 2, "maximum": 3}), None),
        ]
        db.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("INSERT INTO ticks VALUES (7, '20240101-120000', 6.0, ?)", (json.dumps(seen),))
        chosen = (1, 4, 1, "maximum 4: CPU 90%", json.dumps(OLD_STEPS))
        db.execute("INSERT INTO decisions VALUES (7, '20240101-120000', 6.0, ?, ?, ?, ?, ?)", chosen)
        db.execute("INSERT INTO memories VALUES ('orders', 'hpa-cpu', 60.0, '{\"policy\": {}}')")
        assert version_of(db) == 0


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_store_of_the_first_version_is_brought_to_this_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    written_by_the_first_version(path)
    with Store.open(path) as store:
        first, empty, failed = store.runs()
        ((number, found),) = store.ticks("20240101-120000")
        assert store.memory("orders", "hpa-cpu") == {"policy": {}}
        # and can be written to
        store.append("20240101-120000", FULL)
        assert [kept for _, kept in store.ticks("20240101-120000")] == [found, FULL]
    spec = RunSpec(job="orders", policy="hpa-cpu", minimum=1, maximum=4, slo=10.0, start=5.0)
    figures = Figures(
        processed=100,
        lost=0,
        latency=Latency(mean=2.5, p50=2.0, p95=4.25, p99=5.0, max=6.0),
        slo=Slo(target=10.0, violated=0.25),
        # what was seen and what was paid were not told apart
        workers=Workers(mean=1.5, max=2, seconds=90.0, seen_mean=None, seen_seconds=None),
        rescales=Rescales(count=1, up=1, down=0),
        backlog=Backlog(max=40.0, final=0.0),
        throughput=Throughput(offered=None, processed=None, ratio=None),
        rerun_tasks=3,
    )
    told = {"job": "orders", "policy": "hpa-cpu", "engine": "spark", "duration": 60.0}
    result = RunResult("20240101-120000", "done", **told, figures=figures)  # type: ignore[arg-type]
    assert first == Run("20240101-120000", 5.0, "done", spec, result)
    assert (empty.status, empty.spec, empty.result) == ("interrupted", spec, None)
    assert (failed.spec.limits, failed.result) == (Limits(2, 3), None)
    batch = Batch(0, 5.0, 5.5, 0, 10, arrived=20, rows=10)
    steps = (
        Step("hpa-cpu", Decision(5, "CPU 90%", {"cpu": 0.9})),
        Step("limits", Decision(Target(4, {"stage 0": 4}), "maximum 4: CPU 90%")),
    )
    assert (number, found) == (7, Tick(Observation(6.0, 1, 1, backlog=10.0, batches=(batch,)), steps, acted=True))


def test_a_store_is_brought_to_this_version_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    written_by_the_first_version(path)
    for _ in range(2):
        with Store.open(path) as store:
            assert len(store.runs()) == 3
    with plain(path) as db:
        assert version_of(db) == len(MIGRATIONS)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    written_by_the_first_version(path)
    odd = (*MIGRATIONS, "CREATE TABLE other (id); CREATE TABLE runs (id);")
    monkeypatch.setattr("tidegate.store.schema.MIGRATIONS", odd)
    with pytest.raises(InvalidInput, match=r"cannot use .*runs.db as a store of runs: table runs already exists"):
        open_and_close(path)
    with plain(path) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert (version_of(db), "other" in tables) == (len(MIGRATIONS), False)


def open_and_close(path: Path) -> None:
    with Store.open(path):
        pass


def test_a_store_of_a_later_version_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    later = len(MIGRATIONS) + 1
    with plain(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE runs (something TEXT)")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {later}")
    before = path.read_bytes()
    with pytest.raises(InvalidInput) as refused:
        open_and_close(path)
    assert str(refused.value) == (
        f"{path} was written by a later version of Tidegate: its schema is {later}, this one reads up to"
        f" {len(MIGRATIONS)}"
    )
    assert path.read_bytes() == before
