"""How busy this machine is, all of its programs together: a query on it cannot do more once nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: share of the CPU time from which on the machine was the limit
SATURATED = 0.97
STAT = Path("/proc/stat")
#: columns of /proc/stat: user, nice, system, idle, waiting for disks, interrupts (two) and what other machines took.
#: Those that follow are part of the first two
COLUMNS, IDLE = 8, (3, 4)


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Of all cores since the machine was started, in any unit."""

    busy: float
    total: float

    def share_until(self, later: CpuTimes) -> float | None:
        """Busy between two moments; None if no time has passed.

        >>> CpuTimes(10.0, 100.0).share_until(CpuTimes(55.0, 150.0))
        0.9
        """
        passed = later.total - self.total
        return (later.busy - self.busy) / passed if passed > 0 else None


#: None where it is unknown
ReadCpuTimes = Callable[[], CpuTimes | None]


def cpu_times(text: str) -> CpuTimes | None:
    """From the text of /proc/stat; None if it is not like that.

    >>> cpu_times("cpu  70 0 20 100 10 0 0 0 0 0\\ncpu0 35 0 10 50 5 0 0 0 0 0")
    CpuTimes(busy=90.0, total=200.0)
    """
    name, *columns = (text.partition("\n")[0]).split()[: COLUMNS + 1] or [""]
    if name != "cpu" or len(columns) < COLUMNS or not all(column.isdigit() for column in columns):
        return None
    times = [float(column) for column in columns]
    return CpuTimes(sum(times) - sum(times[k] for k in IDLE), sum(times))


def this_machine() -> CpuTimes | None:
    """None on systems that do not tell."""
    try:
        return cpu_times(STAT.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def saturated(before: CpuTimes | None, after: CpuTimes | None) -> bool:
    """Unknown is not saturated."""
    share = None if before is None or after is None else before.share_until(after)
    return share is not None and share >= SATURATED
