"""The store: runs with their ticks, results, health, and what policies have learned, in one SQLite file (WAL)."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidegate.core import InvalidInput, Tick
from tidegate.runs import RunResult, RunSpec, encode
from tidegate.store.blocks import Numbered, unpack
from tidegate.store.files import OPENING, identity, make_ready, set_aside, unusable
from tidegate.store.folding import thin
from tidegate.store.housekeeping import Housekeeper, insert
from tidegate.store.owner import Owner
from tidegate.store.retention import COARSE, FULL, Retention
from tidegate.store.run import SELECT, Run, parse
from tidegate.store.schema import check_readable, prepare, transaction
from tidegate.store.tick_json import observation, steps
from tidegate.store.troubles import Trouble, Unusable

MEMORY = ":memory:"
#: seconds for which a lock of another process is waited for
TIMEOUT = 5.0
#: seconds without a sign after which a run of another machine counts as abandoned once its query runs again
SILENT = 900.0
#: ticks that may be read for each one that is wanted
READ = 4
#: seconds between two signs of a run whose ticks are appended
SIGN = 30.0


class Store:
    """Methods raise `sqlite3.Error` where the file fails them: `trouble(error)` says what to do about it.

    Can be used from several threads.

    >>> from tidegate.core import Observation
    >>> with Store.open(":memory:") as store:
    ...     run = store.begin(RunSpec(job="q1"))
    ...     store.append(run, Tick(Observation(time=1.0, executors=2, requested=2)))
    ...     [tick.observation.executors for _, tick in store.ticks(run)]
    [2]
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path | None = None,
        retention: Retention | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._db, self._path, self._clock = connection, path, clock
        self._identity = None if path is None else identity(path)
        # ticks are read by a connection of its own, for which nothing moves while it reads
        self._reader = None if path is None else _connect(_read_only(path), TIMEOUT)
        self._lock = threading.RLock()
        self._signs: dict[str, float] = {}
        self._house = Housekeeper(connection, retention or Retention(), clock, self._close_abandoned)

    @classmethod
    @contextmanager
    def open(
        cls,
        path: str | Path,
        timeout: float = TIMEOUT,
        retention: Retention | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Iterator[Store]:
        """Open the store in a file; creates or migrates it if necessary. A file that may not be written to is opened
        for reading. Raises `Unusable` for somebody else's file, one that is damaged or locked, and a missing folder.
        """
        file = None if str(path) == MEMORY else Path(path)
        with closing(_opened(file, timeout)) as connection:
            try:
                store = cls(connection, file, retention, clock)
            except sqlite3.Error as error:
                raise unusable(path, error) from None
            try:
                yield store
            finally:
                # before the connection that writes: the last one to close removes the log
                if store._reader is not None:
                    store._reader.close()

    @property
    def path(self) -> Path | None:
        """None if it is in memory."""
        return self._path

    def still_there(self) -> bool:
        """Whether the file that was opened is still the one at its path, with its log."""
        if self._path is None:
            return True
        if identity(self._path) != self._identity:
            return False
        return os.path.exists(f"{self._path}-wal") or not os.access(self._path, os.W_OK)

    def check(self) -> None:
        """Read some pages of the file anew: SQLite writes for long from its cache into a file that was overwritten."""
        with self._lock:
            self._db.execute("PRAGMA shrink_memory")
            self._db.execute("SELECT count(*), max(length(sql)) FROM sqlite_master").fetchone()
            self._db.execute("SELECT max(rowid), max(length(spec)) FROM runs").fetchone()
            self._db.execute("SELECT observation FROM ticks ORDER BY number DESC LIMIT 1").fetchone()

    def set_aside(self) -> Path | None:
        """Rename the file, which is damaged, so that a new store can be opened at its path; None if somebody else has
        done so before. This store is of no use afterwards.
        """
        if self._path is None or identity(self._path) != self._identity:
            return None
        return set_aside(self._path, known=True)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, transaction(self._db):
            yield

    def begin(self, spec: RunSpec, id: str | None = None) -> str:
        """Begin a run, and close those whose process is gone. Its id sorts by time and is unique even among runs
        started in the same second. With an id, go on with that run, also in a store that has never seen it.
        """
        with self._transaction():
            begun = self._insert_run(spec, id)
            self._sign(begun)
            self._abandon()
        return begun

    def _insert_run(self, spec: RunSpec, id: str | None) -> str:
        created = self._clock()
        values = (created, json.dumps(encode(spec)), Owner.here().text())
        insertion = "INSERT OR IGNORE INTO runs (id, created, status, spec, owner) VALUES (?, ?, 'running', ?, ?)"
        if id is not None:
            self._db.execute(insertion, (id, *values))
            self._db.execute(
                "UPDATE runs SET status = 'running', ended = NULL, owner = ? WHERE id = ?", (values[2], id)
            )
            return id
        stem = time.strftime("%Y%m%d-%H%M%S", time.localtime(created))
        for number in range(1000):
            name = f"{stem}-{number}" if number else stem
            if self._db.execute(insertion, (name, *values)).rowcount:
                return name
        raise InvalidInput(f"a thousand runs began in the second {stem}: one store is not meant for that")

    def append(self, run: str, tick: Tick) -> None:
        self.append_many(run, (tick,))

    def append_many(self, run: str, ticks: Sequence[Tick]) -> None:
        """Append ticks of a run in one transaction: all or none."""
        if not ticks:
            return
        with self._lock:
            with transaction(self._db):
                first = self._number() + 1
                insert(self._db, run, list(enumerate(ticks, first)), FULL)
                if self._clock() - self._signs.get(run, 0.0) >= SIGN:
                    self._sign(run)
            self._house.appended(run, ticks)

    def _number(self) -> int:
        """The highest number of a tick; numbers are never used again."""
        highest = (
            "SELECT max(coalesce((SELECT max(number) FROM ticks), 0), coalesce((SELECT max(last) FROM blocks), 0))"
        )
        return int(self._db.execute(highest).fetchone()[0])

    def note(self, run: str, status: str, conditions: Any = None) -> None:
        """Keep what a run says of itself now: its status in words, and its conditions as values that fit into JSON."""
        with self._transaction():
            self._sign(run)
            told = None if conditions is None else json.dumps(conditions)
            self._db.execute("UPDATE health SET status = ?, conditions = ? WHERE run = ?", (status, told, run))

    def _sign(self, run: str) -> None:
        """A sign that a run goes on, also of one that was taken for abandoned."""
        now = self._clock()
        self._db.execute(
            "INSERT INTO health (run, time) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET time = excluded.time",
            (run, now),
        )
        revived = "UPDATE runs SET status = 'running', ended = NULL WHERE id = ? AND status = 'abandoned'"
        self._db.execute(revived, (run,))
        self._signs[run] = now

    def update(self, run: str, result: RunResult) -> None:
        """Keep the result so far of a run that goes on."""
        with self._transaction():
            self._db.execute("UPDATE runs SET result = ? WHERE id = ?", (json.dumps(encode(result)), run))

    def end(self, run: str, status: str, result: RunResult | None = None) -> None:
        """End a run; without a result, the last one that it was updated with stays."""
        told = None if result is None else json.dumps(encode(result))
        with self._lock:
            with transaction(self._db):
                self._db.execute(
                    "UPDATE runs SET status = ?, result = coalesce(?, result), ended = ? WHERE id = ?",
                    (status, told, self._clock(), run),
                )
            self._signs.pop(run, None)
            self._house.ended(run)

    def close_abandoned(self) -> list[str]:
        """Mark runs as abandoned whose process on this machine is gone, and silent runs of other machines whose query
        runs again. Returns their ids. Readers may call it too; it does nothing in a store that cannot be written to.
        """
        try:
            return self._close_abandoned()
        except sqlite3.OperationalError:
            return []

    def _close_abandoned(self) -> list[str]:
        with self._transaction():
            return self._abandon()

    def _abandon(self) -> list[str]:
        running = self._db.execute(
            "SELECT id, created, json_extract(spec, '$.job'), owner, coalesce(health.time, created)"
            " FROM runs LEFT JOIN health ON health.run = id WHERE runs.status = 'running' ORDER BY created, runs.rowid"
        ).fetchall()
        latest = {job: created for _, created, job, *_ in running}
        gone = []
        for id, created, job, owner, seen in running:
            who = Owner.parse(owner)
            dead = None if who is None else who.is_gone()
            if dead is None:
                dead = created < latest[job] and self._clock() - max(seen, self._last_tick(id)) > SILENT
            if dead:
                gone.append((seen, id))
        ended = "UPDATE runs SET status = 'abandoned', ended = ? WHERE id = ?"
        self._db.executemany(ended, gone)
        return [id for _, id in gone]

    def _last_tick(self, run: str) -> float:
        """Runs of earlier versions gave no other sign."""
        found = self._db.execute("SELECT time FROM ticks WHERE run = ? ORDER BY number DESC LIMIT 1", (run,)).fetchone()
        return 0.0 if found is None else float(found[0])

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        """Store what a policy has learned about a job, replacing what was stored before."""
        values = (job, policy, self._clock(), zlib.compress(json.dumps(memory).encode()))
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO memories VALUES (?, ?, ?, ?)", values)

    def memory(self, job: str, policy: str) -> Mapping[str, Any] | None:
        found = self._db.execute("SELECT memory FROM memories WHERE job = ? AND policy = ?", (job, policy)).fetchone()
        if found is None:
            return None
        # earlier versions kept the text itself
        text = zlib.decompress(found[0]) if isinstance(found[0], bytes) else found[0]
        return dict(json.loads(text))

    def runs(self) -> list[Run]:
        return [parse(row) for row in self._read(f"{SELECT} ORDER BY created, runs.rowid")]

    def run(self, id: str) -> Run:
        """A run by its id, or the latest one as `last`."""
        chosen = "ORDER BY created DESC, runs.rowid DESC LIMIT 1" if id == "last" else "WHERE id = ?"
        for row in self._read(f"{SELECT} {chosen}", *(() if id == "last" else (id,))):
            return parse(row)
        newest = self._read("SELECT id FROM runs ORDER BY created DESC, rowid DESC LIMIT 5")
        latest = ", ".join(str(name) for (name,) in reversed(list(newest))) or "none yet"
        raise InvalidInput(f"no run {id!r} in the store (the last ones: {latest})")

    def ticks(
        self, run: str, after: int = 0, until: float | None = None, at_most: int | None = None
    ) -> Iterator[tuple[int, Tick]]:
        """Ticks with numbers above `after` and times up to `until`. To follow a live run, call it again with the last
        number.

        Older stretches of a long run have fewer, folded ticks (see `folding` and `Retention`): of a minute or ten, with
        means of rates, the highest latency and backlog, and one sample for all executors. Executor-seconds, actions
        and records are the same as of the full ones. With `at_most`, all of the run is folded into at most so many;
        that reads little more than it returns, whatever the length of the run.
        """
        if at_most is None:
            return self._ticks(run, after, until, FULL)
        end = self._house.newest(run)
        fine = self._ticks(run, after, until, self._grain(run, after, at_most))
        return iter(thin(fine, at_most, end if until is None else min(end, until)))

    def _ticks(self, run: str, after: int, until: float | None, grain: int) -> Iterator[Numbered]:
        """Blocks that are finer than `grain` give what they fold into. One statement sees one state of the store."""
        rows = self._read_apart(
            "SELECT last, CASE WHEN grain < ? THEN coalesce(folded, data) ELSE data END, NULL, NULL"
            " FROM blocks WHERE run = ? AND last > ?"
            " UNION ALL SELECT number, observation, steps, acted FROM ticks LEFT JOIN decisions ON tick = number"
            " WHERE ticks.run = ? AND number > ? ORDER BY 1",
            grain, run, after, run, after,
        )  # fmt: skip
        for number, data, decided, acted in rows:
            for found, tick in self._read_ticks(run, number, data, decided, acted):
                if until is not None and tick.observation.time > until:
                    return
                if found > after:
                    yield found, tick

    def _read_ticks(self, run: str, number: int, data: Any, decided: str | None, acted: Any) -> list[Numbered]:
        try:
            if isinstance(data, bytes):
                return list(unpack(data))
            return [(number, Tick(observation(json.loads(data)), steps(decided), bool(acted)))]
        except (zlib.error, TypeError, ValueError, KeyError, AttributeError) as error:
            message = f"run {run}: the ticks up to number {number} cannot be read: {type(error).__name__}: {error}"
            raise Unusable(message, Trouble.DAMAGED) from None

    def _grain(self, run: str, after: int, at_most: int) -> int:
        """The finest grain in which it does not take long to read the run."""
        for grain in (FULL, FULL + 1):
            counted = self._read(
                "SELECT coalesce(sum(CASE WHEN grain < ? THEN folds ELSE ticks END), 0) FROM blocks"
                " WHERE run = ? AND last > ?",
                grain, run, after,
            )  # fmt: skip
            if next(iter(counted))[0] <= READ * at_most:
                return grain
        return COARSE

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        yield from self._rows(self._db, query, values)

    def _read_apart(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Rows as they are now, whatever is written until the last of them is read."""
        if self._reader is None:
            return iter(list(self._rows(self._db, query, values)))
        return self._rows(self._reader, query, values)

    def _rows(
        self, connection: sqlite3.Connection, query: str, values: tuple[object, ...]
    ) -> Iterator[tuple[Any, ...]]:
        try:
            yield from connection.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise unusable(self._path or MEMORY, error) from None


def _read_only(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}?mode=ro"


def _opened(path: Path | None, timeout: float) -> sqlite3.Connection:
    """A connection to a store of this version."""
    if path is None:
        connection = _connect(MEMORY, timeout)
        prepare(connection, MEMORY, timeout)
        return connection
    with OPENING:
        make_ready(path, timeout)
        try:
            return _prepared(path, timeout)
        except sqlite3.Error as error:
            raise unusable(path, error) from None


def _prepared(path: Path, timeout: float) -> sqlite3.Connection:
    writable = os.access(path, os.W_OK)
    connection = _connect(str(path) if writable else _read_only(path), timeout)
    try:
        if writable:
            prepare(connection, path, timeout)
        else:
            check_readable(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(where: str, timeout: float) -> sqlite3.Connection:
    uri = where.startswith("file:")
    return sqlite3.connect(where, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)


@dataclass(frozen=True, slots=True)
class StoreSink:
    """Stores every tick of a run."""

    store: Store
    run: str
    name: str = "store"

    def take(self, tick: Tick) -> None:
        self.store.append(self.run, tick)
