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
    """A folder that does as the kernel's: a new group has a list of processes at once, and goes with its files."""
    folder, mkdir = tmp_path / "cgroup", Path.mkdir
    folder.mkdir()
    (folder / "cgroup.procs").touch()

    def make(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        mkdir(self, mode, parents, exist_ok)
        if self.parent == folder:
            (self / "cgroup.procs").touch()

    monkeypatch.setattr(Path, "mkdir", make)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    return folder


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


def test_a_removed_group_gives_its_processes_back(root: Path) -> None:
    groups = Groups(root, 1)
    groups.make("one", 0.5)
    (root / "one" / "cgroup.procs").write_text("11\n")
    groups.remove("one")
    assert not (root / "one").exists()
    assert (root / "cgroup.procs").read_text() == "11"
    groups.remove("one")  # an unknown one is no error


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
    assert find_groups(text) == Groups(root, version=1)
    assert Groups(root, 1).names("tidegate-") == []  # the probe is gone


def test_version_2_is_found_and_its_cpu_controller_asked_for(root: Path) -> None:
    assert find_groups(mounts(("cgroup2", root, "rw,nsdelegate"))) == Groups(root, version=2)
    assert (root / "cgroup.subtree_control").read_text() == "+cpu"
    assert Groups(root, 2).names("tidegate-") == []


def test_a_mount_where_no_group_can_be_made_is_passed_over(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    unusable = [("cgroup", tmp_path / "nowhere", "rw,cpu"), ("cgroup2", file, "ro")]
    assert find_groups(mounts(*unusable)) is None
    assert find_groups(mounts(*unusable, ("cgroup2", root, "rw"))) == Groups(root, version=2)


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
        self.executors: dict[str, list[int]] = {}
        self.used: dict[int, float] = {}

    def find(self, application: str) -> dict[str, int]:
        assert application == APP
        return {executor: processes[0] for executor, processes in self.executors.items()}

    def tree(self, process: int) -> list[int]:
        return next(processes for processes in self.executors.values() if processes[0] == process)

    def cpu(self, process: int) -> float:
        return self.used[process]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr("tidegate.cluster.quota.find_executors", machine.find)
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


def test_groups_whose_tidegate_died_are_swept_others_are_left(root: Path) -> None:
    groups = Groups(root, 1)
    for owner in (DEAD, os.getpid(), 1):
        groups.make(f"tidegate-{owner}-app-0-1", 0.5)
    groups.make("tidegate-notes", 0.5)
    kept = Quotas(groups, APP, quota=0.5, period=60)
    kept.start()
    try:
        left = sorted(groups.names("tidegate-"))
    finally:
        kept.close()
    assert left == sorted(["tidegate-1-app-0-1", f"tidegate-{os.getpid()}-app-0-1", "tidegate-notes"])


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
