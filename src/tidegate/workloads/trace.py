"""A workload that was recorded: `trace:FILE`, and what must be true of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import median_low

from tidegate.core import InvalidInput
from tidegate.workloads.steps import Steps
from tidegate.workloads.table import Table
from tidegate.workloads.tracefile import read

PREFIX = "trace:"
GAPS = ("zero", "hold")
#: of a step: by how much a clock may be early or late
JITTER = 0.05


def trace(name: str) -> Steps:
    """The workload in a file, each rate held until the next row's time.

    `?gaps=zero` or `?gaps=hold` after the file fills gaps with nothing or with the rate before.
    """
    file, mark, option = name.removeprefix(PREFIX).partition("?")
    if not file:
        raise InvalidInput(f"workload {name}: need a file, as in {PREFIX}day.csv")
    if mark and option not in (f"gaps={way}" for way in GAPS):
        raise InvalidInput(f"trace {file}: option {option!r} is neither gaps=zero nor gaps=hold")
    return _cached(file, option.removeprefix("gaps=") or None, _version(file))


def version(name: str) -> tuple[int, int]:
    """Of a workload by its name: of a trace it changes when the file does."""
    return _version(name.removeprefix(PREFIX).partition("?")[0]) if name.startswith(PREFIX) else (0, 0)


def _version(file: str) -> tuple[int, int]:
    """Changes when the file does."""
    try:
        found = Path(file).stat()
    except OSError as error:
        raise InvalidInput(f"trace {file}: cannot be read: {error.strerror}") from None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _cached(file: str, gaps: str | None, version: tuple[int, int]) -> Steps:
    """A run asks for its workload often."""
    return made(read(file), gaps)


def made(rows: Table, gaps: str | None) -> Steps:
    """The steps of a table whose times rise evenly.

    >>> from tidegate.workloads.table import Places
    >>> made(Table(Places("day.csv", "line", (1, 2, 3)), (0.0, 60.0, 120.0), (5.0, 0.0, 7.0)), gaps=None)
    Steps(duration=180.0, levels=(5.0, 0.0, 7.0))
    """
    if not any(rows.rates):
        raise InvalidInput(f"trace {rows.places.file}: all rates are 0: there is nothing to offer")
    if rows.times is None:
        return Steps(duration=len(rows.rates), levels=rows.rates)
    step = _usual_step(rows, rows.times)
    levels = tuple(_levels(rows, rows.times, step, gaps))
    # the last row has no next one: it lasts as long as the others do on average
    return Steps(_even((rows.times[-1] - rows.times[0]) * len(levels) / (len(levels) - 1)), levels)


def _usual_step(rows: Table, times: tuple[float, ...]) -> float:
    if len(times) < 2:
        raise InvalidInput(
            f"trace {rows.places.file}: need two rows or more, the time between which is the step; found 1"
        )
    for k in range(1, len(times)):
        if not times[k] > times[k - 1]:
            now, before = rows.written[k], rows.written[k - 1]
            raise InvalidInput(f"{rows.places[k]}: need times that rise, but {now} comes after {before}")
    return _even(median_low(b - a for a, b in pairwise(times)))


def _even(step: float) -> float:
    """Without the rounding of times since 1970, which are known to a fraction of a microsecond.

    >>> _even(1.0000002384185791), _even(0.5), _even(900.0)
    (1.0, 0.5, 900.0)
    """
    return round(step, 6) or step


def _levels(rows: Table, times: tuple[float, ...], step: float, gaps: str | None) -> Iterator[float]:
    """Each rate, and in front of it what fills a gap."""
    yield rows.rates[0]
    for k in range(1, len(times)):
        passed = times[k] - times[k - 1]
        if passed < step * (1 - JITTER):
            raise InvalidInput(
                f"{rows.places[k]}: need even steps, but {rows.written[k]} comes {_even(passed):g} s after the row "
                f"before, the usual step is {step:g} s"
            )
        if passed > step * (1 + JITTER):
            if gaps is None:
                raise InvalidInput(_gap(rows, k, passed, step))
            yield from [0.0 if gaps == "zero" else rows.rates[k - 1]] * (round(passed / step) - 1)
        yield rows.rates[k]


def _gap(rows: Table, k: int, passed: float, step: float) -> str:
    ways = " or ".join(f"{PREFIX}{rows.places.file}?gaps={way}" for way in GAPS)
    return (
        f"{rows.places[k]}: a gap: {rows.written[k]} comes {_even(passed):g} s after the row before, the usual step is "
        f"{step:g} s; fill gaps with nothing or with the rate before them: {ways}"
    )
