"""A query as the papers see it: operators with workers of their own, what each can do, and what follows for all.

Systems that scale a whole job at once (Daedalus, Phoebe, Kafka Streams) are a graph of one operator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tidegate.core import InvalidInput


@dataclass(frozen=True, slots=True)
class Operator:
    """What one worker of an operator does, and how much of that is lost when there are several.

    >>> Operator("window", rate=100.0, skew=0.25).capacity(5)  # the busiest has 1.25 fifths: 500 / 1.25
    400.0
    """

    name: str
    #: records/s that one worker takes in when it is always busy
    rate: float
    upstream: tuple[str, ...] = ()
    #: records put out for each one taken in; each operator downstream gets all of them
    selectivity: float = 1.0
    #: of sources: what part of the workload they read
    share: float = 1.0
    #: by how much the load of the busiest worker exceeds the mean
    skew: float = 0.0
    #: workers among whom that was seen, where keys dealt out at random are the reason; None: it is so with any number
    skewed_at: int | None = None
    #: of a CPU that a worker uses when it is always busy
    cpu: float = 1.0
    #: workers that can be of use, e.g. partitions
    ceiling: int | None = None
    #: by how much a record costs more as soon as there is another worker to send it to
    exchange: float = 0.0
    #: relative error (standard deviation) of the rate from one start to the next: keys and machines are dealt out anew
    spread: float = 0.0

    def __post_init__(self) -> None:
        where = f"operator {self.name!r}"
        if not 0 < self.rate < math.inf:
            raise InvalidInput(f"{where}: need a rate > 0 records/s, got {self.rate}")
        if self.ceiling is not None and self.ceiling < 1:
            raise InvalidInput(f"{where}: need a ceiling >= 1 worker, got {self.ceiling}")
        if self.skewed_at is not None and self.skewed_at < 2:
            raise InvalidInput(f"{where}: need skewed_at >= 2 workers, got {self.skewed_at}")
        for name in ("selectivity", "share", "skew", "cpu", "exchange", "spread"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidInput(f"{where}: need {name} >= 0, got {getattr(self, name)}")

    def pace(self, workers: int) -> float:
        """Records/s of one busy worker of so many."""
        return self.rate / (1 + self.exchange) if workers > 1 else self.rate

    def lean(self, workers: int) -> float:
        """The skew as it can be with so many: one worker has no more than all.

        Of keys dealt out at random, a worker's load has a relative error of sqrt((workers - 1) / keys).

        >>> Operator("job", rate=1.0, skew=0.25, skewed_at=10).lean(5)  # sqrt(4 / 9) of it
        0.16666666666666666
        """
        skew = self.skew
        if self.skewed_at is not None:
            skew *= math.sqrt((workers - 1) / (self.skewed_at - 1))
        return min(skew, workers - 1.0)

    def capacity(self, workers: int) -> float:
        """Records/s taken in when the busiest worker is always busy."""
        useful = workers if self.ceiling is None else min(workers, self.ceiling)
        return useful * self.pace(workers) / (1 + self.lean(workers))


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators, each after those upstream of it whatever the order in which they were given.

    >>> q1 = Graph("q1", (Operator("source", 400.0), Operator("map", 300.0, ("source",), selectivity=0.5)))
    >>> q1.capacity({"source": 1, "map": 2}), q1.best(3), q1.capacity_of(4)
    (400.0, {'source': 1, 'map': 2}, 600.0)
    """

    name: str
    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.operators]
        if not names:
            raise InvalidInput(f"graph {self.name!r}: need at least one operator")
        for one in self.operators:
            if names.count(one.name) > 1:
                raise InvalidInput(f"graph {self.name!r}: two operators are named {one.name!r}")
            for above in one.upstream:
                if above not in names:
                    raise InvalidInput(f"graph {self.name!r}: {one.name!r} is fed by {above!r}, which is not there")
        object.__setattr__(self, "operators", self._ordered())

    def _ordered(self) -> tuple[Operator, ...]:
        found: dict[str, Operator] = {}
        while ready := [one for one in self.operators if one.name not in found and set(one.upstream) <= set(found)]:
            found |= {one.name: one for one in ready}
        if circle := [one.name for one in self.operators if one.name not in found]:
            raise InvalidInput(f"graph {self.name!r}: records must not go in circles, as in {', '.join(circle)}")
        return tuple(found.values())

    @property
    def ratios(self) -> tuple[float, ...]:
        """Records that each operator takes in for one record of the workload."""
        return _ratios(self)

    @property
    def ceiling(self) -> int | None:
        """Workers that can be of use in all; unknown where one operator has no ceiling."""
        known = [one.ceiling for one in self.operators if one.ceiling is not None]
        return sum(known) if len(known) == len(self.operators) else None

    def checked(self, parallelism: Mapping[str, int]) -> dict[str, int]:
        """A number for each operator, in their order."""
        for one in self.operators:
            if parallelism.get(one.name, 0) < 1:
                raise InvalidInput(
                    f"graph {self.name!r}: need at least 1 worker for {one.name!r}, got {parallelism.get(one.name)}"
                )
        return {one.name: parallelism[one.name] for one in self.operators}

    def capacity(self, parallelism: Mapping[str, int]) -> float:
        """Records/s of the workload that the slowest operator allows."""
        known = self.checked(parallelism)
        return min(self._allows(k, known[one.name]) for k, one in enumerate(self.operators))

    def best(self, workers: int) -> dict[str, int]:
        """The allocation of so many workers with the highest capacity: the next one always to the bottleneck.

        Each operator has one at least, so with fewer workers than operators there are more than were asked for. Those
        that no longer help go where the next bottleneck would be.
        """
        found = [1] * len(self.operators)
        for _ in range(workers - len(found)):
            open_ = [k for k, one in enumerate(self.operators) if one.ceiling is None or found[k] < one.ceiling]
            found[min(open_ or range(len(found)), key=lambda k: self._allows(k, found[k]))] += 1
        return {one.name: number for one, number in zip(self.operators, found, strict=True)}

    def capacity_of(self, workers: int) -> float:
        """Of the best allocation of so many workers."""
        return self.capacity(self.best(workers))

    def _allows(self, k: int, workers: int) -> float:
        ratio = self.ratios[k]
        return self.operators[k].capacity(workers) / ratio if ratio else math.inf


@cache
def _ratios(graph: Graph) -> tuple[float, ...]:
    taken: dict[str, float] = {}
    passed: dict[str, float] = {}
    for one in graph.operators:
        taken[one.name] = sum(passed[name] for name in one.upstream) if one.upstream else one.share
        passed[one.name] = taken[one.name] * one.selectivity
    return tuple(taken.values())
