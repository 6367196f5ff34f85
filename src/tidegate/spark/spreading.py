"""Keeps the state of a query spread evenly over its executors, and off those that are about to go.

At the end of each batch it looks who holds what, and enters for the partitions that are to move another executor
(see `cluster.state_stores`). The next batch loads them there. What a task of a batch that is running already enters
again is corrected after it. Nothing is left to be undone, whenever it ends.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tidegate.capacity.placement import Move, affordable, moves, portion
from tidegate.cluster.executors import Executor
from tidegate.cluster.jvm import JvmError
from tidegate.cluster.state_stores import Group, Stores, counted
from tidegate.core import Event

log = logging.getLogger(__name__)

#: batches after which an even placement is looked at again
LOOK = 10
#: batches in a row without progress after which it is left alone until the executors change
TRIES = 10
#: bytes of state that an executor loads per second from its checkpoint, until that has been measured
RATE = 50e6


@dataclass(slots=True)
class _State:
    """Accessed only under the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    events: list[Event] = field(default_factory=list)
    #: partitions by executor
    held: dict[str, int] = field(default_factory=dict)
    #: why the pool is not even yet; empty if it is
    uneven: str = ""
    #: executors that are to go
    leaving: frozenset[str] = frozenset()
    #: executors for which the placement is even, or was given up
    settled: frozenset[str] = frozenset()
    closed: bool = False


class StateSpreader:
    """Spreads the state of one query in a thread of its own. `boundary` is to be set at the end of each batch.

    `seconds` is how much longer a batch may take because of what it loads: of larger state, a few partitions move per
    batch. How fast executors load it is what they were last seen to do, `rate` before that.
    """

    def __init__(
        self, stores: Stores, executors: Callable[[], Sequence[Executor]], seconds: float = 5.0, rate: float = RATE
    ) -> None:
        self._stores, self._executors, self._seconds, self._rate = stores, executors, seconds, rate
        self.boundary = threading.Event()
        self._state = _State()
        self._size: float | None = None
        #: batches since the executors changed, or since the last look
        self._batches = 0
        #: partitions that were to move after the last batch, the fewest since the executors changed, and for how many
        #: batches that number has not fallen
        self._wanted, self._fewest, self._stuck = 0, math.inf, 0
        #: executors at the last turn, and those for which spreading was given up
        self._present: frozenset[str] = frozenset()
        self._given_up: frozenset[str] | None = None
        self._warned = False
        #: partitions entered since the last batch, by group and executor: what the next batch loads
        self._entered: dict[Group, Counter[str]] = {}
        #: a turn is made by this thread at the end of a batch, or by the actuator's before executors go
        self._turning = threading.Lock()
        #: whether executors have come since the last batch
        self._arrived = False
        self._thread = threading.Thread(target=self._work, name="tidegate-state", daemon=True)
        self._thread.start()

    @property
    def partitions(self) -> dict[str, int]:
        """State partitions by executor, when they were last looked at."""
        with self._state.lock:
            return dict(self._state.held)

    def uneven(self, present: Collection[str]) -> str:
        """Why figures of the executors do not yet show what they can do together; empty if they do."""
        with self._state.lock:
            if not self._state.held or frozenset(present) - self._state.leaving <= self._state.settled:
                return ""
            return self._state.uneven or "new executors hold no state yet"

    def note(self, size: int | None, rate: float | None = None) -> None:
        """The bytes of state of the last batch, and the bytes per second at which it was last loaded."""
        self._size, self._rate = size, rate or self._rate

    def look(self, executors: Sequence[Executor]) -> None:
        """Notice executors that have come between two batches, so that the next batch uses them already."""
        with self._state.lock:
            new = not self._state.settled >= {e.id for e in executors} - self._state.leaving
        if new and self._state.held and not any(executor.active_tasks for executor in executors):
            self._arrived = True
            self.boundary.set()

    def follow(self, stores: Stores) -> None:
        """Go on with the stores of a query that was restarted."""
        with self._turning:
            self._stores = stores
            with self._state.lock:
                self._state.held, self._state.settled, self._state.uneven = {}, frozenset(), ""

    def take_events(self) -> list[Event]:
        with self._state.lock:
            events, self._state.events = self._state.events, []
            return events

    def release(self, ids: Collection[str]) -> bool:
        """Place what some executors hold on others; True if they may go now, False if more batches are needed.

        To be called between two batches, and without ids if they stay after all.
        """
        with self._state.lock:
            self._state.leaving = frozenset(ids)
        if not ids:
            return True
        try:
            return self._turn(ended=False) == 0
        except (JvmError, TypeError, KeyError) as error:
            log.debug("state is not moved before executors go: %s", error)
            return True

    def close(self) -> None:
        with self._state.lock:
            self._state.closed = True
        self.boundary.set()
        self._thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            self.boundary.wait()
            self.boundary.clear()
            with self._state.lock:
                if self._state.closed:
                    return
            arrived, self._arrived = self._arrived, False
            try:
                self._turn(ended=not arrived)
            except Exception as error:  # the placement of state must not end because of one failed look
                log.debug("state is not spread after this batch: %s", error)

    def _turn(self, *, ended: bool) -> int:
        """Move what is due, and returns how many partitions of leaving executors are still to be moved. `ended` if a
        batch has ended, as what was entered before a batch shows only at its end whether it stays.
        """
        with self._turning:
            return self._moved(ended)

    def _moved(self, ended: bool) -> int:
        with self._state.lock:
            leaving, settled = self._state.leaving, self._state.settled
        listed = self._executors()
        staying = [executor for executor in listed if executor.id not in leaving]
        present = frozenset(executor.id for executor in staying)
        self._batches += ended
        if present != self._present:
            self._present, self._given_up, self._fewest, self._stuck = present, None, math.inf, 0
        rests = self._batches < LOOK or present == self._given_up
        if not staying or (present == settled and not leaving and rests):
            return 0
        self._batches = 0
        if ended:
            self._entered.clear()
        held, wanted, due, rest = self._move(staying, leaving)
        if due or ended:
            self._conclude(present, held, wanted, due)
        with self._state.lock:
            self._state.leaving &= {executor.id for executor in listed}
        return rest

    def _move(self, staying: Sequence[Executor], leaving: frozenset[str]) -> tuple[dict[str, int], int, int, int]:
        """Partitions by executor, those that had to move, those that were moved, and those that still bind an executor
        that is to go.
        """
        slots, hosts = {e.id: e.cores for e in staying}, {e.id: e.host for e in staying}
        held: dict[str, int] = {}
        wanted = due = rest = 0
        for group in self._stores.groups():
            if group.partitions < 2:  # it can be nowhere but in one place
                continue
            holders = self._stores.holders(group)
            held = dict(counted([place[0] for place in holders]))
            every = moves(holders, slots)
            first = sorted(every, key=lambda move: not leaving & set(holders[move.partition]))
            each = affordable(self._partition_bytes(group.partitions), self._seconds, self._rate)
            entered = self._entered.setdefault(group, Counter())
            now = portion(first, each, entered)
            for move in now:
                self._stores.place(group, move.partition, move.executor, hosts[move.executor])
                entered[move.executor] += 1
            wanted, due = wanted + len(every), due + len(now)
            rest += _bound(set(first) - set(now), holders, leaving)
            self._report_ceiling(len(staying), sum(slots.values()), group.partitions)
        return held, wanted, due, rest

    def _partition_bytes(self, partitions: int) -> float | None:
        return None if self._size is None else self._size / partitions

    def _conclude(self, present: frozenset[str], held: dict[str, int], wanted: int, due: int) -> None:
        self._stuck = 0 if wanted < self._fewest else self._stuck + 1
        self._fewest = min(self._fewest, wanted) if wanted else math.inf
        before, self._wanted = self._wanted, wanted
        with self._state.lock:
            state = self._state
            state.held = held
            state.uneven = _on_their_way(wanted)
            if not wanted:
                if before and held:
                    state.events.append(self._event("StateSpread", f"state partitions by executor: {_shown(held)}"))
                state.settled = present
            elif self._stuck >= TRIES:
                text = f"{wanted} state partitions do not stay where they are placed: is spark.locality.wait 0?"
                state.events.append(self._event("StateUneven", text))
                state.settled, self._given_up, self._wanted = present, present, 0
            else:
                state.settled = frozenset()
                if not before or due < wanted:
                    text = f"{_moving(due, wanted)} to other executors with the next batch"
                    state.events.append(self._event("StateMoving", text))

    def _report_ceiling(self, executors: int, slots: int, partitions: int) -> None:
        if slots <= partitions:
            self._warned = False
        elif not self._warned:
            self._warned = True
            work = f"no more than {partitions} can work on state: it has {partitions} partitions"
            text = f"{executors} executors with {slots} slots, but {work}"
            with self._state.lock:
                self._state.events.append(self._event("StateCeiling", text))

    def _event(self, kind: str, message: str) -> Event:
        log.info("%s: %s", kind, message)
        return Event(time.time(), kind, message)


def _on_their_way(partitions: int) -> str:
    if not partitions:
        return ""
    if partitions == 1:
        return "1 state partition is on its way"
    return f"{partitions} state partitions are on their way"


def _moving(due: int, wanted: int) -> str:
    """
    >>> _moving(1, 1), _moving(9, 9), _moving(2, 9)
    ('1 state partition moves', '9 state partitions move', '2 of 9 state partitions move')
    """
    if due < wanted:
        return f"{due} of {wanted} state partitions move"
    return "1 state partition moves" if due == 1 else f"{due} state partitions move"


def _bound(moves: Collection[Move], holders: Sequence[Sequence[str | None]], leaving: Collection[str]) -> int:
    return sum(1 for move in moves if set(leaving) & set(holders[move.partition]))


def _shown(held: dict[str, int]) -> str:
    """
    >>> _shown({"10": 3, "2": 4})
    '2: 4, 10: 3'
    """
    ordered = sorted(held, key=lambda id: (len(id), id))
    return ", ".join(f"{id}: {held[id]}" for id in ordered)
