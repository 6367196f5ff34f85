from pathlib import Path

import pytest

from tidegate.cluster import processes
from tidegate.cluster.executors import Executor
from tidegate.cluster.quota import Groups, Quotas
from tidegate.spark.meter import CpuMeter, SlotMeter

TICKS = processes.TICKS
APP = "app-20261116023307-0000"


def executor(task_time: float = 0.0, id: str = "0", cores: int = 1) -> Executor:
    return Executor(id, "host", cores, 0, task_time, 0.0)


def test_slots_are_busy_by_the_time_of_tasks_over_the_time_of_slots() -> None:
    meter = SlotMeter()
    assert meter.read(100, [executor(10, "0"), executor(3, "1", cores=2)]) == {}  # no time has passed
    found = meter.read(105, [executor(12.5, "0"), executor(8, "1", cores=2)])
    assert found == {"0": 0.5, "1": 0.5}  # 2.5 of 5 s; 5 of 2 * 5 s


def test_slots_look_back_over_their_window_only() -> None:
    meter = SlotMeter(window=10)
    for now, spent in [(0, 0), (5, 5), (10, 5)]:
        meter.read(now, [executor(spent)])
    assert meter.read(15, [executor(5)]) == {"0": 0.0}  # from 5 s on, nothing was done
    # readings that lie apart: back to the last one that is old enough
    assert meter.read(40, [executor(20)]) == {"0": 0.6}  # (20 - 5) / (40 - 15)


def test_a_share_of_slots_is_between_nothing_and_all() -> None:
    meter = SlotMeter()
    meter.read(0, [executor(10)])
    assert meter.read(1, [executor(14)]) == {"0": 1.0}  # a task of 4 s ended in this second
    assert meter.read(2, [executor(2)]) == {"0": 0.0}


def test_slots_of_an_executor_that_left_are_forgotten() -> None:
    meter = SlotMeter()
    meter.read(0, [executor(0, "0"), executor(0, "1")])
    assert meter.read(1, [executor(1, "0")]) == {"0": 1.0}
    assert meter.read(2, [executor(1, "0"), executor(50, "1")]) == {"0": 0.5}


def test_reading_twice_at_one_moment_divides_by_nothing() -> None:
    meter = SlotMeter()
    meter.read(5, [executor(0)])
    assert meter.read(5, [executor(1)]) == {}


class Machine:
    """A folder laid out like /proc."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc

    def run(self, id: int, *command: str, children: tuple[tuple[int, ...], ...] = ((),)) -> None:
        """`children` are those of each thread."""
        folder = self.proc / str(id)
        folder.mkdir(parents=True)
        (folder / "cmdline").write_text("".join(f"{word}\0" for word in command))
        for k, started in enumerate(children):
            thread = folder / "task" / str(id + k)
            thread.mkdir(parents=True)
            (thread / "children").write_text("".join(f"{child} " for child in started))
        self.use(id)

    def use(self, id: int, *seconds: float, name: str = "java") -> None:
        """CPU time: user, system, and of ended children user and system."""
        spent = [int(s * TICKS) for s in (*seconds, 0, 0, 0, 0)[:4]]
        # pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime ...
        fields = [id, f"({name})", "S", 1, 1, 1, 0, -1, 4194560, 11, 12, 13, 14, *spent, 20, 0, 1, 0]
        (self.proc / str(id) / "stat").write_text(" ".join(map(str, fields)) + "\n")

    def java(self, id: int, executor: str, app: str = APP, children: tuple[tuple[int, ...], ...] = ((),)) -> None:
        words = ["/usr/lib/jvm/bin/java", "-Xmx512M", "org.apache.spark.executor.CoarseGrainedExecutorBackend"]
        self.run(id, *words, "--executor-id", executor, "--cores", "1", "--app-id", app, children=children)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "proc")
    # executor 0 has a Python daemon, started by its third thread, with two workers; executor 1 is alone
    machine.java(100, "0", children=((), (), (110,)))
    machine.run(110, "python3", "-m", "pyspark.daemon", children=((111, 112),))
    machine.run(111, "python3", "-m", "pyspark.daemon")
    machine.run(112, "python3", "-m", "pyspark.daemon")
    machine.java(200, "1")
    machine.java(300, "0", app="app-of-somebody-else")
    machine.run(400, "grep", "--executor-id", APP)
    (machine.proc / "self").mkdir()
    (machine.proc / "500").mkdir()  # ended while we looked: nothing can be read
    return machine


def test_executors_are_found_by_their_command(machine: Machine) -> None:
    assert processes.find_executors(APP, machine.proc) == {"0": 100, "1": 200}
    assert processes.find_executors("app-of-somebody-else", machine.proc) == {"0": 300}
    assert processes.find_executors("nobody's", machine.proc) == {}


def test_a_tree_has_the_children_of_every_thread(machine: Machine) -> None:
    assert sorted(processes.tree(100, machine.proc)) == [100, 110, 111, 112]
    assert processes.tree(200, machine.proc) == [200]
    assert processes.tree(999, machine.proc) == [999]  # gone


def test_cpu_time_is_user_and_system_and_that_of_ended_children(machine: Machine) -> None:
    machine.use(100, 1.5, 0.25, 2.0, 0.5)
    assert processes.cpu_seconds(100, machine.proc) == 4.25
    machine.use(110, 1.0, name="odd) (name")
    assert processes.cpu_seconds(110, machine.proc) == 1.0
    assert processes.cpu_seconds(999, machine.proc) == 0.0
    (machine.proc / "112" / "stat").write_text("")
    assert processes.cpu_seconds(112, machine.proc) == 0.0


def test_cpu_time_of_a_tree_is_the_sum_of_its_processes(machine: Machine) -> None:
    for id, spent in [(100, 4.0), (110, 1.0), (111, 2.5), (112, 0.5), (200, 9.0)]:
        machine.use(id, spent)
    assert processes.tree_cpu_seconds(100, machine.proc) == 8.0


@pytest.fixture
def here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The meter looks at this machine's folder."""
    monkeypatch.setattr("tidegate.spark.meter.find_executors", lambda app: processes.find_executors(app, machine.proc))
    monkeypatch.setattr("tidegate.spark.meter.tree", lambda id: processes.tree(id, machine.proc))
    monkeypatch.setattr("tidegate.spark.meter.cpu_seconds", lambda id: processes.cpu_seconds(id, machine.proc))
    return machine


def test_cpu_is_a_share_of_the_cores_since_the_last_reading(here: Machine) -> None:
    meter, both = CpuMeter(APP, None), [executor(id="0"), executor(id="1", cores=2)]
    assert meter.read(10, both) == {}
    here.use(100, 1.0)
    here.use(111, 2.0)
    here.use(200, 1.0)
    assert meter.read(14, both) == {"0": 0.75, "1": 0.125}  # (1 + 2) / 4 s; 1 / 4 s / 2 cores
    assert meter.read(16, both) == {"0": 0.0, "1": 0.0}
    here.use(100, 9.0)
    assert meter.read(17, both)["0"] == 1.0  # never more than all


def test_cpu_is_a_share_of_the_quota_where_there_is_one(here: Machine, tmp_path: Path) -> None:
    quotas = Quotas(Groups(tmp_path, 1), APP, quota=0.5)
    quotas._bound["0"] = 1
    meter, both = CpuMeter(APP, quotas), [executor(id="0"), executor(id="1")]
    meter.read(0, both)
    here.use(100, 1.0)
    here.use(200, 1.0)
    assert meter.read(4, both) == {"0": 0.5, "1": 0.25}  # 1 s of 4 s of half a core; of a whole one


def test_an_executor_on_another_machine_has_no_cpu_figure(here: Machine) -> None:
    meter, all_three = CpuMeter(APP, None), [executor(id="0"), executor(id="1"), executor(id="2")]
    meter.read(0, all_three)
    assert meter.read(1, all_three).keys() == {"0", "1"}
    here.java(600, "3")  # one that comes later is looked for
    four = [*all_three, executor(id="3")]
    assert "3" not in meter.read(2, four)
    assert meter.read(3, four).keys() == {"0", "1", "3"}
