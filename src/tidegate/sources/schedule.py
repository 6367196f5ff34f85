"""The load offered to a query as a function of time, which can change while the query runs.

A schedule is a sequence of loads, each with a start time; records are numbered consecutively across all of them. The
query reads it from a file that is replaced atomically, so no other communication is needed.
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
    """A load from `since` (epoch seconds) on, after `base` earlier records."""

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
    #: maximum records per batch; 0 for no limit
    limit: int = 0

    def then(self, load: Shape, since: float) -> Schedule:
        """The schedule with another load from `since` on, starting at its beginning."""
        return Schedule((*self.segments, Segment(since, self.total(since), load)), self.limit)

    def total(self, now: float) -> int:
        """Records offered by a time."""
        current = next((segment for segment in reversed(self.segments) if segment.since <= now), None)
        return current.total(now) if current else 0

    def arrivals(self, start: float) -> Cumulative:
        """The arrivals for scoring, in seconds since `start`."""
        if len(self.segments) == 1 and self.segments[0].since == start:
            return Cumulative.of(self.segments[0].load)
        times: list[float] = []
        totals: list[float] = []
        for number, segment in enumerate(self.segments):
            load = Cumulative.of(segment.load)
            until = self.segments[number + 1].since if number + 1 < len(self.segments) else np.inf
            moments = load.times + segment.since
            offered = moments <= until
            times += [*moments[offered].tolist(), *([until] if np.isfinite(until) else [])]
            totals += [*(load.totals[offered] + segment.base).tolist()]
            totals += [segment.total(until)] if np.isfinite(until) else []
        return Cumulative(np.array(times) - start, np.maximum.accumulate(np.array(totals)))

    def text(self) -> str:
        segments = [{"since": s.since, "base": s.base, "workload": s.load.spec()} for s in self.segments]
        return json.dumps({"limit": self.limit, "segments": segments})

    def write(self, path: Path) -> None:
        """Replace the file atomically, as the query may read it at any time."""
        draft = path.with_suffix(".draft")
        draft.write_text(self.text(), encoding="utf-8")
        draft.replace(path)


def parse(text: str) -> Schedule:
    values: Mapping[str, Any] = json.loads(text)
    segments = [Segment(v["since"], v["base"], from_spec(v["workload"])) for v in values["segments"]]
    return Schedule(tuple(segments), int(values["limit"]))


class ScheduleFile:
    """Reads a schedule, again only when its file has changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._version: tuple[int, int] | None = None
        self._schedule = Schedule()

    def read(self) -> Schedule:
        try:
            status = os.stat(self._path)
            version = (status.st_mtime_ns, status.st_ino)
            if version != self._version:
                self._schedule, self._version = parse(Path(self._path).read_text(encoding="utf-8")), version
        except OSError as error:
            raise InvalidInput(f"source tidegate: cannot read the schedule {self._path}: {error.strerror}") from None
        return self._schedule
