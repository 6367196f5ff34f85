"""Progress of work that consists of many runs or steps, with the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tidegate.cli.console import err
from tidegate.units import clock

#: seconds between lines of progress where there is no terminal for a bar
LINE_INTERVAL = 10.0
NOT_YET = "time left: not known yet"


@dataclass(slots=True)
class Remaining:
    """Estimates the time left from the pace so far. Work that was done before the first call does not count as fast.

    Rich's own estimate forgets what is older than 30 s, and runs on Spark take minutes.

    >>> left = Remaining(total=10)
    >>> left.text(4, now=100.0), left.text(7, now=160.0), left.text(10, now=220.0)
    ('time left: not known yet', 'about 1:00 left', '0:00 left')
    """

    total: int
    _first: tuple[int, float] | None = field(default=None)

    def text(self, done: int, now: float) -> str:
        if self._first is None:
            self._first = (done, now)
        before, began = self._first
        if done >= self.total:
            return f"{clock(0.0)} left"
        if done <= before or now <= began:
            return NOT_YET
        return f"about {clock((now - began) / (done - before) * (self.total - done))} left"


@contextmanager
def progress(total: int, doing: str = "comparing", unit: str = "runs") -> Iterator[Callable[[int], None]]:
    """Show progress: call what this yields with the number of finished runs, first at the start."""
    remaining = Remaining(total)
    if not err.is_terminal:
        yield _lines(total, doing, unit, remaining)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    # without a thread of its own, because processes are forked while the bar is shown
    with Progress(*columns, console=err, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(doing, total=total, left=NOT_YET)

        def show(done: int) -> None:
            bar.update(task, completed=done, left=remaining.text(done, time.monotonic()))
            bar.refresh()

        yield show


def _lines(total: int, doing: str, unit: str, remaining: Remaining) -> Callable[[int], None]:
    last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        left = remaining.text(done, now)
        if now - last >= LINE_INTERVAL:
            last = now
            line = f"{doing}: {done} of {total} {unit} are done, {left}"
            err.print(line, highlight=False, markup=False, soft_wrap=True)

    return show
