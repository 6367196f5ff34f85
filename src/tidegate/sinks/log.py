"""`log`: a line of Python's logging for every event and every change that is asked for."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tidegate.core import Tick

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LogSink:
    """`query` stands before each line."""

    query: str = "query"
    name: str = "log"

    def take(self, tick: Tick) -> None:
        for event in tick.observation.events:
            log.warning("%s: %s: %s", self.query, event.kind, event.message)
        if tick.acted and tick.decision:
            log.info("%s: %d executors, %s", self.query, tick.decision.executors, tick.decision.reason)


SINKS = {"log": lambda argument: LogSink(argument or "query")}
