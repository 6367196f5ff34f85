import time
from pathlib import Path

import pytest

from tidegate.core import Batch, Decision, Event, ExecutorSample, InvalidInput, Observation, OperatorSample, Step, Tick
from tidegate.store import Store

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
        rerun_tasks=4,
        per_executor=(
            ExecutorSample("0", host="127.0.0.1", cores=2, cpu=0.75, busy=0.5, rate=1000.0, uptime=60.5),
            ExecutorSample("1"),
        ),
        operators=(
            OperatorSample("stage 0", (), 4, 20_000.0, 19_000.0, 1.5, 0.25, 0.125, 0.0),
            OperatorSample("stage 1", ("stage 0",), 4),
        ),
        batches=(Batch(7, 997.0, 998.8, 409_901, 469_901, arrived=629_208, rows=60_000), Batch(8, 1, 2, 0, 0)),
        events=(Event(999.0, "ExecutorLost", "executor 1 is gone, 1 left"),),
    ),
    (
        Step("hpa-cpu", Decision(9, "CPU 90%", {"cpu": 0.9, "target": 0.7}, {"stage 0": 4, "stage 1": 5})),
        Step("limits", Decision(4, "maximum 4: CPU 90%", {"cpu": 0.9})),
    ),
    acted=True,
)


class Stopped:
    """A clock that stands still."""

    localtime, strftime = staticmethod(time.localtime), staticmethod(time.strftime)

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
        run = store.begin({"job": "q11"})
        for one in (FULL, tick(1001)):
            store.append(run, one)
    with Store.open(path) as store:
        assert list(store.ticks(run)) == [(1, FULL), (2, tick(1001))]


def test_a_second_connection_follows_a_run_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as writer, Store.open(path) as reader:
        run, other = writer.begin({}), writer.begin({})
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


def test_runs_begun_within_one_second_have_different_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.store.time", Stopped(1_700_000_000.25))
    with Store.open(":memory:") as store:
        first, second, third = (store.begin({"n": n}) for n in range(3))
        assert (second, third) == (f"{first}-1", f"{first}-2")
        assert [run.spec["n"] for run in store.runs()] == [0, 1, 2]
        assert store.run("last").id == third
        assert store.run(first).created == 1_700_000_000.25


def test_the_last_of_twelve_runs_of_one_second_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.store.time", Stopped(1_700_000_000))
    with Store.open(":memory:") as store:
        ids = [store.begin({}) for _ in range(12)]
        assert store.run("last").id == ids[-1]


def test_a_run_runs_until_it_is_ended_with_a_status_and_a_result() -> None:
    with Store.open(":memory:") as store:
        run, failed, stopped = (store.begin({"job": "q1", "limits": [1, 4]}) for _ in range(3))
        assert (store.run(run).status, store.run(run).result) == ("running", None)
        store.end(run, "done", {"latency": {"p95": 4.25}, "verified": None})
        store.end(failed, "failed")
        store.end(stopped, "interrupted", {})
        assert store.run(run).spec == {"job": "q1", "limits": [1, 4]}
        assert store.run(run).result == {"latency": {"p95": 4.25}, "verified": None}
        assert [(r.status, r.result is None) for r in store.runs()] == [
            ("done", False),
            ("failed", True),
            ("interrupted", False),
        ]


def test_an_unknown_run_is_refused_with_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Stopped(1_700_000_000)
    monkeypatch.setattr("tidegate.store.time", clock)
    with Store.open(":memory:") as store:
        with pytest.raises(InvalidInput) as refused:
            store.run("last")
        assert str(refused.value) == "no run 'last' in the store (the last ones: none yet)"
        ids = []
        for clock.now in range(1_700_000_000, 1_700_000_007):
            ids.append(store.begin({}))
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


def test_folders_above_the_store_are_made(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "runs.db"
    with Store.open(path) as store:
        store.begin({})
    assert path.exists()


def test_a_tick_that_cannot_be_stored_does_not_spoil_the_next() -> None:
    bad = Tick(Observation(1, 1, 1), (Step("own", Decision(1, "odd", {"seen": object()})),))  # type: ignore[dict-item]
    with Store.open(":memory:") as store:
        run = store.begin({})
        with pytest.raises(TypeError):
            store.append(run, bad)
        store.append(run, tick(2))
        assert [at for _, at in times(store, run)] == [2]
