"""The process that writes a run, so that another one can tell later whether it is still there."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

PROC = Path("/proc")
#: states of a process that has ended and waits for its parent
DEAD = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, by more than its number: numbers are used again, and containers have their own."""

    host: str
    #: changes with every start of the machine
    boot: str
    #: namespace of process numbers
    namespace: str
    pid: int
    #: start of the process in units since the start of the machine; 0 where the system does not tell
    started: int

    @classmethod
    def here(cls) -> Owner:
        pid = os.getpid()
        return cls(*_machine(), pid, start_of(pid) or 0)

    @classmethod
    def parse(cls, text: str | None) -> Owner | None:
        """From its JSON; None for a text that is none, as of runs of earlier versions."""
        try:
            values: Any = json.loads(text or "null")
            return cls(**values) if isinstance(values, Mapping) else None
        except (TypeError, ValueError):
            return None

    def text(self) -> str:
        return json.dumps(asdict(self))

    def is_gone(self) -> bool | None:
        """Whether the process has ended; None if that cannot be known here, as it ran on another machine or in another
        container, or before a restart of this one.

        >>> Owner.here().is_gone()
        False
        """
        if (self.host, self.boot, self.namespace) != _machine():
            return None
        started = start_of(self.pid)
        if started is None:
            return True
        return started != self.started


def start_of(pid: int, proc: Path = PROC) -> int | None:
    """When a process started, in units since the start of the machine; None if there is none (any more)."""
    if not (proc / "self").exists():
        return _signalled(pid)
    try:
        fields = (proc / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    # the state and the start are fields 3 and 22, and the first two are cut off
    return None if fields[0] in DEAD else int(fields[19])


def _signalled(pid: int) -> int | None:
    """Systems without /proc only tell that there is a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return 0


@cache
def _machine() -> tuple[str, str, str]:
    try:
        boot = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        boot = ""
    try:
        namespace = os.readlink(PROC / "self" / "ns" / "pid")
    except OSError:
        namespace = ""
    return socket.gethostname(), boot, namespace
