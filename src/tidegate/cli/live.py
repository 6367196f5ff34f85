"""A run while it lasts: a live picture in a terminal, a plain log elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tidegate.core import Decision, Observation, Tick
from tidegate.experiment import Experiment

BARS = "▁▂▃▄▅▆▇█"
#: of history that the picture shows; fits a terminal of 80 columns
SECONDS = 44


class View(Protocol):
    def say(self, message: str) -> None: ...
    def tick(self, tick: Tick) -> None: ...


def count(value: float | None) -> str:
    """
    >>> count(1234567), count(4321), count(7), count(None)
    ('1.23 M', '4.3 k', '7', '-')
    """
    if value is None:
        return "-"
    for size, unit, digits in ((1e9, " G", 2), (1e6, " M", 2), (1e3, " k", 1)):
        if abs(value) >= size * 0.99995:  # what would be written as 1000 of the next smaller unit
            return f"{value / size:.{digits}f}{unit}"
    return f"{value:.0f}"


def spark_line(values: Iterator[float] | deque[float], highest: float) -> str:
    """
    >>> spark_line(iter([0, 50, 100]), 100)
    '▁▄█'
    """
    top = max(highest, 1e-9)
    return "".join(BARS[min(len(BARS) - 1, int(value / top * (len(BARS) - 1) + 1e-9))] for value in values)


def cpu_text(obs: Observation) -> str:
    """The executors' mean."""
    loads = [s.cpu if s.cpu is not None else s.busy for s in obs.per_executor]
    known = [load for load in loads if load is not None]
    return f"{sum(known) / len(known):.0%}" if known else "-"


class Plain:
    """A line when something is decided or happens, and one every `every` seconds."""

    def __init__(self, experiment: Experiment, console: Console, every: float = 10.0) -> None:
        self._experiment, self._console, self._every = experiment, console, every
        self._start: float | None = None
        self._next = 0.0

    def say(self, message: str) -> None:
        self._print(time.strftime("%H:%M:%S"), message)

    def tick(self, tick: Tick) -> None:
        obs = tick.observation
        self._start = obs.time if self._start is None else self._start
        passed = f"{obs.time - self._start:5.0f} s"
        for event in obs.events:
            self._print(passed, f"{event.kind}: {event.message}")
        if tick.acted and tick.decision:
            self._print(passed, f"{obs.requested} -> {tick.decision.executors} executors: {tick.decision.reason}")
        if obs.time >= self._next:
            self._next = obs.time + self._every
            self._print(passed, self._figures(obs))

    def _figures(self, obs: Observation) -> str:
        flow = f"offered {count(obs.arrival_rate)}/s, processed {count(obs.processing_rate)}/s"
        return (
            f"{flow}, backlog {count(obs.backlog)}, executors {obs.executors} of {obs.requested}, CPU {cpu_text(obs)}"
        )

    def _print(self, lead: str, message: str) -> None:
        self._console.print(f"{lead}  {message}", highlight=False, markup=False, soft_wrap=True)


class Pane:
    """What a person wants to see at a glance, drawn anew each second."""

    def __init__(self, experiment: Experiment, live: Live) -> None:
        self._experiment, self._live = experiment, live
        self._message = "starting"
        self._start: float | None = None
        self._last: Tick | None = None
        self._decision: tuple[float, Decision] | None = None
        self._acted: list[str] = []
        self._offered: deque[float] = deque(maxlen=SECONDS)
        self._processed: deque[float] = deque(maxlen=SECONDS)
        self._executors: deque[float] = deque(maxlen=SECONDS)
        self._draw()

    def say(self, message: str) -> None:
        self._message = message
        self._draw()

    def tick(self, tick: Tick) -> None:
        obs, self._last = tick.observation, tick
        self._start = obs.time if self._start is None else self._start
        passed = obs.time - self._start
        if tick.decision:
            self._decision = (passed, tick.decision)
        if tick.acted and tick.decision:
            self._acted.append(f"{passed:4.0f} s  {obs.requested} -> {tick.decision.executors}  {tick.decision.reason}")
        self._acted += [f"{passed:4.0f} s  {event.kind}: {event.message}" for event in obs.events]
        e = self._experiment
        self._offered.append(obs.arrival_rate or 0.0 if e.external_source else e.load().rate(passed))
        self._processed.append(obs.processing_rate or 0.0)
        self._executors.append(float(obs.executors))
        self._draw()

    def _draw(self) -> None:
        e = self._experiment
        parts: list[Text | Table] = [Text(self._message, style="bold"), *self._figures(), *self._reasons()]
        title = f"tidegate  {e.job} · {e.workload} · {e.policy} · {e.mode}"
        self._live.update(Panel(Group(*parts), title=title, title_align="left", border_style="cyan"), refresh=True)

    def _figures(self) -> Iterator[Table]:
        if self._last is None or self._start is None:
            return
        e, obs = self._experiment, self._last.observation
        passed = obs.time - self._start
        grid = Table.grid(padding=(0, 2))
        done = ProgressBar(total=e.duration, completed=min(passed, e.duration), width=SECONDS)
        grid.add_row("time", f"{passed:.0f} of {e.duration:.0f} s", done)
        grid.add_row("offered", f"{count(obs.arrival_rate)}/s", spark_line(self._offered, e.peak))
        grid.add_row("processed", f"{count(obs.processing_rate)}/s", spark_line(self._processed, e.peak))
        latency = "-" if obs.latency is None else f"{obs.latency:.1f} s"
        grid.add_row("backlog", count(obs.backlog), f"latency {latency} (at most {e.slo:g} s wanted)")
        wished = self._decision[1].executors if self._decision else obs.requested
        told = f"{wished} wished, {obs.requested} requested, {obs.executors} running"
        grid.add_row("executors", str(obs.executors), spark_line(self._executors, float(e.maximum)))
        grid.add_row("", "", told)
        grid.add_row("CPU", cpu_text(obs), "of what the executors may use")
        yield grid

    def _reasons(self) -> Iterator[Text]:
        if self._decision:
            passed, decision = self._decision
            yield Text(f"decided at {passed:.0f} s: {decision.reason}", style="yellow")
        for line in self._acted[-4:]:
            yield Text(line, style="green")


@contextmanager
def view(experiment: Experiment) -> Iterator[View]:
    """The picture where a person looks on, else the log; both on standard error, so that output stays clean."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr.isatty()):
        yield Plain(experiment, console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Pane(experiment, live)
