"""`log`: lines of Python's logging. Events (warnings) and changes of the executors at once, the figures every minute.

Python shows only warnings unless it is told otherwise: `logging.basicConfig(level=logging.INFO)` shows the rest.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from tidegate.core import Decision, Observation, Tick

log = logging.getLogger(__name__)
UNKNOWN = "unknown"
#: kinds of events that are no cause for concern
NEWS = frozenset({"ExecutorResumed", "SharedRescale"})


@dataclass(slots=True)
class LogSink:
    """`query` stands before each line; `every` is the time between two lines of figures, on the observations' clock."""

    query: str = "query"
    name: str = "log"
    every: float = 60.0
    #: beginning of the current interval, and the time of the last line of figures
    _since: float | None = field(default=None)
    _told: float | None = field(default=None)
    _decision: Decision | None = field(default=None)

    def take(self, tick: Tick) -> None:
        obs, query = tick.observation, _line(self.query)
        for event in obs.events:
            level = logging.INFO if event.kind in NEWS else logging.WARNING
            log.log(level, "%s: %s: %s", query, event.kind, _line(event.message))
        if tick.decision is not None:
            self._decision = tick.decision
            if tick.acted:
                log.info("%s: %s", query, _change(obs, tick.decision))
        if self._due(obs):
            self._since = self._told = obs.time
            log.info("%s: %s", query, figures(obs, self._decision))

    def _due(self, obs: Observation) -> bool:
        """The first line comes with the first rate, at the latest after one interval. A clock that goes back starts a
        new interval.
        """
        first = self._told is None and obs.arrival_rate is not None
        self._since = obs.time if self._since is None else min(self._since, obs.time)
        return first or obs.time - self._since >= self.every


def _change(obs: Observation, decision: Decision) -> str:
    return f"{obs.requested} -> {decision.executors} executors: {_line(decision.reason)}"


def figures(obs: Observation, decision: Decision | None = None) -> str:
    """The state of a query in one line, with the last decision.

    >>> busy = Observation(
    ...     60.0, 3, 3, arrival_rate=210_000.0, processing_rate=198_000.0, backlog=250_000.0, latency=4.06
    ... )
    >>> print(figures(busy, Decision(4, "CPU 88 %, target 70 %")))
    210,000 records/s in, 198,000 out, backlog 1.2 s (250,000), latency 4.1 s, 3 executors (3 requested), wish 4: CPU 88 %, target 70 %
    >>> print(figures(Observation(60.0, 1, 2)))
    unknown records/s in, unknown out, backlog unknown, latency unknown, 1 executor (2 requested)
    """  # noqa: E501
    parts = (
        f"{_number(obs.arrival_rate)} records/s in, {_number(obs.processing_rate)} out",
        f"backlog {_backlog(obs)}",
        f"latency {UNKNOWN if obs.latency is None else f'{obs.latency:.1f} s'}",
        f"{obs.executors} executor{'' if obs.executors == 1 else 's'} ({obs.requested} requested)",
        *([] if decision is None else [f"wish {decision.executors}: {_line(decision.reason)}"]),
    )
    return ", ".join(parts)


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _backlog(obs: Observation) -> str:
    """In seconds of arrivals, or of processing where nothing arrives, and in records."""
    rate = obs.arrival_rate or obs.processing_rate
    if obs.backlog is None or not rate:
        return _number(obs.backlog)
    return f"{obs.backlog / rate:,.1f} s ({obs.backlog:,.0f})"


def _line(text: str) -> str:
    """On one line: a name or an error must not be able to forge lines of the log."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


SINKS = {"log": lambda argument: LogSink(argument or "query")}
