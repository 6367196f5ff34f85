import logging
import os
import shutil
import threading
from pathlib import Path

import pytest

from tidegate.cluster.quota import Groups, Quotas, find_groups, quotas

DEAD = 2**22 + 1  # above the highest process id there can be
APP = "app-1"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that does as the kernel's: a new group has a list of processes at once, and goes with its files. /proc
    is a folder beside it.
    """
    folder, mkdir = tmp_path / "cgroup", Path.mkdir
    folder.mkdir()
    (folder / "cgroup.procs").touch()

    def make(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        mkdir(self, mode, parents, exist_ok)
        if self.is_relative_to(folder):
            (self / "cgroup.procs").touch()

    monkeypatch.setattr(Path, "mkdir", make)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    monkeypatch.setattr("tidegate.cluster.quota.PROC", tmp_path / "proc")
    return folder


def live(root: Path, process: int, group: str = "/") -> None:
    """A process, in a group of both hierarchies."""
    folder = root.parent / "proc" / str(process)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup").write_text(f"3:memory:/other\n2:cpu,cpuacct:{group}\n0::{group}\n")


def test_a_group_of_version_1_has_a_period_and_a_quota(root: Path) -> None:
    Groups(root, 1).make("one", 0.3)
    assert (root / "one" / "cpu.cfs_period_us").read_text() == "100000"
    assert (root / "one" / "cpu.cfs_quota_us").read_text() == "30000"  # 0.3 of 100 ms


def test_a_group_of_version_2_has_both_in_one_file(root: Path) -> None:
    groups = Groups(root, 2)
    groups.make("one", 1.5)
    assert (root / "one" / "cpu.max").read_text() == "150000 100000"
    groups.make("one", 0.5)  # again, with another quota
    assert (root / "one" / "cpu.max").read_text() == "50000 100000"


def test_processes_are_put_into_a_group_once(root: Path) -> None:
    groups = Groups(root, 2)
    groups.make("one", 0.5)
    members = root / "one" / "cgroup.procs"
    members.write_text("11\n12\n")
    groups.put("one", [11, 12])
    assert members.read_text() == "11\n12\n"  # nothing was written
    groups.put("one", [11, 13])
    assert members.read_text() == "13"  # the kernel adds what is written; a plain file has only that


def test_processes_go_back_to_the_group_that_each_came_from(root: Path) -> None:
    for group in ("user", "user/deep"):
        (root / group).mkdir()
    groups = Groups(root, 2)
    live(root, 11, "/user")
    live(root, 12, "/user/deep")
    live(root, 13, "/not-seen-from-this-container")
    groups.make("one", 0.5)
    moved = groups.put("one", [11, 12, 13, 99])
    assert moved == {11: root / "user", 12: root / "user" / "deep", 13: root, 99: root}
    (root / "one" / "cgroup.procs").write_text("12\n77\n")  # 77 was started meanwhile by one of the others
    groups.remove("one", moved, root / "user")
    assert not (root / "one").exists()
    assert (root / "user" / "deep" / "cgroup.procs").read_text() == "12"
    assert (root / "user" / "cgroup.procs").read_text() == "77"
    assert (root / "cgroup.procs").read_text() == ""
    groups.remove("one", {}, root)  # an unknown one is no error


def test_names_are_those_of_groups_with_a_prefix(root: Path) -> None:
    groups = Groups(root, 1)
    for name in ("tidegate-1-a", "tidegate-2-b", "system"):
        groups.make(name, 0.5)
    (root / "tidegate-notes").write_text("a file")
    assert sorted(groups.names("tidegate-")) == ["tidegate-1-a", "tidegate-2-b"]


def mounts(*lines: tuple[str, Path, str]) -> str:
    text = "proc /proc proc rw,nosuid 0 0\n"
    return text + "".join(f"{kind} {folder} {kind} {options} 0 0\n" for kind, folder, options in lines)


def test_version_1_is_found_at_its_cpu_controller(root: Path, tmp_path: Path) -> None:
    text = mounts(
        ("cgroup", tmp_path / "memory", "rw,memory"),
        ("cgroup", tmp_path / "sets", "rw,cpuset"),
        ("cgroup", root, "rw,nosuid,cpu,cpuacct"),
    )
    assert find_groups(text) == Groups(root, 1, root)
    assert Groups(root, 1).names("tidegate-") == []  # the probe is gone


def test_version_2_is_found_and_its_cpu_controller_is_off_again(root: Path) -> None:
    assert find_groups(mounts(("cgroup2", root, "rw,nsdelegate"))) == Groups(root, 2, root)
    assert (root / "cgroup.subtree_control").read_text() == "-cpu"
    assert Groups(root, 2).names("tidegate-") == []


def test_a_cpu_controller_that_was_on_stays_on(root: Path) -> None:
    (root / "cgroup.subtree_control").write_text("memory cpu\n")
    assert find_groups(mounts(("cgroup2", root, "rw"))) == Groups(root, 2, root)
    assert (root / "cgroup.subtree_control").read_text() == "memory cpu\n"


def test_a_cpu_controller_that_another_tidegate_uses_stays_on(root: Path) -> None:
    groups = Groups(root, 2)
    with groups.enabled():
        groups.make("tidegate-1-app-2-0", 0.5)
    assert (root / "cgroup.subtree_control").read_text() == "+cpu"


def test_groups_are_made_below_the_limits_of_this_process(root: Path) -> None:
    live(root, os.getpid(), "/jobs/7")
    (root / "jobs").mkdir()
    (root / "jobs" / "7").mkdir()
    assert find_groups(mounts(("cgroup", root, "rw,cpu"))) == Groups(root / "jobs" / "7", 1, root)
    # version 2: not in a group that has processes, but in the closest one above whose groups have quotas
    assert find_groups(mounts(("cgroup2", root, "rw"))) == Groups(root, 2, root)
    (root / "jobs" / "cgroup.subtree_control").write_text("cpu io")
    assert find_groups(mounts(("cgroup2", root, "rw"))) == Groups(root / "jobs", 2, root)


def test_a_mount_where_no_group_can_be_made_is_passed_over(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    unusable = [("cgroup", tmp_path / "nowhere", "rw,cpu"), ("cgroup2", file, "ro")]
    assert find_groups(mounts(*unusable)) is None
    assert find_groups(mounts(*unusable, ("cgroup2", root, "rw"))) == Groups(root, 2, root)


def test_a_mount_whose_groups_take_no_quota_is_passed_over(root: Path) -> None:
    # the group can be made, but without the cpu controller there is no cpu.max that could be written
    (root / f"tidegate-probe-{os.getpid()}" / "cpu.max").mkdir(parents=True)
    assert find_groups(mounts(("cgroup2", root, "rw"))) is None
    assert Groups(root, 2).names("tidegate-") == []


def test_without_control_groups_there_are_none() -> None:
    assert find_groups("") is None
    assert find_groups("proc /proc proc rw 0 0\nodd line\n\n") is None


def test_no_quota_asks_for_nothing_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tidegate.cluster.quota.find_groups", lambda: asked.append("asked"))
    with caplog.at_level(logging.DEBUG), quotas(APP, None) as kept:
        assert kept is None
    assert (asked, caplog.records) == ([], [])


def test_a_quota_that_cannot_be_had_is_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tidegate.cluster.quota.find_groups", lambda: None)
    with caplog.at_level(logging.DEBUG), quotas(APP, 0.5) as kept:
        assert kept is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "CPU quotas need root and control groups with the cpu controller: running without them"
    )


class Machine:
    """The executors that run, the processes of each and the CPU time that they used."""

    def __init__(self) -> None:
        self.foreign: set[int] = set()
        self.executors: dict[str, list[int]] = {}
        self.used: dict[int, float] = {}

    def find(self, application: str) -> dict[str, int]:
        assert application == APP
        return {executor: processes[0] for executor, processes in self.executors.items()}

    def tree(self, process: int) -> list[int]:
        return next(processes for processes in self.executors.values() if processes[0] == process)

    def own(self, process: int) -> bool:
        return process not in self.foreign

    def cpu(self, process: int) -> float:
        return self.used[process]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr("tidegate.cluster.quota.own_executors", machine.find)
    monkeypatch.setattr("tidegate.cluster.quota.of_this_user", machine.own)
    monkeypatch.setattr("tidegate.cluster.quota.tree", machine.tree)
    monkeypatch.setattr("tidegate.cluster.quota.tree_cpu_seconds", machine.cpu)
    return machine


def own(executor: str) -> str:
    return f"tidegate-{os.getpid()}-{APP}-{executor}"


def test_an_executor_is_bound_once_it_is_warm(root: Path, machine: Machine) -> None:
    kept = Quotas(Groups(root, 2), APP, quota=0.25, warmup=10)
    machine.executors, machine.used = {"0": [100], "1": [200]}, {100: 9.9, 200: 10.0}
    kept.apply()
    assert (kept.allowance("0", cores=2), kept.allowance("1", cores=2)) == (2.0, 0.25)
    assert kept.groups.names("tidegate-") == [own("1")]
    assert (root / own("1") / "cpu.max").read_text() == "25000 100000"
    assert (root / own("1") / "cgroup.procs").read_text() == "200"


def test_new_processes_of_a_bound_executor_join_its_group(root: Path, machine: Machine) -> None:
    kept = Quotas(Groups(root, 1), APP, quota=0.25, warmup=0)
    machine.executors, machine.used = {"0": [100]}, {100: 0.0}
    kept.apply()
    machine.executors["0"] = [100, 101]
    kept.apply()
    assert (root / own("0") / "cgroup.procs").read_text() == "101"


def test_the_group_of_an_executor_that_left_is_removed(root: Path, machine: Machine) -> None:
    kept = Quotas(Groups(root, 1), APP, quota=0.25, warmup=0)
    machine.executors, machine.used = {"0": [100], "1": [200]}, {100: 0.0, 200: 0.0}
    kept.apply()
    del machine.executors["0"]
    kept.apply()
    assert kept.groups.names("tidegate-") == [own("1")]
    assert (kept.allowance("0", cores=1), kept.allowance("1", cores=1)) == (1.0, 0.25)


def test_a_quota_that_was_lifted_applies_again_to_all(root: Path, machine: Machine) -> None:
    kept = Quotas(Groups(root, 2), APP, quota=0.25, warmup=50)
    machine.executors, machine.used = {"0": [100], "1": [200]}, {100: 60.0, 200: 0.0}
    kept.apply()
    assert (kept.bound("0"), kept.bound("1")) == (True, False)
    kept.lift()
    assert kept.groups.names("tidegate-") == []
    assert kept.allowance("0", cores=1) == 1.0
    kept.bind_now()
    assert kept.bound("01")


def test_a_process_of_another_user_is_not_moved(root: Path, machine: Machine) -> None:
    kept = Quotas(Groups(root, 1), APP, quota=0.25, warmup=0)
    machine.executors, machine.used = {"0": [100, 101]}, {100: 0.0}
    machine.foreign = {101}
    kept.apply()
    assert (root / own("0") / "cgroup.procs").read_text() == "100"


def test_an_executor_is_back_in_its_group_when_the_quota_ends(root: Path, machine: Machine) -> None:
    (root / "user").mkdir()
    live(root, 100, "/user")
    kept = Quotas(Groups(root, 1), APP, quota=0.25, warmup=0)
    machine.executors, machine.used = {"0": [100]}, {100: 0.0}
    kept.apply()
    (root / own("0") / "cgroup.procs").write_text("100\n105\n")  # its Python worker, started inside the group
    kept.close()
    assert (root / "user" / "cgroup.procs").read_text() == "105"  # a plain file has what was written last
    assert (root / "cgroup.procs").read_text() == ""


def test_empty_groups_of_a_tidegate_that_died_are_swept_others_are_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Groups(root, 1)
    live(root, 1)
    for name in (f"tidegate-{DEAD}-app-0-1", f"tidegate-{DEAD}-app-0-2", "tidegate-1-app-0-1", "tidegate-notes"):
        groups.make(name, 0.5)
    (root / f"tidegate-{DEAD}-app-0-2" / "cgroup.procs").write_text("31\n")  # still there, from nobody knows where
    monkeypatch.setattr("tidegate.cluster.quota.os.geteuid", lambda: os.getuid() + 1)
    groups.sweep()
    assert len(groups.names("tidegate-")) == 4  # they are another user's
    monkeypatch.undo()
    monkeypatch.setattr("tidegate.cluster.quota.PROC", root.parent / "proc")
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    Quotas(groups, APP, quota=0.5).groups.sweep()
    assert sorted(groups.names("tidegate-")) == ["tidegate-1-app-0-1", f"tidegate-{DEAD}-app-0-2", "tidegate-notes"]


def test_quotas_end_with_their_block(root: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.cluster.quota.find_groups", lambda: Groups(root, 2))
    machine.executors, machine.used = {"0": [100]}, {100: 30.0}
    with quotas(APP, 0.5) as kept:
        assert kept is not None
        kept.apply()
        assert kept.groups.names("tidegate-") == [own("0")]
        assert kept.allowance("0", cores=1) == 0.5
    assert kept.groups.names("tidegate-") == []
    assert kept.allowance("0", cores=1) == 1.0
    assert "tidegate-quotas" not in [thread.name for thread in threading.enumerate()]


def test_a_machine_that_takes_the_right_away_is_one_warning(
    root: Path, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(root)
    machine.executors, machine.used = {"0": [100]}, {100: 30.0}
    kept = Quotas(Groups(root, 2), APP, quota=0.5, warmup=10, period=0.01)
    kept.start()
    assert kept._thread is not None
    kept._thread.join(timeout=5)  # it gives up by itself
    assert not kept._thread.is_alive()
    kept.close()
    (record,) = caplog.records
    assert record.getMessage().startswith("CPU quotas are off from now on: ")
