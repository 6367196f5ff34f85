"""The flow of records through a graph, modelled as a fluid: how many records wait in front of each operator, and how
many it has taken in.

Sources read from an unbounded backlog. All other operators have a bounded input buffer. In each step an operator takes
in as many records as its workers can process, its input holds, and the buffers downstream have room for; in the last
case it is held up. If several operators feed the same buffer, each may use the share of the free space that corresponds
to its long-run share of the input.

Completed records are counted in records of the workload: the minimum over all final operators of the records taken in,
divided by the operator's records per workload record. Records are conserved: what a source was given equals what it has
taken in, what is waiting, and what was dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.sim.graph import Graph

#: index of an operator, and for each operator it feeds the index and a factor
Feeds = tuple[int, tuple[tuple[int, float], ...]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A checkpoint: the records that each operator had taken in, those waiting and dropped, and all arrivals so far."""

    taken: tuple[float, ...]
    waiting: tuple[float, ...]
    dropped: tuple[float, ...]
    arrived: float


@dataclass(slots=True)
class Flow:
    """All lists are indexed by operator, in the order of the graph. `buffer` is the size of an input buffer, in seconds
    of the input rate of all workers of an operator.
    """

    graph: Graph
    buffer: float
    step: float
    waiting: list[float] = field(init=False)
    taken: list[float] = field(init=False)
    dropped: list[float] = field(init=False)
    #: sums over steps: the share of the step in which it was held up, and the records waiting in its buffer
    held: list[float] = field(init=False)
    filled: list[float] = field(init=False)
    #: records per step that each operator can take in, the size of its buffer, and the workload records per step that
    #: the slowest operator allows
    most: list[float] = field(init=False)
    rooms: list[float] = field(init=False)
    capacity: float = 0.0
    #: no records are waiting anywhere
    calm: bool = True
    #: workload records that were dropped; the mean if several sources drop different shares
    skipped: float = 0.0
    #: workload records that passed while calm and are not yet included in `taken`
    _through: float = 0.0
    _shares: list[float] = field(init=False)
    _down: tuple[Feeds, ...] = field(init=False)
    _up: tuple[Feeds, ...] = field(init=False)
    #: final operators with their ratio, and sources with their share
    _ends: tuple[tuple[int, float], ...] = field(init=False)
    _sources: tuple[tuple[int, float], ...] = field(init=False)
    _able: list[float] = field(init=False)
    _accepted: list[float] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.graph.operators)
        self.waiting, self.taken, self.dropped, self.held = ([0.0] * count for _ in range(4))
        self.filled, self._able, self._accepted = ([0.0] * count for _ in range(3))
        self._shares = [0.0 if operator.upstream else operator.share for operator in self.graph.operators]
        self._sources = tuple((k, share) for k, share in enumerate(self._shares) if share)
        self._wire()

    def _wire(self) -> None:
        operators, ratios = self.graph.operators, self.graph.ratios
        consumers = [
            [j for j, other in enumerate(operators) if operator.name in other.upstream] for operator in operators
        ]
        self._down = tuple((k, tuple((j, operators[k].selectivity) for j in fed)) for k, fed in enumerate(consumers))
        # k may use the share selectivity * ratio k / ratio j of the space of j, and needs selectivity for each record
        sends = [bool(operator.selectivity and ratio) for operator, ratio in zip(operators, ratios, strict=True)]
        rooms = [tuple((j, ratios[k] / ratios[j]) for j in fed if sends[k]) for k, fed in enumerate(consumers)]
        self._up = tuple((k, rooms[k]) for k in reversed(range(len(operators))))
        self._ends = tuple((k, ratios[k]) for k in range(len(operators)) if ratios[k] and not rooms[k])

    def resize(self, parallelism: Mapping[str, int], luck: Sequence[float] = ()) -> None:
        """Change the numbers of workers, and the buffers with them. `luck` is the speed of each operator relative to
        its nominal one.
        """
        paces = luck or [1.0] * len(self.graph.operators)
        pairs = zip(self.graph.operators, paces, strict=True)
        rates = [operator.capacity(parallelism[operator.name]) * pace for operator, pace in pairs]
        self.most = [rate * self.step for rate in rates]
        self.rooms = [rate * self.buffer for rate in rates]
        allowed = [rate / ratio for rate, ratio in zip(rates, self.graph.ratios, strict=True) if ratio]
        self.capacity = min(allowed, default=math.inf) * self.step

    def run(self, arriving: float, pace: float = 1.0) -> None:
        """One step, in which workers run at `pace` times their nominal speed."""
        if self.calm and arriving <= self.capacity * pace:
            self._through += arriving
            return
        if self._through:
            self._settle()
        most, able, accepted, waiting, rooms = self.most, self._able, self._accepted, self.waiting, self.rooms
        for k, feeds in self._up:
            can = most[k] * pace
            for j, part in feeds:
                room = accepted[j] * part
                if room < can:
                    can = room if room > 0 else 0.0
            able[k] = can
            accepted[k] = rooms[k] - waiting[k] + can
        shares, taken, filled, held = self._shares, self.taken, self.filled, self.held
        for k, feeds in self._down:
            there, can = waiting[k] + arriving * shares[k], able[k]
            if can >= there:
                can, waiting[k] = there, 0.0
            else:
                waiting[k] = there - can
                filled[k] += there - can
                if can < most[k] * pace:
                    held[k] += 1 - can / (most[k] * pace)
            taken[k] += can
            for j, selectivity in feeds:
                waiting[j] += can * selectivity
        self.calm = not any(waiting)

    def stand(self, arriving: float) -> None:
        """One step in which the query does not run."""
        for k, share in self._sources:
            self.waiting[k] += arriving * share
        self.calm = not any(self.waiting)

    def drop(self, retained: float) -> float:
        """Drop waiting records beyond the last `retained` ones of the workload. Returns how many were dropped."""
        total = 0.0
        for k, share in self._sources:
            expired = self.waiting[k] - retained * share
            if expired > 0:
                self.waiting[k] -= expired
                self.dropped[k] += expired
                total += expired
        if total:
            self.skipped = sum(self.dropped) / sum(share for _, share in self._sources)
        return total

    def through(self) -> float:
        """Completed records of the workload, including those that were dropped."""
        if self._through:
            self._settle()
        taken, ends = self.taken, self._ends
        if len(ends) == 1:
            k, ratio = ends[0]
            return taken[k] / ratio + self.skipped
        return min(taken[k] / ratio for k, ratio in ends) + self.skipped

    def drain(self) -> None:
        """Process everything that is in buffers, as a savepoint does."""
        mark = self.mark(0.0)
        self.taken, self.waiting = list(mark.taken), list(mark.waiting)
        self.calm = not any(self.waiting)

    def mark(self, arrived: float) -> Mark:
        """A checkpoint of the current state. It counts records in buffers as processed, because it is only complete
        after they are.
        """
        self._settle()
        taken, waiting, shares = list(self.taken), list(self.waiting), self._shares
        for k, feeds in self._down:
            if not shares[k]:
                taken[k] += waiting[k]
                for j, selectivity in feeds:
                    waiting[j] += waiting[k] * selectivity
                waiting[k] = 0.0
        return Mark(tuple(taken), tuple(waiting), tuple(self.dropped), arrived)

    def restore(self, mark: Mark, arrived: float) -> None:
        """Return to a checkpoint: everything that sources have read since is waiting again."""
        since = arrived - mark.arrived
        self._through, self.taken = 0.0, list(mark.taken)
        for k, share in enumerate(self._shares):
            self.waiting[k] = max(0.0, mark.waiting[k] + since * share - (self.dropped[k] - mark.dropped[k]))
        self.calm = not any(self.waiting)

    def _settle(self) -> None:
        for k, ratio in enumerate(self.graph.ratios):
            self.taken[k] += self._through * ratio
        self._through = 0.0
