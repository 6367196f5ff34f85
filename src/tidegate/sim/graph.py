"""A query as in the papers: a graph of operators that each have their own workers, their capacities, and the capacity
of the whole query.

Systems that scale a whole job at once (Daedalus, Phoebe, Kafka Streams) are a graph with a single operator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tidegate.core import InvalidInput


@dataclass(frozen=True, slots=True)
class Operator:
    """The capacity of one worker of an operator, and how much of it is lost with several workers.

    >>> Operator("window", rate=100.0, skew=0.25).capacity(5)  # the busiest gets 1.25 fifths of the load: 500 / 1.25
    400.0
    """

    name: str
    #: records/s that one worker takes in when it is busy all the time
    rate: float
    upstream: tuple[str, ...] = ()
    #: output records per input record; each downstream operator gets all of them
    selectivity: float = 1.0
    #: for sources: the share of the workload that they read
    share: float = 1.0
    #: by how much the load of the busiest worker exceeds the mean
    skew: float = 0.0
    #: number of workers at which the skew was measured, if it comes from randomly distributed keys; None if it is the
    #: same for any number
    skewed_at: int | None = None
    #: CPU share that a worker uses when it is busy all the time
    cpu: float = 1.0
    #: largest useful number of workers, e.g. the number of partitions
    ceiling: int | None = None
    #: additional cost per record, as a share, if there is more than one worker to send it to
    exchange: float = 0.0
    #: relative standard deviation of the rate from one start to the next, because keys and machines are reassigned
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
        """Records/s of one busy worker if there are `workers` of them."""
        return self.rate / (1 + self.exchange) if workers > 1 else self.rate

    def lean(self, workers: int) -> float:
        """The skew with this number of workers. It is bounded, because one worker cannot have more than all the load.

        If keys are distributed at random, the relative deviation of a worker's load is sqrt((workers - 1) / keys).

        >>> Operator("job", rate=1.0, skew=0.25, skewed_at=10).lean(5)  # sqrt(4 / 9) of it
        0.16666666666666666
        """
        skew = self.skew
        if self.skewed_at is not None:
            skew *= math.sqrt((workers - 1) / (self.skewed_at - 1))
        return min(skew, workers - 1.0)

    def capacity(self, workers: int) -> float:
        """Records/s taken in when the busiest worker is busy all the time."""
        useful = workers if self.ceiling is None else min(workers, self.ceiling)
        return useful * self.pace(workers) / (1 + self.lean(workers))


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in topological order, regardless of the order in which they were passed.

    >>> q1 = Graph("q1", (Operator("source", 400.0), Operator("map", 300.0, ("source",), selectivity=0.5)))
    >>> q1.capacity({"source": 1, "map": 2}), q1.best(3), q1.capacity_of(4)
    (400.0, {'source': 1, 'map': 2}, 600.0)
    """

    name: str
    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        names = [operator.name for operator in self.operators]
        if not names:
            raise InvalidInput(f"graph {self.name!r}: need at least one operator")
        for name, upstream in [(operator.name, operator.upstream) for operator in self.operators]:
            if names.count(name) > 1:
                raise InvalidInput(f"graph {self.name!r}: two operators are named {name!r}")
            for source in upstream:
                if source not in names:
                    raise InvalidInput(f"graph {self.name!r}: {name!r} is fed by {source!r}, which is not there")
        object.__setattr__(self, "operators", self._ordered())

    def _ordered(self) -> tuple[Operator, ...]:
        ordered: dict[str, Operator] = {}
        rest = list(self.operators)
        while ready := [operator for operator in rest if set(operator.upstream) <= set(ordered)]:
            ordered |= {operator.name: operator for operator in ready}
            rest = [operator for operator in rest if operator.name not in ordered]
        if rest:
            circle = ", ".join(operator.name for operator in rest)
            raise InvalidInput(f"graph {self.name!r}: records must not go in circles, as in {circle}")
        return tuple(ordered.values())

    @property
    def ratios(self) -> tuple[float, ...]:
        """Records that each operator takes in per record of the workload."""
        return _ratios(self)

    @property
    def ceiling(self) -> int | None:
        """Largest useful total number of workers; None if an operator has no ceiling."""
        ceilings = [operator.ceiling for operator in self.operators if operator.ceiling is not None]
        return sum(ceilings) if len(ceilings) == len(self.operators) else None

    def checked(self, parallelism: Mapping[str, int]) -> dict[str, int]:
        """The number of workers of each operator, in the order of the graph. Raises if one has none."""
        for name in [operator.name for operator in self.operators]:
            if parallelism.get(name, 0) < 1:
                raise InvalidInput(
                    f"graph {self.name!r}: need at least 1 worker for {name!r}, got {parallelism.get(name)}"
                )
        return {operator.name: parallelism[operator.name] for operator in self.operators}

    def capacity(self, parallelism: Mapping[str, int]) -> float:
        """Records/s of the workload that the slowest operator allows."""
        workers = self.checked(parallelism)
        return min(self._allows(k, workers[operator.name]) for k, operator in enumerate(self.operators))

    def best(self, workers: int) -> dict[str, int]:
        """The allocation of workers with the highest capacity: each further worker goes to the bottleneck.

        Every operator has at least one worker, so if there are fewer workers than operators, the result has more than
        requested. Workers that no longer help are added where the next bottleneck would be.
        """
        numbers = [1] * len(self.operators)
        ceilings = [math.inf if operator.ceiling is None else operator.ceiling for operator in self.operators]
        for _ in range(workers - len(numbers)):
            below = [k for k, ceiling in enumerate(ceilings) if numbers[k] < ceiling]
            numbers[min(below or range(len(numbers)), key=lambda k: self._allows(k, numbers[k]))] += 1
        return {operator.name: number for operator, number in zip(self.operators, numbers, strict=True)}

    def capacity_of(self, workers: int) -> float:
        """The capacity of the best allocation of this many workers."""
        return self.capacity(self.best(workers))

    def _allows(self, k: int, workers: int) -> float:
        ratio = self.ratios[k]
        return self.operators[k].capacity(workers) / ratio if ratio else math.inf


@cache
def _ratios(graph: Graph) -> tuple[float, ...]:
    inputs: dict[str, float] = {}
    outputs: dict[str, float] = {}
    for operator in graph.operators:
        inputs[operator.name] = (
            sum(outputs[name] for name in operator.upstream) if operator.upstream else operator.share
        )
        outputs[operator.name] = inputs[operator.name] * operator.selectivity
    return tuple(inputs.values())
