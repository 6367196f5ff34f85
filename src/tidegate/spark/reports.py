"""Converts Spark's progress reports (JSON) into batches, rates and backlog. Pure: no Spark, no clock.

Spark's own `inputRowsPerSecond` is the rate at which rows are *read*, not at which they arrive: with a limit per
trigger it hides the backlog. The records arrived so far are in each report's `latestOffset`. So the arrival rate is its
slope over the times at which batches were planned, and the backlog is the records arrived minus those in finished
batches.

No report raises. One that cannot be used is skipped, or used in part, and counted in `unreadable`; `problems` says why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tidegate.core import Batch
from tidegate.progress import ProgressLog
from tidegate.spark.offsets import MOST, position
from tidegate.spark.report import Report, parsed, read, seconds

__all__ = ["ReportLog", "position", "seconds"]

#: sentences that are kept until somebody takes them
KEPT = 20
#: reports in a row that are skipped because the batch before them seems later; then it is that batch that was wrong
SKIPPED = 5
#: rows per unit of a source's position that are believed
UNITS = (1e-6, 1e9)
#: offsets that span more records than this many times the rows of a batch, plus SLACK, are not believed: compacted and
#: transactional topics have some more offsets than rows
FACTOR, SLACK = 1000.0, 1e6


@dataclass(slots=True)
class ReportLog(ProgressLog):
    """A progress log fed by the reports of one query.

    Records are counted from the source position `base`, by default from the first record of the first report.

    >>> log = ReportLog()
    >>> log.add({"batchId": 0, "durationMs": {"addBatch": 5}})
    >>> log.unreadable, log.take_problems()
    (1, ('report of batch 0: need a time like 2026-11-16T02:33:37.945Z as timestamp, got None',))
    """

    base: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    #: bytes that have to be read if all state is loaded anew
    state_size: int | None = None
    #: bytes per second at which stores were last loaded; None if no large one was yet
    load_rate: float | None = None
    rows_dropped: int = 0
    watermark: str | None = None
    #: reports so far that were skipped or used in part
    unreadable: int = 0
    #: why, the latest ones
    problems: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    #: reports in a row that came twice or late
    _skipped: int = 0
    #: position of the source after the last report
    _position: float | None = None
    #: rows per unit of the source's position: 1 for record counters, rows per second for Spark's `rate` source
    _unit: float = 1.0
    _units: deque[float] = field(default_factory=lambda: deque(maxlen=20))

    def parse(self, text: str) -> Mapping[str, Any] | None:
        """A report from its JSON; None, and counted, if it is none."""
        report = parsed(text)
        if report is None:
            self._complain(None, (f"need a JSON object, got {str(text)[:40]!r}",))
        return report

    def take_problems(self) -> tuple[str, ...]:
        """The problems since the last call, at most KEPT of them."""
        problems = tuple(self.problems)
        self.problems.clear()
        return problems

    def add(self, report: Any, received: float | None = None) -> Batch | None:
        """Process one report. Returns its batch, if one ran.

        `received` is when the report came, in epoch seconds. A report without a time of its own is skipped without it.
        """
        told = read(report, received)
        problems = list(told.problems)
        if told.planned is None:
            self._complain(told, problems)
            return None
        if self._is_over(told, told.planned) and self._skipped < SKIPPED:
            self._skipped += 1
            self._complain(told, [*problems, "it came twice, or after that of a later batch"])
            return None
        self._skipped = 0
        batch = self._take(told, told.planned, problems)
        if problems:
            self._complain(told, problems)
        return batch

    def _take(self, told: Report, planned: float, problems: list[str]) -> Batch | None:
        begin, end = self._records(told, problems)
        arrived = self._arrivals(told, end, problems)
        self.plan(planned, arrived)
        if not told.ran:
            return None
        last = self.batch
        id = told.batch if told.batch is not None else 0 if last is None else last.id + 1
        rows = round(end - begin) if told.rows is None else told.rows
        batch = Batch(id, planned, planned + told.spent, begin, end, arrived, rows, told.times)
        self.finish(batch, told.spent)
        self._learn_state(told)
        return batch

    def _complain(self, told: Report | None, problems: list[str] | tuple[str, ...]) -> None:
        self.unreadable += 1
        which = "a report" if told is None or told.batch is None else f"report of batch {told.batch}"
        self.problems.extend(f"{which}: {problem}" for problem in problems)

    def _is_over(self, told: Report, planned: float) -> bool:
        """Whether the report tells of a batch that is in the log already. If an older one was missed, its records were
        added when the next one came.
        """
        last = self.batch
        return told.ran and told.batch is not None and last is not None and _earlier((told.batch, planned), last)

    def _records(self, told: Report, problems: list[str]) -> tuple[float, float]:
        """The range of a report's records, which follows that of the previous one; its length is from offsets if these
        count records, else from rows.
        """
        start, stop, last = told.start, told.stop, self.batch
        if start is None:  # the first report of a query without a checkpoint
            start = self.base if self._position is None and last is None else self._position
        begin = 0.0 if last is None else last.end
        if start is not None and self._position is not None:
            begin += max(0.0, start - self._position) * self._unit  # records of missed reports
            if last is not None and told.batch == last.id:
                start = max(start, self._position)  # a batch that is rerun after a restart counts once
        elif start is not None and self.base is not None and last is None:
            begin += max(0.0, start - self.base)
        if stop is None and self._position is not None:
            problems.append("its sources have no position, those of earlier reports had one")
        end = begin + self._length(start, stop, told, problems)
        if end <= MOST:
            return begin, end
        problems.append("its records are more than can be counted: counting starts anew")
        self._restart()
        return 0.0, 0.0

    def _length(self, start: float | None, stop: float | None, told: Report, problems: list[str]) -> float:
        """Records of a report, and on to the position at its end."""
        rows, self._position = told.rows, stop
        if start is None or stop is None:
            return rows or 0
        distance = max(0.0, stop - start)
        self._learn_unit(distance, rows or 0)
        if rows is not None and distance * self._unit > FACTOR * rows + SLACK:
            problems.append(f"its offsets span {distance:g} records, but it read {rows} rows")
            self._position = None
            return rows
        return distance if self._unit == 1.0 or rows is None else rows

    def _arrivals(self, told: Report, end: float, problems: list[str]) -> float | None:
        """All records that had arrived when the report's batch was planned."""
        waiting = told.waiting
        if told.latest is not None and self._position is not None:
            waiting = max(0.0, told.latest - self._position) * self._unit
        if waiting is None:
            return None
        if end + waiting > MOST:
            problems.append(f"{waiting:g} records cannot be waiting")
            return None
        return end + waiting

    def _restart(self) -> None:
        self._position, self._unit = None, 1.0
        self._units.clear()
        self.forget()

    def _learn_unit(self, distance: float, rows: int) -> None:
        if self.base is not None or not rows or not distance or not UNITS[0] <= rows / distance <= UNITS[1]:
            return  # with a base, the source is known to count records
        self._units.append(rows / distance)
        unit = median(self._units)  # rerun tasks make single batches look larger
        # transaction markers make the ratio of a record counter slightly smaller than 1
        self._unit = 1.0 if abs(unit - 1) < 0.05 else unit

    def _learn_state(self, told: Report) -> None:
        self.watermark = told.watermark or self.watermark
        if told.state is not None:
            state = told.state
            self.state_rows, self.state_bytes, self.state_size = state.rows, state.bytes, state.size
            self.load_rate = state.load_rate or self.load_rate
            self.rows_dropped += told.state.dropped


def _earlier(report: tuple[int, float], last: Batch) -> bool:
    """By number and by time: after a restart numbers may begin again, and a clock may be set back."""
    batch, planned = report
    return batch <= last.id and planned <= last.planned
