"""Workloads read from a file, `trace:FILE`: checks of the rows, and gaps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, repeat
from pathlib import Path
from statistics import median_low

from tidegate.core import InvalidInput
from tidegate.core.reading import shown
from tidegate.workloads.steps import Steps
from tidegate.workloads.table import Table
from tidegate.workloads.tracefile import read

PREFIX = "trace:"
GAPS = ("zero", "hold")
#: tolerated deviation of a row's time, as a share of the step
JITTER = 0.05
#: shortest step, in seconds, and most steps of a trace whose gaps are filled: one stray time must not be years of zeros
SHORTEST, MOST_FILLED = 0.001, 5_000_000


def read_trace(name: str) -> Steps:
    """The workload in a file. Each rate holds until the time of the next row.

    `?gaps=zero` or `?gaps=hold` after the file name fills gaps with zeros or with the previous rate.
    """
    file, mark, option = name.removeprefix(PREFIX).partition("?")
    if not file:
        raise InvalidInput(f"workload {name}: need a file, as in {PREFIX}day.csv")
    if mark and option not in (f"gaps={filling}" for filling in GAPS):
        raise InvalidInput(f"trace {file}: option {option!r} is neither gaps=zero nor gaps=hold")
    return _read_cached(file, option.removeprefix("gaps=") or None, _file_version(file))


def version(name: str) -> tuple[int, int]:
    """Identifies the content behind a workload's name: for a trace it changes whenever the file does."""
    return _file_version(name.removeprefix(PREFIX).partition("?")[0]) if name.startswith(PREFIX) else (0, 0)


def _file_version(file: str) -> tuple[int, int]:
    try:
        status = Path(file).stat()
    except OSError as error:
        raise InvalidInput(f"trace {file}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name with a NUL
        raise InvalidInput(f"trace {shown(file)}: cannot be read: {error}") from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _read_cached(file: str, gaps: str | None, version: tuple[int, int]) -> Steps:
    """Cached, because a run requests its workload often."""
    return to_steps(read(file), gaps)


def to_steps(rows: Table, gaps: str | None) -> Steps:
    """The workload of a table whose times increase in equal steps.

    >>> from tidegate.workloads.table import Places
    >>> to_steps(Table(Places("day.csv", "line", (1, 2, 3)), (0.0, 60.0, 120.0), (5.0, 0.0, 7.0)), gaps=None)
    Steps(duration=180.0, levels=(5.0, 0.0, 7.0))
    """
    if not any(rows.rates):
        raise InvalidInput(f"trace {rows.places.file}: all rates are 0: need at least one above 0")
    if rows.times is None:
        return Steps(duration=len(rows.rates), levels=rows.rates)
    step = _usual_step(rows, rows.times)
    levels = tuple(_levels(rows, rows.times, step, gaps))
    # the last row has no successor: it lasts as long as the others on average
    return Steps(_rounded((rows.times[-1] - rows.times[0]) * len(levels) / (len(levels) - 1)), levels)


def _usual_step(rows: Table, times: tuple[float, ...]) -> float:
    if len(times) < 2:
        raise InvalidInput(f"trace {rows.places.file}: need at least two rows to determine the step, found 1")
    for k in range(1, len(times)):
        if not times[k] > times[k - 1]:
            time, previous = rows.written[k], rows.written[k - 1]
            raise InvalidInput(f"{rows.places[k]}: need increasing times, but {time} comes after {previous}")
    step = _rounded(median_low(b - a for a, b in pairwise(times)))
    if step < SHORTEST:
        raise InvalidInput(
            f"trace {rows.places.file}: need a step of at least {SHORTEST:g} s, the usual one is {step:g}"
        )
    return step


def _rounded(step: float) -> float:
    """A step without the rounding error of epoch times, which are exact to a fraction of a microsecond.

    >>> _rounded(1.0000002384185791), _rounded(0.5), _rounded(900.0)
    (1.0, 0.5, 900.0)
    """
    return round(step, 6) or step


def _levels(rows: Table, times: tuple[float, ...], step: float, gaps: str | None) -> Iterator[float]:
    """Each rate, preceded by the rates that fill a gap."""
    missing = MOST_FILLED - len(times)
    yield rows.rates[0]
    for k in range(1, len(times)):
        elapsed = times[k] - times[k - 1]
        if elapsed < step * (1 - JITTER):
            raise InvalidInput(
                f"{rows.places[k]}: need equal steps, but {rows.written[k]} comes {_rounded(elapsed):g} s after the "
                f"previous row, the usual step is {step:g} s"
            )
        if elapsed > step * (1 + JITTER):
            if gaps is None:
                raise InvalidInput(_gap(rows, k, elapsed, step))
            count = round(elapsed / step) - 1
            missing -= count
            if missing < 0:
                raise InvalidInput(_too_long(rows, k, elapsed, count))
            yield from repeat(0.0 if gaps == "zero" else rows.rates[k - 1], count)
        yield rows.rates[k]


def _too_long(rows: Table, k: int, elapsed: float, count: int) -> str:
    return (
        f"{rows.places[k]}: gap: {rows.written[k]} comes {_rounded(elapsed):g} s after the previous row, which is "
        f"{count:,} steps: need at most {MOST_FILLED:,} steps in a trace whose gaps are filled"
    )


def _gap(rows: Table, k: int, elapsed: float, step: float) -> str:
    options = " or ".join(f"{PREFIX}{rows.places.file}?gaps={filling}" for filling in GAPS)
    return (
        f"{rows.places[k]}: gap: {rows.written[k]} comes {_rounded(elapsed):g} s after the previous row, the usual "
        f"step is {step:g} s; fill gaps with zeros or with the previous rate: {options}"
    )
