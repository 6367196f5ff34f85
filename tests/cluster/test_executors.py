"""Which executors go, in which order it is declared, and how it is said to Spark's driver."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tidegate.cluster.executors import Executor, declare, victims
from tidegate.cluster.jvm import Driver


def executor(id: str, *, tasks: int = 0, added: float = 0.0) -> Executor:
    return Executor(id, "host", 1, tasks, 0.0, added)


BUSY = (executor("0", tasks=1, added=1), executor("1", tasks=1, added=2), executor("2", tasks=1, added=3))


def test_idle_ones_go_first_then_the_youngest() -> None:
    known = [executor("a", tasks=2, added=9), executor("b", added=1), executor("c", added=5), executor("d", tasks=1)]
    assert [e.id for e in victims(known, total=0)] == ["c", "b", "d", "a"]
    assert [e.id for e in victims(known, total=2)] == ["c", "b"]
    assert [e.id for e in victims(BUSY, total=1)] == ["2", "1"]
    assert victims(known, total=4) == victims(known, total=9) == victims([], total=1) == []


class Notes:
    """A driver that writes down what it is asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def kill(self, executors: Sequence[str]) -> None:
        self.calls.append(("kill", list(executors)))

    def request_total(self, executors: int) -> None:
        self.calls.append(("total", executors))


def test_the_surplus_is_killed_before_the_total_is_declared() -> None:
    notes = Notes()
    declare(notes, BUSY[1:], 1)
    assert notes.calls == [("kill", ["1", "2"]), ("total", 1)]
    declare(notes, [], 3)
    assert notes.calls[2:] == [("total", 3)]


class Context:
    """As much of PySpark's context as the driver needs; it writes down what Spark is asked for."""

    def __init__(self, **conf: str) -> None:
        self.conf = {f"spark.{key}.enabled": value for key, value in conf.items()}
        self.calls: list[tuple[Any, ...]] = []
        mapper = SimpleNamespace(registerModule=lambda module: None)
        module = SimpleNamespace(**{"DefaultScalaModule$": SimpleNamespace(**{"MODULE$": None})})
        jackson = SimpleNamespace(
            databind=SimpleNamespace(ObjectMapper=lambda: mapper), module=SimpleNamespace(scala=module)
        )
        self._jvm = SimpleNamespace(
            com=SimpleNamespace(fasterxml=SimpleNamespace(jackson=jackson)),
            PythonUtils=SimpleNamespace(toScalaMap=lambda found: ("map", found), toSeq=lambda found: ("seq", found)),
        )
        self._jsc = SimpleNamespace(sc=lambda: self)

    def getConf(self) -> Any:
        return self.conf

    def schedulerBackend(self) -> "Context":
        return self

    def statusStore(self) -> None: ...
    def statusTracker(self) -> None: ...

    def killExecutors(self, *given: Any) -> bool:
        self.calls.append(("kill", *given))
        return True

    def requestTotalExecutors(self, *given: Any) -> bool:
        self.calls.append(("total", *given))
        return True


def test_spark_is_told_in_its_own_collections_without_hosts_to_prefer() -> None:
    context = Context()
    declare(Driver(context), BUSY[2:], 2)  # type: ignore[arg-type]
    assert context.calls == [("kill", ("seq", ["2"])), ("total", 2, 0, ("map", {}))]


def test_beside_sparks_own_allocation_the_scheduler_is_told_as_the_context_refuses() -> None:
    context = Context(dynamicAllocation="true")
    Driver(context).kill(["2"])  # type: ignore[arg-type]
    # neither lower the total that the allocation wants, nor count it as a failure, and kill what is busy, too
    assert context.calls == [("kill", ("seq", ["2"]), False, False, True)]
