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

from tidegate.core import Batch, Decision, Event, ExecutorSample, InvalidInput, Observation, OperatorSample, Step, Tick

#: of the command line and of attached queries, below the folder they run in
DEFAULT_PATH = Path(".tidegate") / "tidegate.db"

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, created REAL NOT NULL, status TEXT NOT NULL, spec TEXT NOT NULL, result TEXT
);
CREATE TABLE IF NOT EXISTS ticks (
    number INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES runs (id), time REAL NOT NULL, observation TEXT NOT NULL
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
"""


@dataclass(frozen=True, slots=True)
class Run:
    """`status` is running, done, interrupted or failed; a running one whose writer died stays running."""

    id: str
    created: float
    status: str
    spec: Mapping[str, Any]
    result: Mapping[str, Any] | None = None


class Store:
    """
    >>> with Store.open(":memory:") as store:
    ...     run = store.begin({"job": "q1"})
    ...     store.append(run, Tick(Observation(time=1.0, executors=2, requested=2)))
    ...     [tick.observation.executors for _, tick in store.ticks(run)]
    [2]
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    @contextmanager
    def open(cls, path: str | Path) -> Iterator[Store]:
        try:
            if str(path) != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise InvalidInput(f"cannot use {path} as a store of runs: {error}") from None
        try:
            yield cls(connection)
        finally:
            connection.close()

    def begin(self, spec: Mapping[str, Any]) -> str:
        """A new run; its id sorts by time and is unique among runs started at once."""
        created = time.time()
        stem = time.strftime("%Y%m%d-%H%M%S", time.localtime(created))
        for number in range(1000):
            id = f"{stem}-{number}" if number else stem
            try:
                values = (id, created, "running", json.dumps(spec))
                self._db.execute("INSERT INTO runs (id, created, status, spec) VALUES (?, ?, ?, ?)", values)
                return id
            except sqlite3.IntegrityError:
                continue
        raise InvalidInput(f"a thousand runs began in the second {stem}: one store is not meant for that")

    def append(self, run: str, tick: Tick) -> None:
        obs, decision = tick.observation, tick.decision
        seen, steps = json.dumps(asdict(obs)), json.dumps([asdict(step) for step in tick.steps])
        self._db.execute("BEGIN")
        cursor = self._db.execute("INSERT INTO ticks (run, time, observation) VALUES (?, ?, ?)", (run, obs.time, seen))
        if decision is not None:
            chosen = (decision.executors, tick.acted, decision.reason, steps)
            self._db.execute(
                "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (cursor.lastrowid, run, obs.time, obs.requested, *chosen),
            )
        self._db.execute("COMMIT")

    def end(self, run: str, status: str, result: Mapping[str, Any] | None = None) -> None:
        values = (status, None if result is None else json.dumps(result), run)
        self._db.execute("UPDATE runs SET status = ?, result = ? WHERE id = ?", values)

    def remember(self, job: str, policy: str, memory: Mapping[str, Any]) -> None:
        """Keep what a policy has learned about a job, in the place of what it had."""
        values = (job, policy, time.time(), json.dumps(memory))
        self._db.execute("INSERT OR REPLACE INTO memories VALUES (?, ?, ?, ?)", values)

    def memory(self, job: str, policy: str) -> Mapping[str, Any] | None:
        found = self._db.execute("SELECT memory FROM memories WHERE job = ? AND policy = ?", (job, policy)).fetchone()
        return None if found is None else dict(json.loads(found[0]))

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
        for number, seen, told, acted in rows:
            yield number, Tick(observation(json.loads(seen)), steps(told), bool(acted))


def _run(row: tuple[str, float, str, str, str | None]) -> Run:
    id, created, status, spec, result = row
    return Run(id, created, status, json.loads(spec), None if result is None else json.loads(result))


def observation(values: dict[str, Any]) -> Observation:
    """From plain values, as they are stored."""
    values["per_executor"] = tuple(ExecutorSample(**v) for v in values["per_executor"])
    operators = ({**v, "upstream": tuple(v["upstream"])} for v in values["operators"])
    values["operators"] = tuple(OperatorSample(**v) for v in operators)
    values["batches"] = tuple(Batch(**{**v, "times": tuple(v.get("times", ()))}) for v in values["batches"])
    values["events"] = tuple(Event(**v) for v in values["events"])
    return Observation(**values)


def steps(text: str | None) -> tuple[Step, ...]:
    """Of a decision, from the JSON that is stored."""
    return tuple(Step(v["by"], Decision(**v["decision"])) for v in json.loads(text or "[]"))
