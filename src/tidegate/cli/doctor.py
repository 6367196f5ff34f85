"""Checks whether this machine has what Tidegate needs, and says how to get the rest."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tidegate.cli.console import cores
from tidegate.cluster.java import find_java
from tidegate.cluster.quota import find_groups
from tidegate.core import EnvironmentMissing

#: memory of an embedded executor, MiB: heap, the rest of the JVM, and the Python worker
EXECUTOR_MEMORY = 700


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    #: None if it is missing but optional
    ok: bool | None
    found: str
    advice: str = ""


def findings() -> list[Finding]:
    checks: tuple[Callable[[], Finding], ...] = (_python, _java, _spark, _cores, _memory, _quotas)
    return [check() for check in checks]


def _python() -> Finding:
    return Finding("Python", True, platform.python_version())


def _java() -> Finding:
    try:
        java = find_java()
    except EnvironmentMissing as error:
        return Finding("Java", False, "not usable", str(error))
    return Finding("Java", True, f"{java.version} at {java.path}")


def _spark() -> Finding:
    try:
        return Finding("PySpark", True, version("pyspark"))
    except PackageNotFoundError:
        return Finding("PySpark", False, "missing", "pip install 'pyspark>=4.3,<4.4'")


def _cores() -> Finding:
    count = cores()
    if count < 2:
        return Finding("cores", None, f"{count}", "an embedded cluster should have 2 or more: one is for the driver")
    return Finding("cores", True, f"{count}")


def _memory() -> Finding:
    free = available_memory()
    if free is None:
        return Finding("memory", None, "unknown", f"an executor needs about {EXECUTOR_MEMORY} MiB")
    room = max(0, (free - 1500) // EXECUTOR_MEMORY)
    text = f"{free} MiB free, room for the driver and {room} embedded executors"
    return Finding("memory", room >= 1, text, "" if room else f"an executor needs about {EXECUTOR_MEMORY} MiB")


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)
    return None if kilobytes is None else kilobytes // 1024


def _quotas() -> Finding:
    groups = find_groups()
    if groups is None:
        advice = "they need root and a writable cpu controller; without them, --quota is ignored"
        return Finding("CPU quotas", None, "not available", advice)
    return Finding("CPU quotas", True, f"control groups v{groups.version} at {groups.root}")
