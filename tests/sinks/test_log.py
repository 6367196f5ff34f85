import logging

import pytest

from tidegate.core import Decision, Event, Observation, Step, Tick
from tidegate.sinks.log import LogSink, figures


def tick(
    at: float, rate: float | None = 1000.0, wish: int | None = None, *, acted: bool = False, **seen: object
) -> Tick:
    obs = Observation(at, 3, 3, arrival_rate=rate, **seen)  # type: ignore[arg-type]
    steps = () if wish is None else (Step("hpa-cpu", Decision(wish, "CPU 88 %, target 70 %")),)
    return Tick(obs, steps, acted)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "tidegate.sinks.log")
    return caplog


def told(lines: pytest.LogCaptureFixture) -> list[str]:
    found = [f"{record.levelname} {record.getMessage()}" for record in lines.records]
    lines.clear()
    return found


FIGURES = "INFO orders: 1,000 records/s in, unknown out, backlog unknown, latency unknown, 3 executors (3 requested)"


def test_figures_come_with_the_first_rate_and_then_every_minute(lines: pytest.LogCaptureFixture) -> None:
    sink, at = LogSink("orders"), []
    for second in range(1000, 1150):
        sink.take(tick(second, None if second < 1005 else 1000.0))
        at += [second] * len(told(lines))
    assert at == [1005, 1065, 1125]


def test_where_no_rate_is_known_the_first_line_comes_after_a_minute(lines: pytest.LogCaptureFixture) -> None:
    sink, at = LogSink("orders"), []
    for second in range(1000, 1121):
        sink.take(tick(second, None))
        at += [second] * len(told(lines))
    assert at == [1060, 1120]


def test_the_interval_can_be_chosen(lines: pytest.LogCaptureFixture) -> None:
    sink = LogSink("orders", every=10.0)
    for second in range(30):
        sink.take(tick(second))
    assert told(lines) == [FIGURES] * 3


def test_a_clock_that_goes_back_delays_figures_by_one_interval_at_most(lines: pytest.LogCaptureFixture) -> None:
    sink = LogSink("orders")
    sink.take(tick(5000.0))
    told(lines)
    sink.take(tick(1000.0))
    sink.take(tick(1059.0))
    assert told(lines) == []
    sink.take(tick(1060.0))
    assert told(lines) == [FIGURES]


def test_the_last_decision_stays_in_the_figures(lines: pytest.LogCaptureFixture) -> None:
    sink = LogSink("orders")
    sink.take(tick(0.0))
    sink.take(tick(15.0, wish=4))
    told(lines)
    sink.take(tick(60.0))
    assert told(lines) == [f"{FIGURES}, wish 4: CPU 88 %, target 70 %"]


def test_changes_and_events_come_at_once_and_wishes_do_not(lines: pytest.LogCaptureFixture) -> None:
    sink = LogSink("orders")
    sink.take(tick(0.0))
    told(lines)
    sink.take(tick(1.0, wish=4))  # monitor: nobody acts
    assert told(lines) == []
    sink.take(tick(2.0, wish=4, acted=True, events=(Event(2.0, "ExecutorLost", "executor 1 is gone"),)))
    assert told(lines) == [
        "WARNING orders: ExecutorLost: executor 1 is gone",
        "INFO orders: 3 -> 4 executors: CPU 88 %, target 70 %",
    ]


def test_a_name_cannot_forge_lines(lines: pytest.LogCaptureFixture) -> None:
    LogSink("orders\nroot: all is well").take(tick(0.0))
    (line,) = told(lines)
    assert "\n" not in line
    assert line.startswith("INFO orders root: all is well: 1,000 records/s in")


@pytest.mark.parametrize(
    ("rates", "backlog", "text"),
    [
        ((1000.0, 800.0), 2500.0, "backlog 2.5 s (2,500)"),
        ((0.0, 500.0), 2500.0, "backlog 5.0 s (2,500)"),  # nothing arrives: at what is processed
        ((None, None), 2500.0, "backlog 2,500,"),
        ((1000.0, 800.0), None, "backlog unknown"),
        ((1000.0, 800.0), 0.0, "backlog 0.0 s (0)"),
    ],
)
def test_backlog_in_seconds(rates: tuple[float | None, float | None], backlog: float | None, text: str) -> None:
    seen = Observation(0.0, 1, 1, arrival_rate=rates[0], processing_rate=rates[1], backlog=backlog)
    assert text in figures(seen)
