"""Runs, ticks and decisions in one SQLite file (WAL): one process writes a run while others read along."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

#: what makes a store of each version from one of the version before; a store has its version as `user_version`
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
    # decisions know more than one lever
    "ALTER TABLE decisions ADD COLUMN target TEXT;",
)


@dataclass(frozen=True, slots=True)
class Run:
    """`status` is running, done, interrupted or failed; a running one whose writer died stays running."""

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
        """The store in a file, made or brought to this version if need be."""
        try:
            if str(path) != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            migrate(connection, path)
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use {path} as a store of runs: {error}") from None
        try:
            yield cls(connection)
        finally:
            connection.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """All of the block or nothing: what fails leaves no transaction open for the next one to trip over."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def begin(self, spec: RunSpec) -> str:
        """A new run; its id sorts by time and is unique among runs started at once."""
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
        seen, steps = json.dumps(asdict(obs)), json.dumps([_plain_step(step) for step in tick.steps])
        with self._whole():
            cursor = self._db.execute(
                "INSERT INTO ticks (run, time, observation) VALUES (?, ?, ?)", (run, obs.time, seen)
            )
            if decision is not None:
                target = json.dumps(asdict(decision.target))
                chosen = (decision.executors, tick.acted, decision.reason, steps, target)
                self._db.execute(
                    "INSERT INTO decisions (tick, run, time, requested, executors, acted, reason, steps, target)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (cursor.lastrowid, run, obs.time, obs.requested, *chosen),
                )

    def end(self, run: str, status: str, result: RunResult | None = None) -> None:
        values = (status, None if result is None else json.dumps(encode(result)), run)
        self._db.execute("UPDATE runs SET status = ?, result = ? WHERE id = ?", values)

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        """Keep what a policy has learned about a job, in the place of what it had."""
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
        """By its id, or `last`."""
        runs = self.runs()
        if id == "last" and runs:
            return runs[-1]
        for run in runs:
            if run.id == id:
                return run
        known = ", ".join(run.id for run in runs[-5:]) or "none yet"
        raise InvalidInput(f"no run {id!r} in the store (the last ones: {known})")

    def ticks(self, run: str, after: int = 0) -> Iterator[tuple[int, Tick]]:
        """Ticks with their numbers, those above `after` only: ask again with the last number to follow a live run."""
        rows = self._db.execute(
            "SELECT number, observation, steps, acted FROM ticks LEFT JOIN decisions ON tick = number"
            " WHERE ticks.run = ? AND number > ? ORDER BY number",
            (run, after),
        )
        for number, seen, chain, acted in rows:
            yield number, Tick(observation(json.loads(seen)), steps(chain), bool(acted))


@dataclass(frozen=True, slots=True)
class StoreSink:
    """Keeps every tick of a run."""

    store: Store
    run: str
    name: str = "store"

    def take(self, tick: Tick) -> None:
        self.store.append(self.run, tick)


def migrate(connection: sqlite3.Connection, path: str | Path) -> None:
    """Bring a store to this version, step by step, each whole or not at all; one of a later version is refused."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise InvalidInput(
            f"{path} was written by a later version of Tidegate: its schema is {version}, this one reads"
            f" up to {len(MIGRATIONS)}"
        )
    for number in range(version, len(MIGRATIONS)):
        # executescript ends an open transaction, so this is one of its own
        connection.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")


def _run(row: tuple[str, float, str, str, str | None]) -> Run:
    id, created, status, spec, result = row
    found = decode(RunSpec, json.loads(spec), f"run {id}")
    return Run(id, created, status, found, None if not result else _result(json.loads(result), id))


def _result(values: Any, id: str) -> RunResult | None:
    """An earlier version kept an empty one where nothing was known."""
    return decode(RunResult, {"run": id, "status": "", **values}, f"run {id}") if values else None


def observation(values: dict[str, Any]) -> Observation:
    """From plain values, as they are stored."""
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
    """Levers of the target stand beside the reason, as they always did."""
    decision = step.decision
    levers = {**asdict(decision.target), "reason": decision.reason, "evidence": dict(decision.evidence)}
    return {"by": step.by, "decision": levers, "error": step.error}


def steps(text: str | None) -> tuple[Step, ...]:
    """Of a decision, from the JSON that is stored."""
    return tuple(_step(values) for values in json.loads(text or "[]"))


def _step(values: Mapping[str, Any]) -> Step:
    told = values["decision"]
    levers = (told.get("per_operator"), told.get("batch_limit"), _shape(told.get("shape")))
    decision = Decision(Target(told["executors"], *levers), told["reason"], told["evidence"])
    return Step(values["by"], decision, values.get("error"))
