"""Whose file it is, who may read it, and what happens to one that is damaged."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tidegate.core import InvalidInput, Observation, Tick
from tidegate.runs import RunSpec
from tidegate.store import (
    MIGRATIONS,
    Found,
    Store,
    Trouble,
    Unusable,
    inspect,
    is_damage,
    is_locked,
    set_aside,
    trouble,
)
from tidegate.store.files import ASIDE

TICK = Tick(Observation(1.0, 1, 1))


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(path: Path) -> Path:
    with Store.open(path) as store:
        run = store.begin(RunSpec(job="orders"))
        for n in range(300):
            store.append(run, Tick(Observation(float(n), 1, 1)))
        store.end(run, "done")
    return path


def damage(path: Path, at: int, size: int = 64) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"\xff" * size)


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def opened(path: Path) -> None:
    with Store.open(path):
        pass


def refusal(path: Path) -> Unusable:
    with pytest.raises(Unusable) as refused:
        opened(path)
    assert str(refused.value).startswith(f"cannot use {path} as a store of runs: ")
    return refused.value


def test_files_are_for_their_owner_only_also_under_a_permissive_umask(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with umask(0), Store.open(path) as store:
        store.begin(RunSpec())
        assert {p.name: mode(p) for p in tmp_path.iterdir()} == {
            "runs.db": 0o600,
            "runs.db-wal": 0o600,
            "runs.db-shm": 0o600,
        }


def test_a_store_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = made(tmp_path / "runs.db")
    path.chmod(0o640)
    with umask(0), Store.open(path) as store:
        store.begin(RunSpec())
        assert mode(path) == mode(tmp_path / "runs.db-wal") == 0o640


def test_only_the_default_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with umask(0):
        opened(Path(".tidegate") / "tidegate.db")
    assert mode(tmp_path / ".tidegate") == 0o700
    elsewhere = tmp_path / "some" / "where" / "runs.db"
    assert str(refusal(elsewhere)).endswith(f": there is no folder {elsewhere.parent}")
    assert not (tmp_path / "some").exists()


def test_what_is_at_a_path(tmp_path: Path) -> None:
    assert inspect(tmp_path / "none.db") is Found.MISSING
    (tmp_path / "empty.db").touch()
    assert inspect(tmp_path / "empty.db") == "missing"
    assert inspect(tmp_path) == "foreign"
    assert inspect(made(tmp_path / "runs.db")) == "ours"
    with Store.open(tmp_path / "runs.db"):
        assert inspect(tmp_path / "runs.db") == "ours"


def foreign(path: Path, *statements: str) -> Path:
    with plain(path) as db:
        for statement in statements:
            db.execute(statement)
    return path


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE orders (id INTEGER)"],
        ["CREATE TABLE runs (id, created, status)"],
        # another application's, which has tables of our names
        ["PRAGMA application_id = 42", "CREATE TABLE runs (id, created, status, spec, result)"],
        ["PRAGMA application_id = 42"],
        # somebody's who numbers schemas, and has no table yet
        ["PRAGMA user_version = 3"],
        ["PRAGMA journal_mode = WAL", "CREATE TABLE orders (id INTEGER)"],
    ],
)
def test_somebody_else_s_database_is_refused_and_never_altered(tmp_path: Path, statements: list[str]) -> None:
    path = foreign(tmp_path / "other.db", *statements)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert inspect(path) == "foreign"
    assert refusal(path).trouble is Trouble.FOREIGN
    with pytest.raises(InvalidInput, match="is no store of Tidegate's"):
        set_aside(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_database_whose_tables_are_still_in_its_log_is_somebody_else_s(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with plain(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE orders (id INTEGER)")
        before = path.read_bytes()
        assert inspect(path) == "foreign"
        refusal(path)
        # its owner goes on, with the locks that it had
        db.execute("INSERT INTO orders VALUES (1)")
        assert path.read_bytes() == before


def test_the_log_of_a_killed_process_tells_whose_database_it_is(tmp_path: Path) -> None:
    for name, statements in (("other.db", ["CREATE TABLE orders (id)"]), ("ours.db", list(MIGRATIONS))):
        with plain(tmp_path / "live.db") as db:
            db.execute("PRAGMA journal_mode = WAL")
            for statement in statements:
                db.executescript(statement)
            # as they are when the process is killed: all in the log
            for suffix in ("", "-wal"):
                shutil.copy(tmp_path / f"live.db{suffix}", tmp_path / f"{name}{suffix}")
        (tmp_path / "live.db").unlink()
    assert inspect(tmp_path / "other.db") == "foreign"
    assert inspect(tmp_path / "ours.db") == "ours"
    assert not list(tmp_path.glob("*-shm"))


def test_a_file_that_is_no_database_is_refused_and_never_altered(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("CREATE TABLE runs, and other notes" * 100)
    assert inspect(path) == "foreign"
    assert "somebody else's file" in str(refusal(path))
    assert path.read_text() == "CREATE TABLE runs, and other notes" * 100


def test_a_folder_is_named_as_one(tmp_path: Path) -> None:
    assert str(refusal(tmp_path)).endswith("it is a folder")


@pytest.mark.parametrize("at", [0, 16, 100])  # the name of the format, its page size, the first table
def test_a_store_with_a_damaged_beginning_is_set_aside_and_replaced(tmp_path: Path, at: int) -> None:
    path = made(tmp_path / "runs.db")
    damage(path, at)
    assert inspect(path) == "damaged"
    error = refusal(path)
    assert is_damage(error)
    aside = set_aside(path)
    assert aside.name.startswith("runs.db.damaged-20")
    assert aside.exists()
    assert not path.exists()
    opened(path)
    assert inspect(path) == "ours"


def test_a_store_whose_whole_first_page_is_gone_is_known_by_its_mark(tmp_path: Path) -> None:
    path = made(tmp_path / "runs.db")
    damage(path, 0, 4096)
    assert inspect(path) == "damaged"


def test_a_store_of_the_first_version_with_a_damaged_header_is_known_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with plain(path) as db:
        db.executescript(MIGRATIONS[0])
    assert inspect(path) == "ours"
    damage(path, 0, 32)
    assert inspect(path) == "damaged"


def used(path: Path) -> None:
    with Store.open(path) as store:
        for run in store.runs():
            list(store.ticks(run.id))
        store.append(store.begin(RunSpec()), TICK)


def test_damage_anywhere_is_told_as_damage(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole.db").read_bytes()
    path, errors = tmp_path / "runs.db", []
    for page in range(1, len(whole) // 4096):
        path.write_bytes(whole)
        damage(path, page * 4096, 4096)
        try:
            used(path)
        except (sqlite3.Error, Unusable) as error:
            errors.append(error)
    assert [error for error in errors if not is_damage(error)] == []
    # a page that holds nothing now may be damaged without harm
    assert len(errors) >= len(whole) // 4096 // 3


def test_an_open_store_that_becomes_damaged_says_so(tmp_path: Path) -> None:
    path = made(tmp_path / "runs.db")
    with Store.open(path) as store:
        damage(path, 0, path.stat().st_size)
        with pytest.raises(sqlite3.DatabaseError) as raised:
            store.begin(RunSpec())
        assert is_damage(raised.value)
        aside = store.set_aside()
        assert aside is not None
        assert not store.still_there()
        # somebody else has made a new one meanwhile, which stays
        opened(path)
        assert store.set_aside() is None
        assert inspect(path) == "ours"


def test_the_log_goes_with_the_store_and_only_the_newest_three_stay(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    aside = []
    for _ in range(ASIDE + 2):
        with Store.open(path) as store:
            store.begin(RunSpec())
            aside.append(set_aside(path))
            assert Path(f"{aside[-1]}-wal").exists()
    left = sorted(p for p in tmp_path.iterdir() if not p.name.endswith(("-wal", "-shm")))
    assert left == sorted(aside[-ASIDE:])


def test_a_store_that_is_deleted_or_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        store.begin(RunSpec())
        assert store.still_there()
        for name in ("runs.db", "runs.db-wal", "runs.db-shm"):
            (tmp_path / name).unlink()
        assert not store.still_there()
        with Store.open(path) as other:
            assert other.still_there()
            assert not store.still_there()
    with Store.open(":memory:") as memory:
        assert memory.still_there()


def test_a_store_whose_log_is_deleted_is_noticed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        (tmp_path / "runs.db-wal").unlink()
        assert not store.still_there()


def test_a_store_that_is_cut_to_nothing_is_told_as_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "runs.db")
    with Store.open(path) as store:
        os.truncate(path, 0)
        with pytest.raises(sqlite3.Error) as raised:
            store.append(store.begin(RunSpec()), TICK)
        assert is_damage(raised.value)


def test_a_locked_store_is_told_as_locked_within_its_timeout(tmp_path: Path) -> None:
    path = made(tmp_path / "runs.db")
    with Store.open(path, timeout=0.01) as store, plain(path) as other:
        run = store.begin(RunSpec())
        other.execute("BEGIN IMMEDIATE")
        for write in (
            lambda: store.append(run, TICK),
            lambda: store.note(run, "scaling"),
            lambda: store.end(run, "done"),
        ):
            with pytest.raises(sqlite3.OperationalError) as raised:
                write()
            assert is_locked(raised.value)
            assert trouble(raised.value).passes
        assert store.run(run).status == "running"  # readers go on
        other.execute("ROLLBACK")
        store.append(run, TICK)
        assert [tick for _, tick in store.ticks(run)] == [TICK]


def test_a_store_that_is_locked_from_the_start_is_told_as_locked(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with plain(path) as other:
        other.execute("PRAGMA user_version = 0")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unusable) as refused, Store.open(path, timeout=0.01):
            pass
        assert is_locked(refused.value)


def test_a_full_disk_is_told_and_passes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(RunSpec())
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        many = [Tick(Observation(float(n), 1, 1)) for n in range(1000)]
        with pytest.raises(sqlite3.OperationalError) as raised:
            store.append_many(run, many)
        assert trouble(raised.value) is Trouble.FULL
        assert list(store.ticks(run)) == []
        store._db.execute("PRAGMA max_page_count = 1000000")
        store.append(run, TICK)
        assert [tick for _, tick in store.ticks(run)] == [TICK]


def test_a_store_that_may_not_be_written_to_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "runs.db")
    # whoever runs the tests may be allowed everything
    monkeypatch.setattr("os.access", lambda *_: False)
    with Store.open(path) as store:
        (run,) = store.runs()
        assert len(list(store.ticks(run.id))) == 300
        assert store.close_abandoned() == []
        with pytest.raises(sqlite3.OperationalError) as raised:
            store.begin(RunSpec())
        assert trouble(raised.value) is Trouble.READ_ONLY


def test_a_store_of_the_version_before_that_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.db"
    with plain(path) as db:
        for migration in MIGRATIONS[:2]:
            db.executescript(migration)
        db.execute("PRAGMA user_version = 2")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(Unusable, match="was written by an earlier version of Tidegate, and may not be written to"):
        opened(path)
