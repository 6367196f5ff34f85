"""A run kept in real store files, which are locked, deleted, damaged, made read-only and filled up under it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tidegate.attachment import bookkeeping
from tidegate.attachment.bookkeeping import Bookkeeping, NoBookkeeping, StoreUnavailable
from tidegate.core import Observation, Tick
from tidegate.runs import RunResult, RunSpec
from tidegate.store import Store

SPEC = RunSpec(job="orders", policy="static")


def tick(time: float) -> Tick:
    return Tick(Observation(time, 1, 1))


def eventually(condition: Callable[[], object]) -> None:
    for _ in range(4000):
        if condition():
            return
        threading.Event().wait(0.005)
    pytest.fail("did not come true")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bookkeeping, "FIRST", 0.01)
    monkeypatch.setattr(bookkeeping, "LONGEST", 0.02)
    monkeypatch.setattr(bookkeeping, "TIMEOUT", 0.05)
    monkeypatch.setattr(bookkeeping, "CHECK", 0.0)


@pytest.fixture
def told() -> list[str | None]:
    return []


Keep = Callable[..., Bookkeeping]


@pytest.fixture
def keep(tmp_path: Path, told: list[str | None]) -> Iterator[Keep]:
    made: list[Bookkeeping] = []

    def start(capacity: int = 100) -> Bookkeeping:
        path = tmp_path / "runs.db"
        made.append(Bookkeeping(path, SPEC, lambda part, why: told.append(why), capacity))
        return made[-1]

    yield start
    for books in made:
        books.end("done", lambda: RunResult("x", "done"), patience=0.0)


def stored(path: Path, run: str | None) -> list[float]:
    assert run is not None
    with Store.open(path) as store:
        return [tick.observation.time for _, tick in store.ticks(run)]


def shown(books: Bookkeeping, time: float) -> str | None:
    try:
        books.take(tick(time))
    except StoreUnavailable as error:
        return str(error)
    return None


def test_ticks_status_memory_and_result_are_in_the_store_and_the_run_ends(tmp_path: Path, keep: Keep) -> None:
    books = keep()
    for time in range(5):
        books.take(tick(time))
    books.note("scaling", [{"type": "AbleToScale", "status": True}])
    books.remember("orders", "static", {"policy": {"_n": 1}})
    books.update(lambda: RunResult(str(books.run), "running", error="so far"))
    books.end("done", lambda: RunResult(str(books.run), "done", duration=5.0))
    assert stored(tmp_path / "runs.db", books.run) == [0, 1, 2, 3, 4]
    with Store.open(tmp_path / "runs.db") as store:
        run = store.run("last")
        assert (run.status, run.health, run.result and run.result.duration) == ("done", "scaling", 5.0)
        assert store.memory("orders", "static") == {"policy": {"_n": 1}}
    again = keep()
    assert again.memory("orders", "static") == {"policy": {"_n": 1}}
    assert again.memory("orders", "ds2") is None


def test_a_locked_store_delays_nobody_and_gets_everything_later(
    tmp_path: Path, keep: Keep, told: list[str | None]
) -> None:
    books = keep()
    books.take(tick(0))
    eventually(lambda: books.run and not books._ticks)
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        books.take(tick(1))
        eventually(lambda: told)
        assert told[0] == "ticks are not stored: database is locked"
        assert shown(books, 2) == "ticks wait for it: database is locked"
        other.execute("ROLLBACK")
    eventually(lambda: told[-1] is None)
    assert shown(books, 3) is None
    eventually(lambda: not books._ticks)
    assert stored(tmp_path / "runs.db", books.run) == [0, 1, 2, 3]


def test_what_does_not_fit_is_dropped_the_oldest_first_and_told_when_it_works_again(
    tmp_path: Path, keep: Keep, told: list[str | None]
) -> None:
    books = keep(capacity=3)
    books.take(tick(0))
    eventually(lambda: books.run and not books._ticks)
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        books.take(tick(1))
        eventually(lambda: told)
        for time in range(2, 7):
            shown(books, time)
        other.execute("ROLLBACK")
    eventually(lambda: told[-1] is None)
    assert shown(books, 7) == "3 ticks were dropped while it could not be used"
    assert shown(books, 8) is None
    eventually(lambda: not books._ticks)
    assert stored(tmp_path / "runs.db", books.run) == [0, 4, 5, 6, 7, 8]


def test_a_store_that_is_deleted_is_begun_anew_with_the_same_run(tmp_path: Path, keep: Keep) -> None:
    books = keep()
    books.take(tick(0))
    eventually(lambda: books.run and not books._ticks)
    run = books.run
    for file in tmp_path.iterdir():
        file.unlink()
    books.take(tick(1))
    eventually(lambda: not books._ticks)
    assert (books.run, stored(tmp_path / "runs.db", run)) == (run, [1])


@pytest.mark.parametrize("garbage", [b"\x07" * 100_000, b""])
def test_a_store_that_is_damaged_in_mid_run_is_set_aside_and_replaced(
    tmp_path: Path, keep: Keep, garbage: bytes
) -> None:
    books = keep()
    books.take(tick(0))
    eventually(lambda: books.run and not books._ticks)
    for suffix in ("", "-wal"):
        path = tmp_path / f"runs.db{suffix}"
        with path.open("r+b") as file:
            size = path.stat().st_size
            file.truncate(0)
            file.write(garbage[:size])
    books.take(tick(1))
    eventually(lambda: not books._ticks)
    assert stored(tmp_path / "runs.db", books.run)[-1:] == [1]


def test_a_store_that_is_damaged_at_the_start_is_set_aside_and_replaced(tmp_path: Path, keep: Keep) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        store.begin(SPEC)
    content = bytearray(path.read_bytes())
    content[:16] = b"no header at all"
    path.write_bytes(bytes(content))
    books = keep()
    books.take(tick(1))
    eventually(lambda: books.run and not books._ticks)
    assert stored(path, books.run) == [1]
    assert list(tmp_path.glob("runs.db.damaged-*"))


def test_somebody_elses_file_is_never_touched_and_nothing_is_kept(
    tmp_path: Path, keep: Keep, told: list[str | None]
) -> None:
    path = tmp_path / "runs.db"
    path.write_text("my notes\n" * 100)
    books = keep()
    books.take(tick(0))
    eventually(lambda: told)
    assert "somebody else's file" in str(told[0])
    assert path.read_text() == "my notes\n" * 100
    assert (books.run, books.memory("orders", "static")) == (None, None)
    books.end("done", lambda: RunResult("x", "done"), patience=5)
    eventually(lambda: not books._thread.is_alive())


def test_without_a_store_nothing_is_kept() -> None:
    books = NoBookkeeping()
    books.take(tick(0))
    books.note("scaling", [])
    books.end("done", lambda: RunResult("x", "done"))
    assert (books.run, books.memory("orders", "static")) == (None, None)
