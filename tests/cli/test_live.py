import re
import time
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from rich.live import Live

from tidegate.cli.live import Pane, Plain, cpu_text, spark_line
from tidegate.core import Decision, Event, ExecutorSample, Observation, Step, Tick
from tidegate.experiment import Experiment
from tidegate.units import count

EXPERIMENT = Experiment(job="q11", workload="constant", policy="hpa-cpu", duration=60, peak=1000, maximum=4, slo=10)
BUSY = (ExecutorSample("0", cpu=0.9, busy=0.1), ExecutorSample("1", busy=0.7), ExecutorSample("2"))


def tick(at: float, wish: int | None = None, *, acted: bool = False, events: tuple[Event, ...] = ()) -> Tick:
    obs = Observation(
        at, 1, 2, arrival_rate=1200.0, processing_rate=800.0, backlog=4321.0, per_executor=BUSY, events=events
    )
    return Tick(obs, () if wish is None else (Step("hpa-cpu", Decision(wish, f"busy [at {at:g}]")),), acted)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0, "0"),
        (7.4, "7.4"),
        (999, "999"),
        (1000, "1 k"),
        (4321, "4.32 k"),
        (1_234_567, "1.23 M"),
        (2.5e9, "2.5 G"),
        (-4321, "-4.32 k"),
    ],
)
def test_counts_in_few_digits(value: float | None, text: str) -> None:
    assert count(value) == text


def test_a_line_of_bars_is_as_high_as_its_share_of_the_highest() -> None:
    assert spark_line(iter([0, 1, 2, 3, 4, 5, 6, 7]), 7) == "▁▂▃▄▅▆▇█"
    assert spark_line(iter([14, 7]), 7) == "██"  # no higher than the highest
    assert spark_line(iter([]), 7) == ""
    assert spark_line(iter([0, 0]), 0) == "▁▁"


def test_cpu_is_the_mean_of_those_that_are_known() -> None:
    assert cpu_text(Observation(0, 3, 3, per_executor=BUSY)) == "80%"  # (0.9 + 0.7) / 2
    assert cpu_text(Observation(0, 1, 1, per_executor=BUSY[2:])) == "—"
    assert cpu_text(Observation(0, 1, 1)) == "—"


class Paper:
    """Lines that a plain view has printed."""

    def __init__(self, experiment: Experiment = EXPERIMENT) -> None:
        self._file = StringIO()
        self.view = Plain(experiment, Console(file=self._file, width=40))

    def lines(self) -> list[str]:
        """Those since the last time."""
        found = self._file.getvalue().splitlines()
        self._file.seek(0)
        self._file.truncate()
        return found


FIGURES = "offered 1.2 k/s, processed 800/s, backlog 4.32 k, executors 1 of 2, CPU 80%"


def test_plain_prints_figures_every_ten_seconds() -> None:
    paper = Paper()
    for at in range(1000, 1026):
        paper.view.take(tick(at))
    assert paper.lines() == [
        f"    0:00  {FIGURES}, 1:00 left",
        f"    0:10  {FIGURES}, 0:50 left",
        f"    0:20  {FIGURES}, 0:40 left",
    ]


def test_plain_shows_the_clock_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        paper = Paper()
        paper.view.take(tick(1_795_000_000.0))  # 2026-11-18 11:06:40
        paper.view.take(tick(1_795_000_003.0, wish=3, acted=True))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert paper.lines() == [f"11:06:40  {FIGURES}, 1:00 left", "11:06:43  2 -> 3 executors: busy [at 1.795e+09]"]


def test_a_simulated_run_prints_figures_twenty_times_however_long_it_is() -> None:
    day = Experiment(job="q11", workload="constant", engine="sim", duration=86_400.0, peak=1000)
    paper = Paper(day)
    for at in range(0, 86_400, 60):
        paper.view.take(tick(at))
    lines = paper.lines()
    assert len(lines) == 20
    assert lines[1].startswith(" 1:12:00  ")


def test_plain_prints_decisions_that_were_acted_on_and_no_others() -> None:
    paper = Paper()
    paper.view.take(tick(1000))
    paper.lines()
    paper.view.take(tick(1001, wish=2))
    paper.view.take(tick(1002, wish=3))  # in monitor mode nobody acts
    assert paper.lines() == []
    paper.view.take(tick(1003, wish=3, acted=True))
    assert paper.lines() == ["    0:03  2 -> 3 executors: busy [at 1003]"]


def test_plain_prints_every_event_before_the_decision() -> None:
    paper = Paper()
    paper.view.take(tick(1000))
    paper.lines()
    events = (Event(1004, "ExecutorLost", "executor 1 is gone, 1 left"), Event(1004, "ScaleTimeout", "3 asked for"))
    paper.view.take(tick(1004, wish=3, acted=True, events=events))
    assert paper.lines() == [
        "    0:04  ExecutorLost: executor 1 is gone, 1 left",
        "    0:04  ScaleTimeout: 3 asked for",
        "    0:04  2 -> 3 executors: busy [at 1004]",
    ]


def test_plain_says_what_it_is_told_with_the_time() -> None:
    paper = Paper()
    paper.view.say("starting Spark on [an] embedded cluster")
    (line,) = paper.lines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  starting Spark on \[an\] embedded cluster", line)


class Screen:
    """A terminal of 100 columns and what has been drawn on it."""

    def __init__(self) -> None:
        self._file = StringIO()
        self.live = Live(
            console=Console(file=self._file, force_terminal=True, width=100, height=40), auto_refresh=False
        )

    def drawn(self) -> str:
        """Since the last time, without colours."""
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._file.getvalue())
        self._file.seek(0)
        self._file.truncate()
        return text


def test_the_pane_can_be_drawn_before_anything_is_known() -> None:
    screen = Screen()
    with screen.live:
        pane = Pane(EXPERIMENT, screen.live)
        first = screen.drawn()
        pane.say("warming up")
        second = screen.drawn()
    assert "starting" in first
    assert "tidegate  q11 · constant · hpa-cpu · active" in first
    assert "warming up" in second
    assert "executors" not in second


def test_the_pane_shows_what_is_wished_requested_and_running() -> None:
    screen = Screen()
    with screen.live:
        pane = Pane(EXPERIMENT, screen.live)
        pane.take(tick(1000))
        undecided = screen.drawn()
        pane.take(tick(1015, wish=3, acted=True, events=(Event(1015, "ExecutorLost", "executor 1 is gone"),)))
        decided = screen.drawn()
        pane.take(tick(1020))
        later = screen.drawn()
    assert "2 wished, 2 requested, 1 running" in undecided  # nothing decided: what was asked for
    assert "3 wished, 2 requested, 1 running" in decided
    assert "0:15 of 1:00" in decided
    assert "0:45 left" in decided
    assert "decided at 0:15: busy [at 1015]" in decided
    assert "0:15  2 -> 3  busy [at 1015]" in decided
    assert "0:15  ExecutorLost: executor 1 is gone" in decided
    for shown in ("offered", "1.2 k/s", "800/s", "4.32 k", "latency — (SLO 10 s)", "80%"):
        assert shown in decided
    assert "0:20 of 1:00" in later
    assert "3 wished, 2 requested, 1 running" in later  # the last decision stays


def test_the_pane_keeps_the_last_four_happenings() -> None:
    screen = Screen()
    with screen.live:
        pane = Pane(EXPERIMENT, screen.live)
        for k in range(6):
            pane.take(tick(1000 + k, wish=3, acted=True))
            shown = screen.drawn()
    assert [f"2 -> 3  busy [at {1000 + k}]" in shown for k in range(6)] == [False, False, True, True, True, True]


def test_the_pane_goes_on_after_the_workload_s_end() -> None:
    screen = Screen()
    with screen.live:
        pane = Pane(EXPERIMENT, screen.live)
        for at in (1000, 1075):
            pane.take(tick(at))
        drawn = screen.drawn()
    assert "1:15 of 1:00" in drawn
    assert "waiting for the last records" in drawn


def test_the_pane_s_title_is_text_and_no_markup() -> None:
    screen = Screen()
    named = replace(EXPERIMENT)
    object.__setattr__(named, "workload", "trace:[/days].csv")  # without a file
    with screen.live:
        Pane(named, screen.live)
        assert "q11 · trace:[/days].csv · hpa-cpu" in screen.drawn()
