"""What is offered to a query, as a function of time, where that can change while the query runs.

A schedule is a row of loads, each from its own moment on; records are numbered on through all of them. The query's side
reads it from a file that the other side replaces as a whole, so both agree without talking to each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tidegate.core import InvalidInput
from tidegate.score.trace import Cumulative
from tidegate.workloads import Shape, from_spec


@dataclass(frozen=True, slots=True)
class Segment:
    """A load from `since` (epoch seconds) on; `base` records were offered before it."""

    since: float
    base: int
    load: Shape

    def total(self, now: float) -> int:
        return self.base + self.load.total(now - self.since) if now > self.since else self.base


@dataclass(frozen=True, slots=True)
class Schedule:
    """
    >>> from tidegate.workloads import Constant
    >>> schedule = Schedule().then(Constant(60, 100), 1000.0).then(Constant(60, 5), 1010.0)
    >>> schedule.total(1005.0), schedule.total(1010.0), schedule.total(1020.0)
    (500, 1000, 1050)
    """

    segments: tuple[Segment, ...] = ()
    #: most records that a batch may take; 0 for all that there are
    limit: int = 0

    def then(self, load: Shape, since: float) -> Schedule:
        """The same until `since`, then another load, from its beginning."""
        return Schedule((*self.segments, Segment(since, self.total(since), load)), self.limit)

    def total(self, now: float) -> int:
        """Records offered by a time."""
        current = next((segment for segment in reversed(self.segments) if segment.since <= now), None)
        return current.total(now) if current else 0

    def arrivals(self, start: float) -> Cumulative:
        """As the scorer wants it, in seconds since `start`."""
        if len(self.segments) == 1 and self.segments[0].since == start:
            return Cumulative.of(self.segments[0].load)
        times: list[float] = []
        totals: list[float] = []
        for number, segment in enumerate(self.segments):
            own = Cumulative.of(segment.load)
            until = self.segments[number + 1].since if number + 1 < len(self.segments) else np.inf
            begins = own.times + segment.since
            kept = begins <= until
            times += [*begins[kept].tolist(), *([until] if np.isfinite(until) else [])]
            totals += [*(own.totals[kept] + segment.base).tolist()]
            totals += [segment.total(until)] if np.isfinite(until) else []
        return Cumulative(np.array(times) - start, np.maximum.accumulate(np.array(totals)))

    def text(self) -> str:
        segments = [{"since": s.since, "base": s.base, "workload": s.load.spec()} for s in self.segments]
        return json.dumps({"limit": self.limit, "segments": segments})

    def write(self, path: Path) -> None:
        """Whole or not at all: the query may read at any moment."""
        draft = path.with_suffix(".draft")
        draft.write_text(self.text(), encoding="utf-8")
        draft.replace(path)


def parse(text: str) -> Schedule:
    values: Mapping[str, Any] = json.loads(text)
    segments = [Segment(v["since"], v["base"], from_spec(v["workload"])) for v in values["segments"]]
    return Schedule(tuple(segments), int(values["limit"]))


class ScheduleFile:
    """The reading side: asks the file again only when it has changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._version: tuple[int, int] | None = None
        self._schedule = Schedule()

    def read(self) -> Schedule:
        try:
            found = os.stat(self._path)
            version = (found.st_mtime_ns, found.st_ino)
            if version != self._version:
                self._schedule, self._version = parse(Path(self._path).read_text(encoding="utf-8")), version
        except OSError as error:
            raise InvalidInput(f"source tidegate: cannot read the schedule {self._path}: {error.strerror}") from None
        return self._schedule
