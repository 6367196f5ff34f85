"""Records on their way through a graph, as a fluid: how much waits before each operator, and how much it has taken.

Sources read from a backlog without end; every other operator has a bounded buffer before it. In a step an operator
takes at most what its workers can, what is there, and what the buffers after it have room for; then it is held up.
Where several operators feed one, each may use that part of the room that it would send in the long run.

What is through is counted in records of the workload: the least that an operator at an end has taken, over what it
takes for each record of the workload. No record is made or lost on the way: what a source was given is what it has
taken, what waits, and what was dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.sim.graph import Graph

#: operator, and for each that it feeds its number and a factor
Feeds = tuple[int, tuple[tuple[int, float], ...]]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the records were at a checkpoint: what each operator had taken, what waited, and what had arrived."""

    taken: tuple[float, ...]
    waiting: tuple[float, ...]
    dropped: tuple[float, ...]
    arrived: float


@dataclass(slots=True)
class Flow:
    """Lists are by operator, in the order of the graph. `buffer` is in seconds of the input of all its workers."""

    graph: Graph
    buffer: float
    step: float
    waiting: list[float] = field(init=False)
    taken: list[float] = field(init=False)
    dropped: list[float] = field(init=False)
    #: summed over steps: the share held up, and what waited in the buffer
    held: list[float] = field(init=False)
    filled: list[float] = field(init=False)
    #: records per step that each can take, what its buffer holds, and what the slowest allows of the workload
    most: list[float] = field(init=False)
    rooms: list[float] = field(init=False)
    capacity: float = 0.0
    #: nothing waits anywhere
    calm: bool = True
    #: records of the workload that were dropped; of several sources that drop different parts, the mean
    skipped: float = 0.0
    #: taken while calm, which is not yet in `taken`
    _through: float = 0.0
    _shares: list[float] = field(init=False)
    _down: tuple[Feeds, ...] = field(init=False)
    _up: tuple[Feeds, ...] = field(init=False)
    #: operators at an end with their ratio, and sources with their share
    _ends: tuple[tuple[int, float], ...] = field(init=False)
    _sources: tuple[tuple[int, float], ...] = field(init=False)
    _able: list[float] = field(init=False)
    _accepted: list[float] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.graph.operators)
        self.waiting, self.taken, self.dropped, self.held = ([0.0] * count for _ in range(4))
        self.filled, self._able, self._accepted = ([0.0] * count for _ in range(3))
        self._shares = [0.0 if one.upstream else one.share for one in self.graph.operators]
        self._sources = tuple((k, share) for k, share in enumerate(self._shares) if share)
        self._wire()

    def _wire(self) -> None:
        operators, ratios = self.graph.operators, self.graph.ratios
        fed = [[j for j, two in enumerate(operators) if one.name in two.upstream] for one in operators]
        self._down = tuple((k, tuple((j, operators[k].selectivity) for j in found)) for k, found in enumerate(fed))
        # k has the part selectivity * ratio k / ratio j of the room of j, and fills it with selectivity for each record
        sends = [bool(one.selectivity and ratio) for one, ratio in zip(operators, ratios, strict=True)]
        rooms = [tuple((j, ratios[k] / ratios[j]) for j in found if sends[k]) for k, found in enumerate(fed)]
        self._up = tuple((k, rooms[k]) for k in reversed(range(len(operators))))
        self._ends = tuple((k, ratios[k]) for k in range(len(operators)) if ratios[k] and not rooms[k])

    def resize(self, parallelism: Mapping[str, int], luck: Sequence[float] = ()) -> None:
        """Other numbers of workers, and buffers for them; `luck` is how fast each operator is for what it should be."""
        paces = luck or [1.0] * len(self.graph.operators)
        pairs = zip(self.graph.operators, paces, strict=True)
        rates = [one.capacity(parallelism[one.name]) * pace for one, pace in pairs]
        self.most = [rate * self.step for rate in rates]
        self.rooms = [rate * self.buffer for rate in rates]
        allowed = [rate / ratio for rate, ratio in zip(rates, self.graph.ratios, strict=True) if ratio]
        self.capacity = min(allowed, default=math.inf) * self.step

    def run(self, arriving: float, pace: float = 1.0) -> None:
        """One step, in which workers are `pace` times as fast as they should be."""
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
        """A step in which nothing is taken."""
        for k, share in self._sources:
            self.waiting[k] += arriving * share
        self.calm = not any(self.waiting)

    def drop(self, kept: float) -> float:
        """Of the workload's last records only `kept` are there for the sources; how many were dropped."""
        gone = 0.0
        for k, share in self._sources:
            old = self.waiting[k] - kept * share
            if old > 0:
                self.waiting[k] -= old
                self.dropped[k] += old
                gone += old
        if gone:
            self.skipped = sum(self.dropped) / sum(share for _, share in self._sources)
        return gone

    def through(self) -> float:
        """Records of the workload that are done with, those dropped included."""
        if self._through:
            self._settle()
        taken, ends = self.taken, self._ends
        if len(ends) == 1:
            k, ratio = ends[0]
            return taken[k] / ratio + self.skipped
        return min(taken[k] / ratio for k, ratio in ends) + self.skipped

    def drain(self) -> None:
        """All that is in buffers goes through, as at a savepoint."""
        mark = self.mark(0.0)
        self.taken, self.waiting = list(mark.taken), list(mark.waiting)
        self.calm = not any(self.waiting)

    def mark(self, arrived: float) -> Mark:
        """A checkpoint of now. Records in buffers are before it: it is complete when they are through."""
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
        """Back to a checkpoint: all that sources read since waits again."""
        new = arrived - mark.arrived
        self._through, self.taken = 0.0, list(mark.taken)
        for k, share in enumerate(self._shares):
            self.waiting[k] = max(0.0, mark.waiting[k] + new * share - (self.dropped[k] - mark.dropped[k]))
        self.calm = not any(self.waiting)

    def _settle(self) -> None:
        for k, ratio in enumerate(self.graph.ratios):
            self.taken[k] += self._through * ratio
        self._through = 0.0
