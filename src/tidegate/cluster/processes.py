"""The processes of executors on this machine, from /proc: an executor's JVM, its Python workers, and the CPU time
they used.
"""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
#: /proc counts CPU time in these
TICKS = os.sysconf("SC_CLK_TCK")


def find_executors(application: str, proc: Path = PROC) -> dict[str, int]:
    """Executor id -> process id of its JVM, for one Spark application."""
    found = {}
    for entry in proc.iterdir():
        words = _command(entry) if entry.name.isdigit() else []
        if application in words and "--executor-id" in words and Path(words[0]).name == "java":
            found[words[words.index("--executor-id") + 1]] = int(entry.name)
    return found


def _command(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # it ended while we looked
        return []


def tree(process: int, proc: Path = PROC) -> list[int]:
    """A process and all its descendants. Children belong to the thread that started them, so all threads are asked."""
    found = [process]
    for task in _listing(proc / str(process) / "task"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            found += tree(int(child), proc)
    return found


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def cpu_seconds(process: int, proc: Path = PROC) -> float:
    """CPU time of a process and of those of its children that have ended; 0 if it is gone."""
    try:
        fields = (proc / str(process) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0.0
    # utime, stime, cutime, cstime are the 14th to 17th of all fields, the 12th after the command's name
    return sum(int(field) for field in fields[11:15]) / TICKS


def tree_cpu_seconds(process: int, proc: Path = PROC) -> float:
    return sum(cpu_seconds(p, proc) for p in tree(process, proc))
