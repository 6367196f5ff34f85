"""From logs to a trace: find, count, judge, fill, measure, publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from tidegate.cluster.jvm_shutdown import finish
from tidegate.core import InvalidInput
from tidegate.traces import records
from tidegate.traces.counting import GOOD, OUTSIDE, Total, bulk, classified, counted, examples, totals
from tidegate.traces.faults import explained
from tidegate.traces.filling import Draft, draft, fill
from tidegate.traces.inputs import Inputs, find
from tidegate.traces.measure import Distribution, distribution, envelope
from tidegate.traces.reading import read
from tidegate.traces.request import LONGEST, Request
from tidegate.traces.result import Problem, Size, Skew, Trace, bad_share
from tidegate.traces.skew import skew
from tidegate.traces.times import notations

Say = Callable[[str], None]


def check(request: Request) -> Inputs:
    """The files to read. Whatever can be refused without Spark is refused here."""
    inputs = find(request.logs, request.format, request.separator)
    if str(request.output.resolve()) in inputs.files:
        raise InvalidInput(f"the trace {request.output} would replace one of the logs: choose another -o")
    with draft(request.output):  # can it be written there?
        return inputs


def trace(spark: SparkSession, request: Request, say: Say = lambda _: None) -> Trace:
    """Count the logs of a request and write its trace, in a session with the settings of `batch_session`.

    The logs are read once; once more for the skew of keys; and for examples of bad rows as far as it takes to find
    them. An existing output is replaced when the new one is whole.
    """
    job = _Job(spark, request, check(request), datetime.now(UTC), say)
    with draft(request.output) as place, explained():
        say("counting records per second")
        counts = counted(job.rows())
        try:
            return job.written(counts, place)
        finally:
            finish("dropping the counts", counts.unpersist)


@dataclass(frozen=True, slots=True)
class _Job:
    spark: SparkSession
    request: Request
    inputs: Inputs
    #: one moment for all passes, so that they agree on what is the future
    now: datetime
    say: Say

    def rows(self, with_file: bool = False) -> DataFrame:
        return classified(read(self.spark, self.inputs, self.request, with_file), self.request.span, self.now)

    def written(self, counts: DataFrame, place: Draft) -> Trace:
        found = totals(counts)
        problems = self.problems(found)
        good = usable(found, problems, self.request.max_bad)
        refuse_long(good, counts)
        self.say("filling the gaps")
        filled = fill(self.spark, counts, good, place.parts)
        self.say("measuring the trace")
        spread, first, seconds = distribution(filled), *_extent(good)
        made = Trace(
            path=self.request.output,
            size=size(good, spread, records.mean_size(self.inputs.sources)),
            problems=problems,
            skew=self.skew(),
            envelope=envelope(filled, first, seconds),
            distribution=spread.levels,
            notations=notations(good.notation),
            files=len(self.inputs.files),
            left_out=self.inputs.left_out,
        )
        place.publish()
        return made

    def problems(self, found: Mapping[int, Total]) -> tuple[Problem, ...]:
        kinds = sorted(found.keys() - {GOOD})
        if kinds:
            self.say("looking for examples of bad rows")
        rows = self.rows(with_file=True)
        shown = {kind: examples(rows, kind, found[kind].rows) for kind in kinds if kind != OUTSIDE}
        return tuple(Problem(kind, found[kind].rows, shown.get(kind, ())) for kind in kinds)

    def skew(self) -> Skew | None:
        if self.request.key is None:
            return None
        self.say("counting keys")
        return skew(self.rows(), self.request.key)


def usable(found: Mapping[int, Total], problems: Sequence[Problem], most: float | None) -> Total:
    """The good rows, if there are any, and if not more than the share `most` of all is bad."""
    if not found:
        raise InvalidInput("the logs have no rows")
    if GOOD not in found:
        rows = sum(problem.rows for problem in problems)
        raise InvalidInput(f"none of the {rows:,} rows has a usable time: {'; '.join(map(told, problems))}")
    share = bad_share(problems, found[GOOD].rows)
    if most is not None and share > most:
        bad = "; ".join(told(problem) for problem in problems if problem.kind != OUTSIDE)
        raise InvalidInput(f"{share:.3%} of the rows are bad, more than the {most:.3%} of --max-bad: {bad}")
    return found[GOOD]


def told(problem: Problem) -> str:
    """
    >>> told(Problem(2, 1200, ()))
    '1,200 rows: no time'
    """
    rows = "1 row" if problem.rows == 1 else f"{problem.rows:,} rows"
    shown = [f"{example.value!r} in {example.file}" for example in problem.examples[:1] if example.value is not None]
    return f"{rows}: {problem.what}{''.join(f', such as {one}' for one in shown)}"


def refuse_long(good: Total, counts: DataFrame) -> None:
    first, seconds = _extent(good)
    if seconds <= LONGEST.total_seconds():
        return
    begin, end = bulk(counts)
    raise InvalidInput(
        f"the first event is of {_moment(first)}, the last of {_moment(first + seconds - 1)}: more than {LONGEST.days}"
        " days of seconds are not filled. Cut the trace with --from and --to;"
        f" 99.8 % of the rows lie from {begin:%Y-%m-%d} to {end:%Y-%m-%d}, both included"
    )


def _moment(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


def _extent(good: Total) -> tuple[int, int]:
    """First second, and how many there are to the last."""
    assert good.first is not None
    assert good.last is not None
    return good.first, good.last - good.first + 1


def size(good: Total, spread: Distribution, record: float | None) -> Size:
    """`record` is taken where the rows' own sizes are not known."""
    first, seconds = _extent(good)
    return Size(
        rows=good.rows,
        seconds=seconds,
        empty=spread.empty,
        first=datetime.fromtimestamp(first, UTC),
        last=datetime.fromtimestamp(first + seconds - 1, UTC),
        mean=good.rows / seconds,
        p50=spread.at(0.5),
        p95=spread.at(0.95),
        p99=spread.at(0.99),
        max=int(spread.at(1.0)),
        record=record if good.size is None else good.size / good.rows,
    )
