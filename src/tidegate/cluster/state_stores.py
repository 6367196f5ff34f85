"""Where the state stores of a query are, and where they are to be.

Spark's driver keeps for each store the executor that loaded it last, and prefers that executor for the store's tasks.
If another executor is entered there, the next batch's task goes to it and loads the store from the checkpoint; the
former holder unloads its copy. That is what happens whenever Spark itself runs a task elsewhere, so nothing can be
lost, and the configuration of the query stays as it is.

The entries are not public API. Where they cannot be reached, `StateStores.groups` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.cluster.jvm import JvmError, last_plan, seq, store_coordinator

_STATE = "org.apache.spark.sql.execution.streaming.state"
#: the stores of an operator are named; those of joins have several per partition, in all formats of Spark 4
DEFAULT = "default"
_OF_JOINS = tuple(
    f"{side}-{kind}"
    for side in ("left", "right")
    for kind in ("keyToNumValues", "keyWithIndexToValue", "keyWithTsToValues", "tsWithKey")
)


@dataclass(frozen=True, slots=True)
class Group:
    """State operators with the same number of partitions. Partition k of each is placed on the same executor, so that
    operators that share a stage never disagree.
    """

    partitions: int
    #: ids of the operators
    operators: tuple[int, ...]


class Stores(Protocol):
    """The state stores of a query."""

    def groups(self) -> Sequence[Group]: ...

    def holders(self, group: Group) -> Sequence[tuple[str | None, ...]]:
        """The executors that hold each partition's stores, one entry for each operator; None if nobody is known to."""
        ...

    def place(self, group: Group, partition: int, executor: str, host: str) -> None:
        """Let the next batch load a partition's stores on an executor."""
        ...


@dataclass(frozen=True, slots=True)
class _Operator:
    id: int
    partitions: int
    checkpoint: str
    run: str
    names: tuple[str, ...]


class StateStores:
    """The stores of one query run, by the coordinator of the driver. A call takes about a millisecond per store."""

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        self._spark, self._query = spark, query
        self._jvm: Any = spark.sparkContext._jvm
        self._operators: dict[int, _Operator] = {}
        self._stateless = False
        self._nobody: Any = None

    def groups(self) -> tuple[Group, ...]:
        """Empty until the first batch has run, and where the plan or the coordinator cannot be read."""
        if not self._operators and not self._stateless:
            try:
                self._read()
            except (JvmError, TypeError, AttributeError):
                return ()
        sizes = sorted({operator.partitions for operator in self._operators.values()})
        return tuple(
            Group(size, tuple(sorted(op.id for op in self._operators.values() if op.partitions == size)))
            for size in sizes
        )

    def holders(self, group: Group) -> list[tuple[str | None, ...]]:
        operators = [self._operators[id] for id in group.operators]
        return [
            tuple(self._holder(operator, partition) for operator in operators) for partition in range(group.partitions)
        ]

    def place(self, group: Group, partition: int, executor: str, host: str) -> None:
        for id in group.operators:
            operator = self._operators[id]
            for name in operator.names:
                self._coordinator.reportActiveInstance(
                    self._provider(operator, partition, name), host, executor, self._nobody
                )

    def _read(self) -> None:
        plan = last_plan(self._query)
        if plan is None:
            return
        self._coordinator = store_coordinator(self._spark)
        self._nobody = seq(self._jvm, [])
        ids = getattr(self._jvm, _STATE)
        self._ids, self._uuid = ids, self._jvm.java.util.UUID
        infos = [node.stateInfo() for node in _stateful(plan)]
        found = {operator.id: operator for operator in map(self._operator, infos) if operator is not None}
        self._stateless = not found
        if all(operator.names for operator in found.values()):  # else no batch has used all of them yet
            self._operators = found

    def _operator(self, info: Any) -> _Operator | None:
        """A state operator, with the names of its stores that executors have loaded."""
        if info.isEmpty():
            return None
        state = info.get()
        run, checkpoint = str(state.queryRunId().toString()), str(state.checkpointLocation())
        operator = _Operator(int(state.operatorId()), int(state.numPartitions()), checkpoint, run, ())
        used = (name for name in (DEFAULT, *_OF_JOINS) if self._location(operator, 0, name) is not None)
        return replace(operator, names=tuple(used))

    def _holder(self, operator: _Operator, partition: int) -> str | None:
        return self._location(operator, partition, operator.names[0])

    def _location(self, operator: _Operator, partition: int, name: str) -> str | None:
        """The executor's id; Spark's text is `executor_HOST_ID`."""
        location = self._coordinator.getLocation(self._provider(operator, partition, name))
        return None if location.isEmpty() else str(location.get()).rsplit("_", 1)[-1]

    def _provider(self, operator: _Operator, partition: int, name: str) -> Any:
        store = self._ids.StateStoreId(operator.checkpoint, operator.id, partition, name)
        return self._ids.StateStoreProviderId(store, self._uuid.fromString(operator.run))


def _stateful(plan: Any) -> Iterator[Any]:
    """The nodes of a physical plan that keep state."""
    if ".streaming." in str(plan.getClass().getName()):
        try:
            plan.stateInfo()
        except (JvmError, TypeError):
            pass  # a streaming operator without state
        else:
            yield plan
    children = plan.children()
    for k in range(children.size()):
        yield from _stateful(children.apply(k))


def counted(holders: Sequence[str | None]) -> Mapping[str, int]:
    """Partitions by executor.

    >>> counted(["1", "2", "1", None])
    {'1': 2, '2': 1}
    """
    counts: dict[str, int] = {}
    for holder in holders:
        if holder is not None:
            counts[holder] = counts.get(holder, 0) + 1
    return counts
