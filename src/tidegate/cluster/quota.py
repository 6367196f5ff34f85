"""CPU quotas for executors on this machine by control groups, so that more executors mean more capacity.

Each executor's process tree gets its own group, once the executor has used `warmup` CPU-seconds: starting and compiling
takes 10 to 20 CPU-seconds, which would take two minutes with a quota of a sixth of a core.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.cluster.processes import find_executors, tree, tree_cpu_seconds

log = logging.getLogger(__name__)
PERIOD = 100_000  # µs, the kernel's default
SWEEPS = 3

#: CPU-seconds that an executor needs to start and to compile its code
WARM = 20.0


@dataclass(frozen=True, slots=True)
class Groups:
    """A cgroup folder in which groups with a CPU quota can be created."""

    root: Path
    version: int

    def make(self, name: str, quota: float) -> None:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        allowed = int(quota * PERIOD)
        if self.version == 1:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(allowed))
        else:
            (folder / "cpu.max").write_text(f"{allowed} {PERIOD}")

    def put(self, name: str, processes: list[int]) -> None:
        members = self.root / name / "cgroup.procs"
        inside = set(members.read_text().split())
        for process in processes:
            if str(process) not in inside:
                with contextlib.suppress(ProcessLookupError):  # the process has ended in the meantime
                    members.write_text(str(process))

    def remove(self, name: str) -> None:
        """Remove a group, moving its processes to the root. An unknown group is not an error."""
        folder = self.root / name
        with contextlib.suppress(OSError):
            for process in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (self.root / "cgroup.procs").write_text(process)
            folder.rmdir()

    def names(self, prefix: str) -> list[str]:
        return [folder.name for folder in self.root.glob(f"{prefix}*") if folder.is_dir()]


def find_groups(mounts: str | None = None) -> Groups | None:
    """The folder in which quotas can be set on this machine, or None. `mounts` is the text of /proc/mounts."""
    text = mounts if mounts is not None else _mounts()
    for kind, folder, options in _control_groups(text):
        if kind == "cgroup" and "cpu" in options.split(","):
            candidate = Groups(folder, version=1)
        elif kind == "cgroup2":
            candidate = Groups(folder, version=2)
        else:
            continue
        if _works(candidate):
            return candidate
    return None


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text()
    except OSError:
        return ""


def _control_groups(mounts: str) -> Iterator[tuple[str, Path, str]]:
    for line in mounts.splitlines():
        _, folder, kind, options, *_ = [*line.split(), "", "", "", ""]
        if kind.startswith("cgroup"):
            yield kind, Path(folder), options


def _works(groups: Groups) -> bool:
    """Whether a quota can be set. Tested by setting one, as permissions, containers and controllers can prevent it."""
    name = f"tidegate-probe-{os.getpid()}"
    try:
        if groups.version == 2:
            with contextlib.suppress(OSError):
                (groups.root / "cgroup.subtree_control").write_text("+cpu")
        groups.make(name, quota=0.5)
        return True
    except OSError:
        return False
    finally:
        groups.remove(name)


@dataclass(slots=True)
class Quotas:
    """Limits the executors of one application to `quota` cores each, until closed."""

    groups: Groups
    application: str
    quota: float
    #: CPU-seconds that an executor may use before its quota applies
    warmup: float = WARM
    period: float = 1.0
    #: executor -> number of sweeps that put its processes into its group
    _bound: dict[str, int] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._sweep()
        self._thread = threading.Thread(target=self._watch, name="tidegate-quotas", daemon=True)
        self._thread.start()

    def allowance(self, executor: str, cores: int) -> float:
        """Cores that an executor may currently use."""
        return self.quota if executor in self._bound else float(cores)

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        for name in self.groups.names(self._prefix):
            self.groups.remove(name)
        self._bound.clear()

    @property
    def _prefix(self) -> str:
        return f"tidegate-{os.getpid()}-{self.application}-"

    def _sweep(self) -> None:
        """Remove groups left over by Tidegate processes that no longer exist."""
        for name in self.groups.names("tidegate-"):
            owner = name.split("-")[1]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                self.groups.remove(name)

    def _watch(self) -> None:
        while not self._stop.wait(self.period):
            try:
                self.apply()
            except OSError as error:
                log.warning("CPU quotas are off from now on: %s", error)
                return

    def bind_now(self) -> None:
        """Apply the quota to all present executors, warm or not."""
        warmup, self.warmup = self.warmup, 0.0
        try:
            for _ in range(SWEEPS):
                self.apply()
        finally:
            self.warmup = warmup

    def apply(self) -> None:
        """Apply the quota to executors that are warm.

        Children of a process inherit its group. The process tree is put into the group several times, as a process that
        was just starting may have been missed.
        """
        running = find_executors(self.application)
        for executor, process in running.items():
            name, sweeps = self._prefix + executor, self._bound.get(executor, 0)
            if sweeps == 0:
                if tree_cpu_seconds(process) < self.warmup:
                    continue
                self.groups.make(name, self.quota)
            if sweeps < SWEEPS:
                self.groups.put(name, tree(process))
                self._bound[executor] = sweeps + 1
        for gone in self._bound.keys() - running.keys():
            self.groups.remove(self._prefix + gone)
            del self._bound[gone]


@contextlib.contextmanager
def quotas(application: str, quota: float | None, warmup: float = WARM) -> Iterator[Quotas | None]:
    """Quotas for the duration of the block; None, with a warning, if they cannot be set."""
    groups = find_groups() if quota is not None else None
    if quota is None or groups is None:
        if quota is not None:
            log.warning("CPU quotas need root and control groups with the cpu controller: running without them")
        yield None
        return
    limits = Quotas(groups, application, quota, warmup)
    limits.start()
    try:
        yield limits
    finally:
        limits.close()
