"""The executors of one application, shared by all queries that are attached to it.

Executors belong to the application, so there is one owner of their total. Each query has a share, and the total is
their sum. Spark runs the tasks of every query on every executor, so a share is not a set of executors but a number:
what the query would need on its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tidegate.core import Event, InvalidInput, UnknownName
from tidegate.spark.actuator import Actuator, Keeper, Stateless

log = logging.getLogger(__name__)

#: what to do if somebody else changes the total: declare ours again, or leave theirs alone for a while
FOREIGN = ("correct", "respect")
#: seconds for which the total of somebody else is left alone
RESPECT = 600.0

#: creates the actuator, given the event that is set at the end of each batch, and who keeps the state of all queries
MakeActuator = Callable[[threading.Event, Keeper], Actuator]


@dataclass(slots=True)
class _Share:
    name: str
    executors: int
    #: the most executors that the application may have, as far as this query is concerned
    maximum: int | None
    #: whether the query still runs
    alive: Callable[[], bool]
    keeper: Keeper = field(default_factory=Stateless)
    reason: str = ""
    attached: bool = True
    events: list[Event] = field(default_factory=list)


def portions(shares: Sequence[int], whole: int) -> list[int]:
    """A whole number split in proportion to shares, by largest remainders; earlier shares win ties.

    >>> portions([2, 1], 3), portions([2, 1], 2), portions([1, 1, 1], 7)
    ([2, 1], [1, 1], [3, 2, 2])
    """
    total = sum(shares)
    if total <= 0:
        return [0] * len(shares)
    exact = [share * whole / total for share in shares]
    parts = [int(part) for part in exact]
    order = sorted(range(len(shares)), key=lambda k: (parts[k] - exact[k], k))
    for k in order[: whole - sum(parts)]:
        parts[k] += 1
    return parts


class Pool:
    """The shares of one application. All methods are safe to call from several threads."""

    def __init__(self, application: str, make: MakeActuator) -> None:
        self.application = application
        #: set at the end of each batch of any query
        self.boundary = threading.Event()
        self._lock = threading.RLock()
        self._shares: dict[str, _Share] = {}
        self.actuator = make(self.boundary, self)
        self._held: tuple[float, str] | None = None

    def add(self, query: str, share: _Share) -> None:
        """Add a query. One that was attached before continues with the share it had."""
        with self._lock:
            present = self._shares.get(query)
            if present is not None and present.attached and present.alive():
                raise InvalidInput(
                    f"query {present.name} is scaled by another attachment already: detach that first, or watch with"
                    ' mode="monitor"'
                )
            if present is not None:
                share.executors = present.executors
            elif self._shares:
                self._make_room()
            self._shares[query] = share

    def _make_room(self) -> None:
        """A new query counts one executor, which the largest share gives up if it has more than one: nothing changes
        because a query is attached.
        """
        largest = max(self._shares.values(), key=lambda share: share.executors)
        if largest.executors > 1:
            largest.executors -= 1

    def share(self, query: str) -> int:
        with self._lock:
            return self._shares[query].executors

    def others(self, query: str) -> int:
        with self._lock:
            return sum(share.executors for id, share in self._shares.items() if id != query)

    def present(self, query: str, running: int) -> int:
        """The part of the running executors that counts as this query's; all of them if it is alone."""
        with self._lock:
            ids, shares = list(self._shares), [share.executors for share in self._shares.values()]
            outstanding = sum(shares) - self.actuator.requested
        return portions(shares, max(0, running + outstanding))[ids.index(query)]

    @property
    def partitions(self) -> dict[str, int]:
        """State partitions by executor, of all queries together."""
        total: dict[str, int] = {}
        for keeper in self._keepers():
            for executor, partitions in keeper.partitions.items():
                total[executor] = total.get(executor, 0) + partitions
        return total

    def release(self, ids: Collection[str]) -> bool:
        """Place the state of executors that are to go on others, for all queries; True if all is placed."""
        placed = [keeper.release(ids) for keeper in self._keepers()]  # each of them, also if an earlier one needs time
        return all(placed)

    def _keepers(self) -> list[Keeper]:
        with self._lock:
            return [share.keeper for share in self._shares.values()]

    def want(self, query: str, executors: int, reason: str) -> None:
        """Set a query's share and declare the new total. The sum stays within the largest maximum of all queries."""
        with self._lock:
            self._forget_ended(query)
            share = self._shares[query]
            limits = [other.maximum for other in self._shares.values() if other.maximum is not None]
            room = max(limits) - self.others(query) if limits else executors
            share.executors, share.reason = max(1, min(executors, room)), reason
            self._declare()

    def _declare(self) -> None:
        total = sum(share.executors for share in self._shares.values())
        if len(self._shares) > 1 and total != self.actuator.requested:
            parts = ", ".join(
                f"{s.name} {s.executors} ({s.reason or 'nothing asked yet'})" for s in self._shares.values()
            )
            self._tell("SharedRescale", f"{self.actuator.requested} -> {total} executors: {parts}")
        self.actuator.scale(total)

    def _forget_ended(self, asking: str) -> None:
        """Drop shares of queries that were detached and have ended since."""
        gone = [id for id, s in self._shares.items() if id != asking and not s.attached and not s.alive()]
        for id in gone:
            del self._shares[id]

    def _tell(self, kind: str, message: str) -> None:
        for share in self._shares.values():
            share.events.append(Event(time.time(), kind, message))

    def check(self, query: str, now: float, running: int, foreign: str) -> list[Event]:
        """Events of the application since this query's last call."""
        with self._lock:
            self._notice(now, foreign)  # first, as the actuator removes executors that nobody here asked for
            for event in self.actuator.check(now, running):
                for share in self._shares.values():
                    share.events.append(event)
            share = self._shares[query]
            events, share.events = share.events, []
            return events

    def held(self, now: float) -> str:
        """Why nothing may be rescaled; empty if there is no reason."""
        with self._lock:
            if self._held is None or now >= self._held[0]:
                self._held = None
                return ""
            return self._held[1]

    def _notice(self, now: float, foreign: str) -> None:
        total = self.actuator.foreign_total()
        requested = self.actuator.requested
        if total is None or total == requested:
            return
        text = f"somebody else set the application's total to {total} executors, {requested} were requested"
        if foreign == "correct":
            self._tell("ForeignChange", f"{text}: corrected")
            self.actuator.repeat()
            return
        self._tell("ForeignChange", f"{text}: respected for {RESPECT:g} s")
        self._held = (now + RESPECT, f"{text}; it is respected for {RESPECT:g} s")
        self.actuator.adopt(total)
        shares = list(self._shares.values())
        for share, part in zip(shares, portions([s.executors for s in shares], total), strict=True):
            share.executors = max(1, part)

    def leave(self, query: str, share: _Share) -> bool:
        """Detach a query. Its share stays while it runs, and is released once it has ended; True if it was the last."""
        with self._lock:
            if self._shares.get(query) is not share:  # the query was restarted, and another attachment follows it
                return False
            share.attached = False
            share.keeper = Stateless()  # nobody moves its state any more, nor looks where it is
            attached = any(other.attached for other in self._shares.values())
            if not share.alive():
                del self._shares[query]
                if attached:
                    share.executors, share.reason = 0, "ended"
                    self._tell("SharedRescale", f"query {share.name} has ended and releases its executors")
                    self._declare()
            if not attached:
                self.actuator.close()
            return not attached


_lock = threading.Lock()
_pools: dict[str, Pool] = {}


class Membership:
    """One query's part of its application's pool, from creation to `leave`.

    `maximum` is the most executors that the application may have; with several queries, the largest one counts.
    """

    def __init__(  # noqa: PLR0913, who joins and on which terms
        self,
        application: str,
        query: str,
        name: str,
        make: MakeActuator,
        *,
        maximum: int | None = None,
        alive: Callable[[], bool] = lambda: True,
        keeper: Keeper = Stateless(),  # noqa: B008, it has no state
        foreign: str = "correct",
    ) -> None:
        if foreign not in FOREIGN:
            raise UnknownName("way to treat foreign changes", foreign, FOREIGN)
        self._query, self._foreign, self._left = query, foreign, False
        with _lock:
            pool = _pools.get(application)
            first = pool is None
            if pool is None:
                pool = Pool(application, make)
            self._share = _Share(name, pool.actuator.requested if first else 1, maximum, alive, keeper)
            pool.add(query, self._share)
            _pools[application] = pool
        self._pool = pool

    @property
    def actuator(self) -> Actuator:
        return self._pool.actuator

    @property
    def boundary(self) -> threading.Event:
        return self._pool.boundary

    @property
    def requested(self) -> int:
        return self._pool.share(self._query)

    @property
    def others(self) -> int:
        return self._pool.others(self._query)

    def present(self, running: int) -> int:
        return self._pool.present(self._query, running)

    def scale(self, executors: int, reason: str = "") -> None:
        self._pool.want(self._query, executors, reason)

    def check(self, now: float, running: int) -> list[Event]:
        return self._pool.check(self._query, now, running, self._foreign)

    def held(self, now: float) -> str:
        return self._pool.held(now)

    def leave(self) -> None:
        """A second call does nothing."""
        if self._left:
            return
        self._left = True
        with _lock:
            if self._pool.leave(self._query, self._share):
                _pools.pop(self._pool.application, None)
