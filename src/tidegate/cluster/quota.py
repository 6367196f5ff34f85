"""CPU quotas for executors on this machine by control groups, so that more executors mean more capacity.

Each executor's process tree gets its own group, once the executor has used `warmup` CPU-seconds: starting and compiling
takes 10 to 20 CPU-seconds, which would take two minutes with a quota of a sixth of a core. Only processes of this run
are moved, and they go back to the group that they came from when the quota ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.cluster.processes import PROC, of_this_user, own_executors, tree, tree_cpu_seconds

log = logging.getLogger(__name__)
PERIOD = 100_000  # µs, the kernel's default
SWEEPS = 3
#: the name of a group, with the process that made it
OWN = re.compile(r"tidegate-(\d+)-.+")

#: CPU-seconds that an executor needs to start and to compile its code
WARM = 20.0


@dataclass(frozen=True, slots=True)
class Groups:
    """A cgroup folder in which groups with a CPU quota can be created, in the hierarchy that is mounted at `mount`.

    It is the one that this process belongs to where the kernel allows it, so that groups stay below the limits that
    somebody else has set for this process.
    """

    root: Path
    version: int
    mount: Path | None = None

    def make(self, name: str, quota: float) -> None:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        allowed = int(quota * PERIOD)
        if self.version == 1:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(allowed))
        else:
            (folder / "cpu.max").write_text(f"{allowed} {PERIOD}")

    def put(self, name: str, processes: Iterable[int]) -> dict[int, Path]:
        """Move processes into a group. Returns those that were moved, each with the group that it came from."""
        members, moved = self.root / name / "cgroup.procs", {}
        inside = set(members.read_text().split())
        for process in processes:
            if str(process) not in inside:
                origin = self.origin(process)
                with contextlib.suppress(ProcessLookupError):  # the process has ended in the meantime
                    members.write_text(str(process))
                    moved[process] = origin
        return moved

    def origin(self, process: int) -> Path:
        """The group of a process; the root if it cannot be seen from here, as in some containers."""
        mount = self.mount or self.root
        path = membership(_read(PROC / str(process) / "cgroup"), self.version)
        folder = mount / path.lstrip("/")
        return folder if (folder / "cgroup.procs").exists() else self.root

    def remove(self, name: str, origins: Mapping[int, Path], origin: Path) -> None:
        """Remove a group and put its processes back: into their `origins`, and those that were started meanwhile, as
        children of others, into `origin`. An unknown group is not an error.
        """
        folder = self.root / name
        with contextlib.suppress(OSError):
            for process in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (origins.get(int(process), origin) / "cgroup.procs").write_text(process)
            folder.rmdir()

    def sweep(self) -> None:
        """Remove empty groups of this user's Tidegate processes that no longer exist. One with processes is left to
        the run that is just ending, or to a later sweep: nobody knows any more where they were.
        """
        for name in self.names("tidegate-"):
            owner, folder = OWN.fullmatch(name), self.root / name
            if owner is None or (PROC / owner[1]).exists() or folder.stat().st_uid != os.geteuid():
                continue
            with contextlib.suppress(OSError):
                if not (folder / "cgroup.procs").read_text().split():
                    folder.rmdir()

    def names(self, prefix: str) -> list[str]:
        return [folder.name for folder in self.root.glob(f"{prefix}*") if folder.is_dir()]

    @contextlib.contextmanager
    def enabled(self) -> Iterator[None]:
        """Version 2: turn the cpu controller on for groups in the root, and off again unless it was on before, or
        another Tidegate uses it now.
        """
        control = self.root / "cgroup.subtree_control"
        was_on = self.version == 1 or "cpu" in _read(control).split()
        if not was_on:
            with contextlib.suppress(OSError):
                control.write_text("+cpu")
        try:
            yield
        finally:
            if not was_on and not self.names("tidegate-"):
                with contextlib.suppress(OSError):
                    control.write_text("-cpu")


def membership(text: str, version: int) -> str:
    """The path of a process's group, from its /proc/PID/cgroup.

    >>> membership("4:memory:/\\n1:cpu,cpuacct:/jobs/7\\n0::/session", 1), membership("0::/session", 2)
    ('/jobs/7', '/session')
    """
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" if version == 2 else "cpu" in controllers.split(","):
            return path
    return "/"


def find_groups(mounts: str | None = None) -> Groups | None:
    """The folder in which quotas can be set on this machine, or None. `mounts` is the text of /proc/mounts."""
    for kind, mount, options in _control_groups(mounts if mounts is not None else _read(PROC / "mounts")):
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            groups = _below(mount, version=2 if kind == "cgroup2" else 1)
            if _works(groups):
                return groups
    return None


def _below(mount: Path, version: int) -> Groups:
    """In the group of this process. In version 2 a group with processes has no groups with quotas below it, so there it
    is the closest one above that already has some, or else the root of all.
    """
    own = Groups(mount, version, mount).origin(os.getpid())
    if version == 1:
        return Groups(own, version, mount)
    above = [own, *(folder for folder in own.parents if folder.is_relative_to(mount))]
    roots = (folder for folder in above if "cpu" in _read(folder / "cgroup.subtree_control").split())
    return Groups(next(roots, mount), version, mount)


def _read(path: Path) -> str:
    try:
        return path.read_text()
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
    with groups.enabled():
        try:
            groups.make(name, quota=0.5)
            return True
        except OSError:
            return False
        finally:
            groups.remove(name, {}, groups.root)


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
    #: executor -> the groups that its processes came from, that of its JVM first
    _origins: dict[str, dict[int, Path]] = field(default_factory=dict)
    _enabled: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self.groups.sweep()
        self._enabled.enter_context(self.groups.enabled())
        self._thread = threading.Thread(target=self._watch, name="tidegate-quotas", daemon=True)
        self._thread.start()

    def allowance(self, executor: str, cores: int) -> float:
        """Cores that an executor may currently use."""
        return self.quota if executor in self._bound else float(cores)

    def bound(self, executors: Iterable[str]) -> bool:
        """Whether the quota applies to all of these."""
        return all(executor in self._bound for executor in executors)

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        self.lift()
        self._enabled.close()

    def lift(self) -> None:
        """Take the quota off all executors. It applies again to those that are warm, and with `bind_now` to all."""
        for executor in list(self._bound):
            self._release(executor)

    def _release(self, executor: str) -> None:
        origins = self._origins.pop(executor, {})
        first = next(iter(origins.values()), self.groups.root)
        self.groups.remove(self._prefix + executor, origins, first)
        del self._bound[executor]

    @property
    def _prefix(self) -> str:
        return f"tidegate-{os.getpid()}-{self.application}-"

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
        running = own_executors(self.application)
        for executor, process in running.items():
            name, sweeps = self._prefix + executor, self._bound.get(executor, 0)
            if sweeps == 0:
                if tree_cpu_seconds(process) < self.warmup:
                    continue
                self.groups.make(name, self.quota)
            if sweeps < SWEEPS:
                self._bound[executor] = sweeps + 1
                moved = self.groups.put(name, filter(of_this_user, tree(process)))
                self._origins.setdefault(executor, {}).update(moved)
        for gone in self._bound.keys() - running.keys():
            self._release(gone)


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
