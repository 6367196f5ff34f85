"""Which executor holds which state partition of a simulated query, and what it loads when that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tidegate.capacity.placement import moves, portion, spread

#: seconds that Spark's scheduler waits for the executor that holds a task's state: `spark.locality.wait`
WAIT = 3.0


class StatePlacement:
    """Holders by partition, even at first over executors with these slots.

    With `follow`, partitions are moved as `spark.spreading` does it. Without, they stay where they are as Spark has it:
    only those of executors that are gone go elsewhere, and those whose tasks take longer than the scheduler waits.

    >>> state = StatePlacement(4, {"1": 1}, follow=True)
    >>> state.settle({"1": 1, "2": 1}, {"1", "2"}, each=99, task=0.5), state.held("2")
    (2, (2, 3))
    >>> state = StatePlacement(4, {"1": 1}, follow=False)
    >>> [state.settle({"1": 1, "2": 1}, {"1", "2"}, each=99, task=task) for task in (0.5, 5.0)]
    [0, 1]
    """

    def __init__(self, partitions: int, slots: Mapping[str, int], *, follow: bool) -> None:
        self._follow = follow
        self._holders: list[str | None] = [*spread([(None,)] * partitions, slots)]
        self._held = self._by_executor()
        #: whether nothing was left to be moved when it was last settled
        self.even = True

    def settle(self, staying: Mapping[str, int], present: Collection[str], each: int, task: float) -> int:
        """Move to executors that stay, with their slots, what is due before the next batch: at most `each` partitions
        to one of them, besides those of executors that are gone. Returns the largest number that one of them loads.
        `task` is how long the task of a partition takes.
        """
        wanted = moves(self._as_holders(), staying)
        lost = [move for move in wanted if self._holders[move.partition] not in present]
        rest = [move for move in wanted if move not in lost]
        if not self._follow:
            each = 1 if task > WAIT else 0
        due = lost + portion(rest, each)
        for move in due:
            self._holders[move.partition] = move.executor
        if due:
            self._held = self._by_executor()
        self.even = len(due) == len(wanted)
        return max(Counter(move.executor for move in due).values(), default=0)

    def held(self, executor: str) -> tuple[int, ...]:
        return self._held.get(executor, ())

    def _by_executor(self) -> dict[str, tuple[int, ...]]:
        held: dict[str, tuple[int, ...]] = {}
        for partition, holder in enumerate(self._holders):
            if holder is not None:
                held[holder] = (*held.get(holder, ()), partition)
        return held

    def _as_holders(self) -> Sequence[tuple[str | None]]:
        return [(holder,) for holder in self._holders]
