"""Runs whose process is gone."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tidegate.core import Observation, Tick
from tidegate.runs import RunResult, RunSpec
from tidegate.store import Owner, Store
from tidegate.store.database import SILENT

#: begins a run in a store, says its id, and waits to be killed
WRITER = """
import sys, time
from tidegate.core import Observation, Tick
from tidegate.runs import RunResult, RunSpec
from tidegate.store import Store
with Store.open(sys.argv[1]) as store:
    run = store.begin(RunSpec(job="orders"))
    store.append(run, Tick(Observation(1.0, 2, 2)))
    store.update(run, RunResult(run, "running", job="orders", duration=1.0))
    print(run, flush=True)
    time.sleep(600)
"""


@dataclass(slots=True)
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def owned(store: Store, run: str, owner: Owner | None) -> None:
    text = None if owner is None else owner.text()
    store._db.execute("UPDATE runs SET owner = ? WHERE id = ?", (text, run))


def statuses(store: Store) -> list[str]:
    return [run.status for run in store.runs()]


def test_a_killed_writer_leaves_a_run_that_is_closed_with_its_result_so_far(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        with Store.open(path) as store:
            assert store.close_abandoned() == []
            assert store.run(run).status == "running"
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert store.close_abandoned() == [run]
            found = store.run(run)
            assert (found.status, found.ended is not None) == ("abandoned", True)
            assert found.result == RunResult(run, "running", job="orders", duration=1.0)
            assert len(list(store.ticks(run))) == 1
            assert store.close_abandoned() == []
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_the_next_run_closes_it_too() -> None:
    with Store.open(":memory:") as store:
        first = store.begin(RunSpec(job="orders"))
        # a process of this number started at another time
        owned(store, first, replace(Owner.here(), started=Owner.here().started + 1))
        store.begin(RunSpec(job="payments"))
        assert statuses(store) == ["abandoned", "running"]


def test_a_run_of_this_process_is_not_abandoned() -> None:
    with Store.open(":memory:") as store:
        store.begin(RunSpec(job="orders"))
        store.begin(RunSpec(job="orders"))
        assert statuses(store) == ["running", "running"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(Owner.here(), host="other"),
        replace(Owner.here(), boot="before"),
        replace(Owner.here(), namespace="x"),
        None,
    ],
)
def test_a_run_of_another_machine_is_abandoned_when_it_is_silent_and_its_query_runs_again(
    elsewhere: Owner | None,
) -> None:
    clock = Clock()
    with Store.open(":memory:", clock=clock) as store:
        far = store.begin(RunSpec(job="orders"))
        owned(store, far, elsewhere)
        clock.now += SILENT + 1
        # nobody has taken its place
        store.begin(RunSpec(job="payments"))
        assert store.run(far).status == "running"
        store.note(far, "scaling")
        here = store.begin(RunSpec(job="orders"))
        # it has just been heard of
        assert store.run(far).status == "running"
        clock.now += SILENT + 1
        store.append(here, Tick(Observation(clock.now, 1, 1)))
        assert store.run(far).status == "abandoned"
        assert store.run(here).status == "running"


def test_a_run_that_shows_itself_again_runs_again() -> None:
    clock = Clock()
    with Store.open(":memory:", clock=clock) as store:
        far = store.begin(RunSpec(job="orders"))
        owned(store, far, replace(Owner.here(), host="other"))
        clock.now += SILENT + 1
        store.begin(RunSpec(job="orders"))
        assert (store.run(far).status, store.run(far).ended) == ("abandoned", clock.now - SILENT - 1)
        store.append(far, Tick(Observation(clock.now, 1, 1)))
        assert (store.run(far).status, store.run(far).ended) == ("running", None)


def test_what_is_no_owner_is_none() -> None:
    assert Owner.parse(Owner.here().text()) == Owner.here()
    assert [Owner.parse(text) for text in (None, "", "[]", "{}", '{"pid": 1}', "no JSON")] == [None] * 6


def test_a_process_that_has_ended_but_was_not_waited_for_is_gone() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert replace(Owner.here(), pid=child).is_gone() is True
    finally:
        os.waitpid(child, 0)
