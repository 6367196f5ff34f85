"""The tables of a store, and how a store of an earlier version becomes one of this version."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.store.troubles import Trouble, Unusable

#: SQLite's field for the kind of a database: "Tide"
APPLICATION_ID = int.from_bytes(b"Tide", "big")
#: a text by which a file whose header is damaged is still known; a hash, so that no source code contains it
MARK = hashlib.sha256(b"tidegate store of runs").hexdigest()
#: tables that every version has, with columns by which they are known
KNOWN = {"runs": {"id", "created", "status", "spec", "result"}, "ticks": {"number", "run", "time", "observation"}}

#: migrations from each schema version to the next; a store keeps its version as `user_version`
MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, created REAL NOT NULL, status TEXT NOT NULL, spec TEXT NOT NULL, result TEXT
    );
    CREATE TABLE IF NOT EXISTS ticks (
        number INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES runs (id), time REAL NOT NULL,
        observation TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ticks_of_run ON ticks (run, number);
    CREATE TABLE IF NOT EXISTS decisions (
        tick INTEGER PRIMARY KEY REFERENCES ticks (number), run TEXT NOT NULL, time REAL NOT NULL,
        requested INTEGER NOT NULL, executors INTEGER NOT NULL, acted INTEGER NOT NULL,
        reason TEXT NOT NULL, steps TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS memories (
        job TEXT NOT NULL, policy TEXT NOT NULL, time REAL NOT NULL, memory TEXT NOT NULL, PRIMARY KEY (job, policy)
    );
    """,
    # decisions about other levers than executors
    "ALTER TABLE decisions ADD COLUMN target TEXT;",
    # Ticks move from their rows to compressed blocks, and become coarser with age: `grain` 0 is full, 1 a minute, 2 ten
    # minutes. A block has its ticks and, in `folded`, the same stretch in the next grain. Rows of earlier versions are
    # rows of grain 0 and become blocks little by little.
    f"""
    PRAGMA application_id = {APPLICATION_ID};
    CREATE TABLE about (mark TEXT NOT NULL);
    INSERT INTO about VALUES ('{MARK}');
    ALTER TABLE runs ADD COLUMN owner TEXT;
    ALTER TABLE runs ADD COLUMN ended REAL;
    ALTER TABLE ticks ADD COLUMN grain INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE blocks (
        last INTEGER PRIMARY KEY, first INTEGER NOT NULL, run TEXT NOT NULL, grain INTEGER NOT NULL,
        begin REAL NOT NULL, until REAL NOT NULL, ticks INTEGER NOT NULL, folds INTEGER NOT NULL,
        data BLOB NOT NULL, folded BLOB
    );
    CREATE INDEX blocks_of_run ON blocks (run, last);
    CREATE INDEX blocks_by_grain ON blocks (run, grain, last);
    CREATE TABLE health (run TEXT PRIMARY KEY, time REAL NOT NULL, status TEXT, conditions TEXT);
    """,
)


def prepare(connection: sqlite3.Connection, path: str | Path, timeout: float) -> None:
    """Make an opened file a store of this version."""
    # has an effect on a new file only: pages of what was removed can then be given back
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _write_ahead(connection, timeout)
    migrate(connection, path)


def _write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Use a write-ahead log: readers next to one writer. Unlike other statements, the switch does not wait for a
    process that switches at the same time, so it is retried.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous = NORMAL")
    # a log that grew while somebody read for long becomes small again
    connection.execute("PRAGMA journal_size_limit = 16000000")


def migrate(connection: sqlite3.Connection, path: str | Path) -> None:
    """Bring a store to this version, each migration in a transaction. A store of a later version is refused.

    The version is read again inside the transaction, as several processes may open a store at once.
    """
    while (version := version_of(connection)) < len(MIGRATIONS):
        with transaction(connection):
            if version_of(connection) != version:
                continue
            for statement in MIGRATIONS[version].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        # from the log into the file itself, which can then be recognised by its header
        connection.execute("PRAGMA wal_checkpoint")
    _refuse_later(version, path)


def _refuse_later(version: int, path: str | Path) -> None:
    if version > len(MIGRATIONS):
        raise Unusable(
            f"{path} was written by a later version of Tidegate: its schema is {version}, this one reads"
            f" up to {len(MIGRATIONS)}",
            Trouble.FOREIGN,
        )


def check_readable(connection: sqlite3.Connection, path: str | Path) -> None:
    """Check that a store that may not be written to is of this version."""
    version = version_of(connection)
    _refuse_later(version, path)
    if version < len(MIGRATIONS):
        raise Unusable(
            f"{path} was written by an earlier version of Tidegate, and may not be written to, so that it cannot be"
            " brought to this version: read a copy of it",
            Trouble.READ_ONLY,
        )


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction, which is rolled back if the block or its end fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # some errors, a full disk for one, have rolled back already
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
