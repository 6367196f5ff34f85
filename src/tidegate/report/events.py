"""The events of a run, grouped: one that repeats all day is one line with a count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tidegate.core import Event
from tidegate.report.thinning import Sampled

#: most groups that are listed, and most events of a sort that are marked on the chart
LISTED, MARKED = 100, 300
#: kinds that say that an executor failed; the chart marks them apart from others
FAILURES = frozenset({"ExecutorLost", "ExecutorStalled"})

Sort = Literal["failure", "event"]


@dataclass(frozen=True, slots=True)
class RunEvent:
    #: seconds since the start of the run
    time: float
    kind: str
    message: str

    @property
    def sort(self) -> Sort:
        return "failure" if self.kind in FAILURES else "event"


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events that say the same, represented by the last one."""

    since: float
    last: RunEvent
    count: int

    def with_event(self, event: RunEvent) -> EventGroup:
        return EventGroup(min(self.since, event.time), event, self.count + 1)


@dataclass(frozen=True, slots=True)
class RunEvents:
    """`groups` are in the order of their first events; `unlisted` counts events that are in none of them."""

    count: int = 0
    groups: tuple[EventGroup, ...] = ()
    unlisted: int = 0
    marks: Mapping[Sort, Sampled[RunEvent]] = field(default_factory=dict)


@dataclass(slots=True)
class EventLog:
    """Groups events by kind and message, at most `LISTED` groups. Where there are more, messages that differ in
    numbers only count as the same.

    >>> log = EventLog()
    >>> for number in range(300):
    ...     log.add(RunEvent(float(number), "ExecutorLost", f"executor {number} is gone"))
    >>> [(group.count, group.last.message) for group in log.events().groups]
    [(300, 'executor 299 is gone')]
    """

    start: float = 0.0
    _count: int = 0
    _unlisted: int = 0
    _alike: bool = False
    _groups: dict[tuple[str, str], EventGroup] = field(default_factory=dict)
    _marks: dict[Sort, Sampled[RunEvent]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        self.add(RunEvent(round(event.time - self.start, 3), event.kind, event.message))

    def add(self, event: RunEvent) -> None:
        self._count += 1
        self._marks.setdefault(event.sort, Sampled(MARKED)).add(event)
        key = self._key(event)
        if key not in self._groups and len(self._groups) >= LISTED:
            self._merge()
            key = self._key(event)
        if key in self._groups:
            self._groups[key] = self._groups[key].with_event(event)
        elif len(self._groups) < LISTED:
            self._groups[key] = EventGroup(event.time, event, 1)
        else:
            self._unlisted += 1

    def events(self) -> RunEvents:
        return RunEvents(self._count, tuple(self._groups.values()), self._unlisted, self._marks)

    def _key(self, event: RunEvent) -> tuple[str, str]:
        return event.kind, without_numbers(event.message) if self._alike else event.message

    def _merge(self) -> None:
        if self._alike:
            return
        self._alike = True
        before, self._groups = self._groups, {}
        for group in before.values():
            key = self._key(group.last)
            merged = self._groups.get(key)
            self._groups[key] = group if merged is None else _joined(merged, group)


def _joined(a: EventGroup, b: EventGroup) -> EventGroup:
    last = max(a.last, b.last, key=lambda event: event.time)
    return replace(a, since=min(a.since, b.since), last=last, count=a.count + b.count)


def without_numbers(text: str) -> str:
    """
    >>> without_numbers("CPU 61.5% of 2 executors")
    'CPU #% of # executors'
    """
    return re.sub(r"\d+(\.\d+)?", "#", text)
