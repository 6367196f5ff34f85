"""The processes of executors on this machine, from /proc: the JVM, its Python workers, and their CPU time."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
#: units of CPU time in /proc, per second
TICKS = os.sysconf("SC_CLK_TCK")
#: main class of a standalone worker, the parent of its executors
WORKER = "org.apache.spark.deploy.worker.Worker"


def find_executors(application: str, proc: Path = PROC) -> dict[str, int]:
    """Executor id -> process id of its JVM, for one Spark application."""
    processes = {}
    for entry in proc.iterdir():
        words = _command(entry) if entry.name.isdigit() else []
        if application in words and "--executor-id" in words and Path(words[0]).name == "java":
            processes[words[words.index("--executor-id") + 1]] = int(entry.name)
    return processes


def own_executors(application: str, proc: Path = PROC) -> dict[str, int]:
    """Those of `find_executors` that may be changed and not only looked at: processes of this user that this process
    started, or a standalone worker. Another master on the machine may number its applications alike.
    """
    return {id: process for id, process in find_executors(application, proc).items() if _is_own(process, proc)}


def _is_own(process: int, proc: Path) -> bool:
    parents = ancestors(process, proc)
    started = os.getpid() in parents or WORKER in _command(proc / str(parents[0] if parents else 0))
    return started and of_this_user(process, proc)


def of_this_user(process: int, proc: Path = PROC) -> bool:
    try:
        return (proc / str(process)).stat().st_uid == os.geteuid()
    except OSError:  # it has ended
        return False


def ancestors(process: int, proc: Path = PROC) -> list[int]:
    """The parent of a process, its parent, and so on."""
    found: list[int] = []
    while process > 1:
        try:
            # the state, then the parent, follow the name, which may have any characters
            process = int((proc / str(process) / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            break
        found.append(process)
    return found


def _command(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # the process has ended in the meantime
        return []


def tree(process: int, proc: Path = PROC) -> list[int]:
    """A process and all its descendants. Children are listed by the thread that started them."""
    processes = [process]
    for task in _listing(proc / str(process) / "task"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            processes += tree(int(child), proc)
    return processes


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def cpu_seconds(process: int, proc: Path = PROC) -> float:
    """CPU time of a process and of its terminated children; 0 if the process is gone."""
    try:
        fields = (proc / str(process) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0.0
    # utime, stime, cutime and cstime are fields 14 to 17, i.e. from the 12th field after the command's name on
    return sum(int(field) for field in fields[11:15]) / TICKS


def tree_cpu_seconds(process: int, proc: Path = PROC) -> float:
    return sum(cpu_seconds(p, proc) for p in tree(process, proc))


def is_stopped(process: int, proc: Path = PROC) -> bool:
    """Whether a process is stopped by a signal or a debugger."""
    try:
        return (proc / str(process) / "stat").read_text().rsplit(")", 1)[1].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False
