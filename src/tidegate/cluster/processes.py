"""The processes of executors on this machine, from /proc: the JVM, its Python workers, and their CPU time."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
#: units of CPU time in /proc, per second
TICKS = os.sysconf("SC_CLK_TCK")


def find_executors(application: str, proc: Path = PROC) -> dict[str, int]:
    """Executor id -> process id of its JVM, for one Spark application."""
    processes = {}
    for entry in proc.iterdir():
        words = _command(entry) if entry.name.isdigit() else []
        if application in words and "--executor-id" in words and Path(words[0]).name == "java":
            processes[words[words.index("--executor-id") + 1]] = int(entry.name)
    return processes


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
