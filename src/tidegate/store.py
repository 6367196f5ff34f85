"""Stores runs, ticks and decisions in one SQLite file (WAL): one process writes a run while others can read it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    ExecutorShape,
    InvalidInput,
    Observation,
    OperatorSample,
    Step,
    Target,
    Tick,
)
from tidegate.runs import RunResult, RunSpec, decode, encode

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
)


@dataclass(frozen=True, slots=True)
class Run:
    """`status` is running, done, interrupted or failed; it stays running if the writing process died."""

    id: str
    created: float
    status: str
    spec: RunSpec
    result: RunResult | None = None


class Store:
    """
    >>> with Store.open(":memory:") as store:
    ...     run = store.begin(RunSpec(job="q1"))
    ...     store.append(run, Tick(Observation(time=1.0, executors=2, requested=2)))
    ...     [tick.observation.executors for _, tick in store.ticks(run)]
    [2]
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    @contextmanager
    def open(cls, path: str | Path) -> Iterator[Store]:
        """Open the store in a file; creates or migrates it if necessary."""
        try:
            if str(path) != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use {path} as a store of runs: {error}") from None
        with closing(connection):
            try:
                _write_ahead(connection)
                migrate(connection, path)
            except sqlite3.Error as error:
                raise InvalidInput(f"cannot use {path} as a store of runs: {error}") from None
            yield cls(connection)

    def begin(self, spec: RunSpec) -> str:
        """Begin a run. Its id sorts by time and is unique even among runs started in the same second."""
        created = time.time()
        stem = time.strftime("%Y%m%d-%H%M%S", time.localtime(created))
        for number in range(1000):
            id = f"{stem}-{number}" if number else stem
            try:
                values = (id, created, "running", json.dumps(encode(spec)))
                self._db.execute("INSERT INTO runs (id, created, status, spec) VALUES (?, ?, ?, ?)", values)
                return id
            except sqlite3.IntegrityError:
                continue
        raise InvalidInput(f"a thousand runs began in the second {stem}: one store is not meant for that")

    def append(self, run: str, tick: Tick) -> None:
        obs, decision = tick.observation, tick.decision
        observed, steps = json.dumps(asdict(obs)), json.dumps([_plain_step(step) for step in tick.steps])
        with transaction(self._db):
            cursor = self._db.execute(
                "INSERT INTO ticks (run, time, observation) VALUES (?, ?, ?)", (run, obs.time, observed)
            )
            if decision is not None:
                target = json.dumps(asdict(decision.target))
                decided = (decision.executors, tick.acted, decision.reason, steps, target)
                self._db.execute(
                    "INSERT INTO decisions (tick, run, time, requested, executors, acted, reason, steps, target)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (cursor.lastrowid, run, obs.time, obs.requested, *decided),
                )

    def end(self, run: str, status: str, result: RunResult | None = None) -> None:
        values = (status, None if result is None else json.dumps(encode(result)), run)
        self._db.execute("UPDATE runs SET status = ?, result = ? WHERE id = ?", values)

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        """Store what a policy has learned about a job, replacing what was stored before."""
        values = (job, policy, time.time(), json.dumps(memory))
        self._db.execute("INSERT OR REPLACE INTO memories VALUES (?, ?, ?, ?)", values)

    def memory(self, job: str, policy: str) -> Mapping[str, Any] | None:
        row = self._db.execute("SELECT memory FROM memories WHERE job = ? AND policy = ?", (job, policy)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def runs(self) -> list[Run]:
        return [
            _run(row)
            for row in self._db.execute("SELECT id, created, status, spec, result FROM runs ORDER BY created, rowid")
        ]

    def run(self, id: str) -> Run:
        """A run by its id, or the latest one as `last`."""
        runs = self.runs()
        if id == "last" and runs:
            return runs[-1]
        for run in runs:
            if run.id == id:
                return run
        latest = ", ".join(run.id for run in runs[-5:]) or "none yet"
        raise InvalidInput(f"no run {id!r} in the store (the last ones: {latest})")

    def ticks(self, run: str, after: int = 0) -> Iterator[tuple[int, Tick]]:
        """Ticks with numbers above `after`. To follow a live run, call it again with the last number."""
        rows = self._db.execute(
            "SELECT number, observation, steps, acted FROM ticks LEFT JOIN decisions ON tick = number"
            " WHERE ticks.run = ? AND number > ? ORDER BY number",
            (run, after),
        )
        for number, observed, decided, acted in rows:
            yield number, Tick(observation(json.loads(observed)), steps(decided), bool(acted))


@dataclass(frozen=True, slots=True)
class StoreSink:
    """Stores every tick of a run."""

    store: Store
    run: str
    name: str = "store"

    def take(self, tick: Tick) -> None:
        self.store.append(self.run, tick)


def _write_ahead(connection: sqlite3.Connection, attempts: int = 20) -> None:
    """Use a write-ahead log: readers next to one writer. Unlike other statements, the switch does not wait for a
    process that switches at the same time, so it is retried.
    """
    for attempt in range(attempts):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            if attempt == attempts - 1:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous=NORMAL")


def migrate(connection: sqlite3.Connection, path: str | Path) -> None:
    """Bring a store to this version, each migration in a transaction. A store of a later version is refused.

    The version is read again inside the transaction, as several processes may open a store at once.
    """
    while (version := _version(connection)) < len(MIGRATIONS):
        with transaction(connection):
            if _version(connection) != version:
                continue
            for statement in MIGRATIONS[version].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
    if version > len(MIGRATIONS):
        raise InvalidInput(
            f"{path} was written by a later version of Tidegate: its schema is {version}, this one reads"
            f" up to {len(MIGRATIONS)}"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction, which is rolled back if the block fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _run(row: tuple[str, float, str, str, str | None]) -> Run:
    id, created, status, spec, result = row
    decoded = decode(RunSpec, json.loads(spec), f"run {id}")
    return Run(id, created, status, decoded, None if not result else _result(json.loads(result), id))


def _result(values: Any, id: str) -> RunResult | None:
    """Earlier versions stored an empty result if nothing was known."""
    return decode(RunResult, {"run": id, "status": "", **values}, f"run {id}") if values else None


def observation(values: dict[str, Any]) -> Observation:
    """An observation from its stored values."""
    values["per_executor"] = tuple(ExecutorSample(**v) for v in values["per_executor"])
    operators = ({**v, "upstream": tuple(v["upstream"])} for v in values["operators"])
    values["operators"] = tuple(OperatorSample(**v) for v in operators)
    values["batches"] = tuple(Batch(**{**v, "times": tuple(v.get("times", ()))}) for v in values["batches"])
    values["events"] = tuple(Event(**v) for v in values["events"])
    values["shape"] = _shape(values.get("shape"))
    return Observation(**values)


def _shape(values: Mapping[str, int] | None) -> ExecutorShape | None:
    return None if values is None else ExecutorShape(**values)


def _plain_step(step: Step) -> dict[str, Any]:
    """The stored form has the levers of the target next to the reason, as in earlier versions."""
    decision = step.decision
    levers = {**asdict(decision.target), "reason": decision.reason, "evidence": dict(decision.evidence)}
    return {"by": step.by, "decision": levers, "error": step.error}


def steps(text: str | None) -> tuple[Step, ...]:
    """The steps of a decision from their stored JSON."""
    return tuple(_step(values) for values in json.loads(text or "[]"))


def _step(values: Mapping[str, Any]) -> Step:
    stored = values["decision"]
    levers = (stored.get("per_operator"), stored.get("batch_limit"), _shape(stored.get("shape")))
    decision = Decision(Target(stored["executors"], *levers), stored["reason"], stored["evidence"])
    return Step(values["by"], decision, values.get("error"))
