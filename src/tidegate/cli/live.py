"""Shows a run while it lasts: a live panel in a terminal, a plain log elsewhere."""

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

from tidegate.cli.times import moment
from tidegate.core import Decision, Observation, Sink, Tick
from tidegate.experiment import Experiment
from tidegate.units import UNKNOWN, clock, count

BARS = "▁▂▃▄▅▆▇█"
#: seconds of history in the panel; fits a terminal of 80 columns
SECONDS = 44


class View(Sink, Protocol):
    """A sink that also shows messages about the progress of the run."""

    def say(self, message: str) -> None: ...


def spark_line(values: Iterator[float] | deque[float], highest: float) -> str:
    """A line of bars, scaled to the highest value.

    >>> spark_line(iter([0, 50, 100]), 100)
    '▁▄█'
    """
    top = max(highest, 1e-9)
    return "".join(BARS[min(len(BARS) - 1, int(value / top * (len(BARS) - 1) + 1e-9))] for value in values)


def cpu_text(obs: Observation) -> str:
    """Mean load of the executors: their CPU use where it is measured, else the share of time they were busy."""
    samples = [sample.cpu if sample.cpu is not None else sample.busy for sample in obs.per_executor]
    loads = [load for load in samples if load is not None]
    return f"{sum(loads) / len(loads):.0%}" if loads else UNKNOWN


def left(experiment: Experiment, passed: float) -> str:
    """
    >>> left(Experiment(duration=180.0), 45.0), left(Experiment(duration=180.0), 200.0)
    ('2:15 left', 'waiting for the last records')
    """
    rest = experiment.duration - passed
    return f"{clock(rest)} left" if rest > 0 else "waiting for the last records"


class Plain:
    """A log: a line for each action and event, and the figures every `every` seconds.

    A simulated run takes no time, so that its figures come twenty times in all.
    """

    name = "terminal"

    def __init__(self, experiment: Experiment, console: Console, every: float = 10.0) -> None:
        self._experiment, self._console = experiment, console
        self._every = every if experiment.engine == "spark" else max(every, experiment.duration / 20)
        self._start: float | None = None
        self._next = 0.0

    def say(self, message: str) -> None:
        self._print(time.strftime("%H:%M:%S"), message)

    def take(self, tick: Tick) -> None:
        obs = tick.observation
        self._start = obs.time if self._start is None else self._start
        at = f"{moment(obs.time, self._start):>8}"
        for event in obs.events:
            self._print(at, f"{event.kind}: {event.message}")
        if tick.acted and tick.decision:
            self._print(at, f"{obs.requested} -> {tick.decision.executors} executors: {tick.decision.reason}")
        if obs.time >= self._next:
            self._next = obs.time + self._every
            self._print(at, f"{self._figures(obs)}, {left(self._experiment, obs.time - self._start)}")

    def _figures(self, obs: Observation) -> str:
        flow = f"offered {count(obs.arrival_rate)}/s, processed {count(obs.processing_rate)}/s"
        return (
            f"{flow}, backlog {count(obs.backlog)}, executors {obs.executors} of {obs.requested}, CPU {cpu_text(obs)}"
        )

    def _print(self, lead: str, message: str) -> None:
        self._console.print(f"{lead}  {message}", highlight=False, markup=False, soft_wrap=True)


class Pane:
    """A panel with the figures, the latest decision and recent actions, redrawn at each observation."""

    name = "terminal"

    def __init__(self, experiment: Experiment, live: Live) -> None:
        self._experiment, self._live = experiment, live
        self._message = "starting"
        self._start: float | None = None
        self._last: Tick | None = None
        #: with the time at which it was made
        self._decision: tuple[str, Decision] | None = None
        self._acted: list[str] = []
        self._offered: deque[float] = deque(maxlen=SECONDS)
        self._processed: deque[float] = deque(maxlen=SECONDS)
        self._executors: deque[float] = deque(maxlen=SECONDS)
        self._draw()

    def say(self, message: str) -> None:
        self._message = message
        self._draw()

    def take(self, tick: Tick) -> None:
        obs, self._last = tick.observation, tick
        self._start = obs.time if self._start is None else self._start
        passed, at = obs.time - self._start, moment(obs.time, self._start)
        if tick.decision:
            self._decision = (at, tick.decision)
        if tick.acted and tick.decision:
            self._acted.append(f"{at}  {obs.requested} -> {tick.decision.executors}  {tick.decision.reason}")
        self._acted += [f"{at}  {event.kind}: {event.message}" for event in obs.events]
        e = self._experiment
        self._offered.append(obs.arrival_rate or 0.0 if e.external_source else e.load().rate(passed))
        self._processed.append(obs.processing_rate or 0.0)
        self._executors.append(float(obs.executors))
        self._draw()

    def _draw(self) -> None:
        e = self._experiment
        parts: list[Text | Table] = [Text(self._message, style="bold"), *self._figures(), *self._reasons()]
        title = Text(f"tidegate  {e.job} · {e.workload} · {e.policy} · {e.mode}")
        self._live.update(Panel(Group(*parts), title=title, title_align="left", border_style="cyan"), refresh=True)

    def _figures(self) -> Iterator[Table]:
        if self._last is None or self._start is None:
            return
        e, obs = self._experiment, self._last.observation
        passed = obs.time - self._start
        grid = Table.grid(padding=(0, 2))
        done = ProgressBar(total=e.duration, completed=min(passed, e.duration), width=SECONDS)
        grid.add_row("time", f"{clock(passed)} of {clock(e.duration)}", done)
        grid.add_row("", "", left(e, passed))
        grid.add_row("offered", f"{count(obs.arrival_rate)}/s", spark_line(self._offered, e.peak))
        grid.add_row("processed", f"{count(obs.processing_rate)}/s", spark_line(self._processed, e.peak))
        latency = UNKNOWN if obs.latency is None else f"{obs.latency:.1f} s"
        grid.add_row("backlog", count(obs.backlog), f"latency {latency} (SLO {e.slo:g} s)")
        wished = self._decision[1].executors if self._decision else obs.requested
        numbers = f"{wished} wished, {obs.requested} requested, {obs.executors} running"
        grid.add_row("executors", str(obs.executors), spark_line(self._executors, float(e.maximum)))
        grid.add_row("", "", numbers)
        grid.add_row("CPU", cpu_text(obs), "of the cores that the executors may use")
        yield grid

    def _reasons(self) -> Iterator[Text]:
        if self._decision:
            at, decision = self._decision
            yield Text(f"decided at {at}: {decision.reason}", style="yellow")
        for line in self._acted[-4:]:
            yield Text(line, style="green")


@contextmanager
def view(experiment: Experiment) -> Iterator[View]:
    """A panel in a terminal, a log elsewhere; both on standard error, which leaves standard output to results."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr.isatty()):
        yield Plain(experiment, console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Pane(experiment, live)
