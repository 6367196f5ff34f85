"""Keeps a store small, in steps of a few milliseconds that are taken while ticks are appended.

Rows of ticks become compressed blocks after about a minute, blocks become coarser with age, runs are removed. Every
step is a transaction of its own that reads what is there: several processes may keep house in one store.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.core import Tick
from tidegate.store.blocks import Numbered, pack, row, rows, unpack
from tidegate.store.folding import MINUTE, TEN_MINUTES, Grain, fold
from tidegate.store.retention import COARSE, FULL, Retention, RunAge
from tidegate.store.schema import transaction
from tidegate.store.tick_json import dump, lean, observation, steps, steps_text
from tidegate.store.troubles import trouble

#: into what each grain folds
GRAINS: tuple[Grain | None, ...] = (MINUTE, TEN_MINUTES, None)
#: rows of each grain that make a block, and rows that make one wherever a slot ends
ROWS, MOST = (60, 60, 144), (120, 120, 288)
#: seconds between two rounds through all runs
ROUND = 600.0
#: rows and blocks that one step removes, and pages that it gives back
PIECE, PAGES = 500, 64
#: free pages from which on they are given back
FREE = 1_000


@dataclass(slots=True)
class Housekeeper:
    db: sqlite3.Connection
    retention: Retention
    clock: Callable[[], float]
    #: marks runs whose process is gone
    close_abandoned: Callable[[], object]
    #: rows of each run that are in no block yet, and the slot of the last
    _rows: dict[str, int] = field(default_factory=dict)
    _slots: dict[str, float] = field(default_factory=dict)
    _chores: Iterator[None] | None = None
    _next: float = 0.0

    def appended(self, run: str, ticks: Sequence[Tick]) -> None:
        """Do a little after ticks were appended. What a lock or a full disk prevents is tried again later."""
        try:
            self._count(run, ticks)
            self._chore()
        except sqlite3.Error as error:
            self._chores = None
            if not trouble(error).passes:
                raise

    def ended(self, run: str) -> None:
        """Put what is left of a run's rows into blocks."""
        self._rows.pop(run, None)
        self._slots.pop(run, None)
        try:
            for grain in range(len(GRAINS)):
                while self._pack(run, grain, least=1):
                    pass
        except sqlite3.Error as error:
            if not trouble(error).passes:
                raise

    def _count(self, run: str, ticks: Sequence[Tick]) -> None:
        if run not in self._rows:
            self._rows[run] = self._waiting(run)
        else:
            self._rows[run] += len(ticks)
        slot = ticks[-1].observation.time // MINUTE.width
        ended = slot != self._slots.get(run)
        self._slots[run] = slot
        if self._rows[run] >= MOST[FULL] or (ended and self._rows[run] > ROWS[FULL]):
            self._tidy(run)
            self._rows[run] = self._waiting(run)

    def _waiting(self, run: str, grain: int = FULL) -> int:
        """Rows that are in no block yet, as far as they matter."""
        counted = f"SELECT count(*) FROM (SELECT 1 FROM ticks WHERE run = ? AND grain = ? LIMIT {10 * max(MOST)})"
        return int(self.db.execute(counted, (run, grain)).fetchone()[0])

    def _tidy(self, run: str, most: int = 4) -> None:
        """Blocks from the rows of a run that goes on, and coarser ticks from its oldest blocks."""
        for _ in range(most):
            if not self._pack(run, FULL):
                break
        age = self._age(run)
        for grain in range(len(GRAINS)) if age is not None and age.ended is None else ():
            assert age is not None
            for _ in range(most):
                if not self._coarsen(age, grain):
                    break
            if grain != FULL:
                self._pack(run, grain)

    def _chore(self) -> None:
        """The next step of the round through all runs, if there is one to take."""
        if self._chores is None:
            if self.clock() < self._next:
                return
            self._next = self.clock() + ROUND
            self._chores = self._round()
        if next(self._chores, StopIteration) is StopIteration:
            self._chores = None

    def _round(self) -> Iterator[None]:
        self.close_abandoned()
        yield
        for age in self._ages():
            yield from self._shrink(age)
        for id in self.retention.expired(self._ages(), self.clock()):
            yield from self._remove(id)
        while (id_ := self.retention.for_room(self._ages(), self._used())) is not None:
            yield from self._remove(id_)
        with transaction(self.db):
            self._forget()
        yield
        while self._pragma("freelist_count") > FREE and self._pragma("auto_vacuum"):
            # `execute` would take one page only, as it stops at the first of the rows without columns
            self.db.executescript(f"PRAGMA incremental_vacuum({PAGES})")
            yield

    def _shrink(self, age: RunAge) -> Iterator[None]:
        """All that is due for one run."""
        for grain in range(len(GRAINS)):
            while self._pack(age.id, grain, ROWS[grain] if age.ended is None else 1):
                yield
            while self._coarsen(age, grain):
                yield
        yield

    def _ages(self) -> list[RunAge]:
        return [_age(row) for row in self.db.execute(f"{AGES} ORDER BY created, runs.rowid")]

    def _age(self, run: str) -> RunAge | None:
        found = self.db.execute(f"{AGES} WHERE id = ?", (run,)).fetchone()
        return None if found is None else _age(found)

    def _pack(self, run: str, grain: int, least: int | None = None) -> bool:
        """Make a block of rows of one grain, if there are enough; says whether it did."""
        least = ROWS[grain] if least is None else least
        if self._waiting(run, grain) < least:  # without a lock, which others may need
            return False
        with transaction(self.db):
            found = self.db.execute(
                "SELECT number, ticks.time, observation, steps, acted FROM ticks LEFT JOIN decisions ON tick = number"
                " WHERE ticks.run = ? AND grain = ? ORDER BY number LIMIT ?",
                (run, grain, MOST[grain]),
            ).fetchall()
            count = cut([at for _, at, *_ in found], GRAINS[grain], least, MOST[grain])
            if count:
                self._insert_block(run, grain, found[:count])
                self._delete_rows(found[0][0], found[count - 1][0], run, grain)
        return count > 0

    def _insert_block(
        self, run: str, grain: int, found: Sequence[tuple[int, float, str, str | None, int | None]]
    ) -> None:
        coarser = GRAINS[grain]
        folded = None if coarser is None else fold(_readable(found), coarser, self._before(run, found[0][0]))
        times = [at for _, at, *_ in found]
        self.db.execute(
            "INSERT INTO blocks (last, first, run, grain, begin, until, ticks, folds, data, folded)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                found[-1][0],
                found[0][0],
                run,
                grain,
                min(times),
                max(times),
                len(found),
                len(found if folded is None else folded),
                pack(row(n, observed, decided, bool(acted)) for n, _, observed, decided, acted in found),
                None if folded is None else pack(rows(folded)),
            ),
        )

    def _before(self, run: str, number: int) -> Tick | None:
        """The tick before one, from the block before: what it folds into ends with the same executors."""
        found = self.db.execute(
            "SELECT data, folded FROM blocks WHERE run = ? AND last < ? ORDER BY last DESC LIMIT 1", (run, number)
        ).fetchone()
        ticks = [] if found is None else _unpacked(found[1] or found[0])
        return ticks[-1][1] if ticks else None

    def _delete_rows(self, first: int, last: int, run: str, grain: int) -> None:
        chosen = "SELECT number FROM ticks WHERE run = ? AND grain = ? AND number BETWEEN ? AND ?"
        values = (run, grain, first, last)
        self.db.execute(f"DELETE FROM decisions WHERE tick IN ({chosen})", values)
        self.db.execute(f"DELETE FROM ticks WHERE number IN ({chosen})", values)

    def _coarsen(self, age: RunAge, grain: int) -> bool:
        """Replace the oldest block of a grain by rows of the next one, if it is due; says whether it did. Of the
        coarsest grain, what is due is removed.
        """
        size = 0 if age.ended is None else self._size(age.id)
        horizon = self.retention.horizon(age, grain, self.newest(age.id), self.clock(), size)
        if horizon is None:
            return False
        if grain < COARSE and not self._due(age.id, grain, horizon):
            return False
        with transaction(self.db):
            found = self._due(age.id, grain, horizon)
            if not found:
                return grain == COARSE and self._drop_rows(age.id, horizon)
            last, folded = found
            self.db.execute("DELETE FROM blocks WHERE last = ?", (last,))
            if grain < COARSE:
                insert(self.db, age.id, _unpacked(folded), grain + 1)
        return True

    def _due(self, run: str, grain: int, horizon: float) -> tuple[int, bytes] | None:
        """Number and folded ticks of the oldest block of a grain, if it is older than the horizon."""
        found = self.db.execute(
            "SELECT last, folded, until FROM blocks WHERE run = ? AND grain = ? ORDER BY last LIMIT 1", (run, grain)
        ).fetchone()
        return None if found is None or found[2] >= horizon else (found[0], found[1])

    def _drop_rows(self, run: str, horizon: float) -> bool:
        """Rows of the coarsest grain that are older than everything; says whether there were any."""
        old = f"SELECT number FROM ticks WHERE run = ? AND grain = {COARSE} AND time < ? LIMIT {PIECE}"
        self.db.execute(f"DELETE FROM decisions WHERE tick IN ({old})", (run, horizon))
        return self.db.execute(f"DELETE FROM ticks WHERE number IN ({old})", (run, horizon)).rowcount > 0

    def newest(self, run: str) -> float:
        """Time of the newest tick of a run."""
        for newest in (
            "SELECT time FROM ticks WHERE run = ? ORDER BY number DESC LIMIT 1",
            "SELECT until FROM blocks WHERE run = ? ORDER BY last DESC LIMIT 1",
        ):
            found = self.db.execute(newest, (run,)).fetchone()
            if found is not None:
                return float(found[0])
        return 0.0

    def _size(self, run: str) -> int:
        return int(self.db.execute("SELECT coalesce(sum(ticks), 0) FROM blocks WHERE run = ?", (run,)).fetchone()[0])

    def _remove(self, run: str) -> Iterator[None]:
        """A run, piece by piece, its row last: what is interrupted goes on in the next round."""
        pieces = (
            f"DELETE FROM decisions WHERE tick IN (SELECT number FROM ticks WHERE run = ? LIMIT {PIECE})",
            f"DELETE FROM ticks WHERE number IN (SELECT number FROM ticks WHERE run = ? LIMIT {PIECE})",
            f"DELETE FROM blocks WHERE last IN (SELECT last FROM blocks WHERE run = ? LIMIT {PIECE // 10})",
        )
        while True:
            with transaction(self.db):
                if not sum(self.db.execute(piece, (run,)).rowcount for piece in pieces):
                    self.db.execute("DELETE FROM health WHERE run = ?", (run,))
                    self.db.execute("DELETE FROM runs WHERE id = ?", (run,))
                    break
            yield
        yield

    def _forget(self) -> None:
        """The memories that were saved longest ago."""
        newest = "SELECT rowid FROM memories ORDER BY time DESC LIMIT ?"
        self.db.execute(f"DELETE FROM memories WHERE rowid NOT IN ({newest})", (self.retention.memories,))

    def _used(self) -> int:
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self.db.execute(f"PRAGMA {name}").fetchone()[0])


#: a run of an earlier version did not say when it ended
AGES = (
    "SELECT id, created, runs.status, coalesce(ended, health.time, created), json_extract(spec, '$.engine')"
    " FROM runs LEFT JOIN health ON health.run = id"
)


def _age(found: tuple[str, float, str, float, str | None]) -> RunAge:
    id, created, status, ended, engine = found
    return RunAge(id, created, None if status == "running" else ended, simulated=engine not in {None, "spark"})


def insert(db: sqlite3.Connection, run: str, ticks: Sequence[Numbered], grain: int) -> None:
    """Rows of ticks with their numbers, inside a transaction."""
    for number, tick in ticks:
        obs, decision = tick.observation, tick.decision
        db.execute(
            "INSERT INTO ticks (number, run, time, observation, grain) VALUES (?, ?, ?, ?, ?)",
            (number, run, obs.time, dump(lean(obs)), grain),
        )
        if decision is not None:
            decided = (decision.executors, tick.acted, decision.reason, steps_text(tick), dump(lean(decision.target)))
            db.execute(
                "INSERT INTO decisions (tick, run, time, requested, executors, acted, reason, steps, target)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, run, obs.time, obs.requested, *decided),
            )


def cut(times: Sequence[float], coarser: Grain | None, least: int, most: int) -> int:
    """How many of some rows make the next block: up to the end of a slot of the coarser grain, so that what a block
    folds into has whole slots; none while there are fewer than `least`.

    >>> cut([float(t) for t in range(150)], MINUTE, least=120, most=240), cut([1.0, 2.0], MINUTE, least=120, most=240)
    (120, 0)
    >>> cut([0.1 * t for t in range(240)], MINUTE, least=120, most=240), cut([1.0, 2.0], MINUTE, least=1, most=240)
    (240, 2)
    """
    count = len(times)
    if not count or count < least:
        return 0
    if coarser is None or least == 1:
        return count
    slots = [time // coarser.width for time in times]
    ends = (k for k in range(count - 1, 0, -1) if slots[k] != slots[k - 1])
    return next(ends, count if count >= most else 0)


def _readable(found: Sequence[tuple[int, float, str, str | None, int | None]]) -> list[Numbered]:
    """What cannot be read as a tick, whoever wrote it, cannot be folded either."""
    ticks = []
    for number, _, observed, decided, acted in found:
        try:
            ticks.append((number, Tick(observation(json.loads(observed)), steps(decided), bool(acted))))
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
    return ticks


def _unpacked(data: bytes) -> list[Numbered]:
    try:
        return list(unpack(data))
    except (zlib.error, TypeError, ValueError, KeyError, AttributeError):
        return []
