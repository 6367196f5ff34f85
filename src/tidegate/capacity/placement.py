"""Which executor is to hold which state partition. Pure.

Spark keeps the tasks of a state operator where their stores are. So the state of a query that has got more executors
stays where it was, and the new ones have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

#: executors that hold a partition's stores, one for each operator; None if nobody is known to
Holders = Sequence[Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Move:
    partition: int
    executor: str


def spread(holders: Holders, slots: Mapping[str, int]) -> tuple[str, ...]:
    """The executor of each partition: as even as task slots allow, with as few moves as possible.

    Partitions that cannot be divided evenly go to executors that hold most, so that nothing moves for them.

    >>> spread([("1",), ("1",), ("1",), ("1",)], {"1": 1, "2": 1})
    ('1', '1', '2', '2')
    >>> spread([("1",), ("1",), ("2",), (None,), ("9",)], {"1": 1, "2": 1})  # executor 9 is gone
    ('1', '1', '2', '1', '2')
    """
    present = [_holder(held, slots) for held in holders]
    free = dict(_quotas(len(holders), present, slots))
    target: list[str | None] = []
    for holder in present:
        keeps = holder is not None and free[holder] > 0
        target.append(holder if keeps else None)
        if keeps and holder is not None:
            free[holder] -= 1
    return tuple(executor if executor is not None else _take(free) for executor in target)


def moves(holders: Holders, slots: Mapping[str, int]) -> list[Move]:
    """What has to move until all is even: nothing, if it is.

    >>> moves([("1", "1"), ("1", "2")], {"1": 1, "2": 1})
    [Move(partition=1, executor='2')]
    """
    target = spread(holders, slots)
    return [
        Move(partition, executor)
        for partition, executor in enumerate(target)
        if any(holder != executor for holder in holders[partition])
    ]


def portion(wanted: Sequence[Move], each: int, before: Mapping[str, int] | None = None) -> list[Move]:
    """At most so many moves to each executor, with those of `before`.

    >>> wanted = [Move(0, "1"), Move(1, "1"), Move(2, "2")]
    >>> [move.partition for move in portion(wanted, each=1)], [move.partition for move in portion(wanted, 1, {"2": 1})]
    ([0, 2], [0])
    """
    loads = dict(before or {})
    chosen = []
    for move in wanted:
        loads[move.executor] = loads.get(move.executor, 0) + 1
        if loads[move.executor] <= each:
            chosen.append(move)
    return chosen


def affordable(partition_bytes: float | None, seconds: float, rate: float) -> int:
    """Partitions that an executor can load within the seconds that a batch may take longer, at `rate` bytes per second.
    At least one, as the state has to move at some time.

    >>> affordable(100e6, seconds=5, rate=50e6), affordable(1e9, 5, 50e6)
    (2, 1)
    """
    if not partition_bytes:
        return 1_000_000
    return max(1, int(seconds * rate / partition_bytes))


def _holder(held: Sequence[str | None], slots: Mapping[str, int]) -> str | None:
    """The executor that holds most of a partition's stores, if it is present."""
    present = [executor for executor in held if executor in slots]
    return max(present, key=lambda executor: (present.count(executor), -present.index(executor)), default=None)


def _quotas(partitions: int, present: Sequence[str | None], slots: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Partitions for each executor in proportion to its slots, by largest remainders; of equal ones that of who holds
    more beyond its whole share already.
    """
    slot_count = sum(slots.values())
    whole = {executor: partitions * count // slot_count for executor, count in slots.items()}
    rest = partitions - sum(whole.values())

    def rank(executor: str) -> tuple[int, int]:
        return -(partitions * slots[executor] % slot_count), whole[executor] - present.count(executor)

    for place, executor in enumerate(sorted(slots, key=rank)):
        yield executor, whole[executor] + (place < rest)


def _take(free: dict[str, int]) -> str:
    """An executor with room: the one with the most."""
    executor = max(free, key=lambda executor: free[executor])
    free[executor] -= 1
    return executor
