"""Which executors on this machine are this run's own."""

import os
from pathlib import Path

import pytest

from tidegate.cluster.processes import WORKER, ancestors, of_this_user, own_executors

APP = "app-20261116023307-0000"


class Machine:
    """A folder laid out like /proc."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc

    def run(self, id: int, parent: int, *command: str) -> None:
        folder = self.proc / str(id)
        folder.mkdir(parents=True)
        (folder / "cmdline").write_text("".join(f"{word}\0" for word in command))
        (folder / "stat").write_text(f"{id} (odd) name) S {parent} 1 1 0 -1\n")

    def executor(self, id: int, parent: int, executor: str) -> None:
        self.run(id, parent, "/usr/bin/java", "--executor-id", executor, "--app-id", APP)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "proc")
    machine.run(os.getpid(), 1, "python3", "-m", "tidegate")
    machine.run(10, os.getpid(), "java", "org.apache.spark.deploy.SparkSubmit")
    machine.executor(100, 10, "0")
    machine.run(20, 1, "java", WORKER, "spark://127.0.0.1:7077")
    machine.executor(200, 20, "1")
    # an embedded cluster of another Tidegate, whose application began in the same second
    machine.run(30, 1, "java", "org.apache.spark.deploy.SparkSubmit")
    machine.executor(300, 30, "2")
    return machine


def test_own_executors_are_descendants_or_children_of_a_standalone_worker(machine: Machine) -> None:
    assert own_executors(APP, machine.proc) == {"0": 100, "1": 200}
    assert own_executors("another", machine.proc) == {}


def test_executors_of_another_user_are_not_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.cluster.processes.os.geteuid", lambda: os.getuid() + 1)
    assert own_executors(APP, machine.proc) == {}


def test_ancestors_end_at_the_first_process_and_where_one_has_gone(machine: Machine) -> None:
    assert ancestors(100, machine.proc) == [10, os.getpid(), 1]
    assert ancestors(999, machine.proc) == []
    assert not of_this_user(999, machine.proc)
    assert os.getppid() in ancestors(os.getpid())
