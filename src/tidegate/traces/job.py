"""The batch job that turns logs into a trace: find, count, check, fill, measure, publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from tidegate.cluster.jvm_shutdown import finish
from tidegate.core import InvalidInput
from tidegate.traces.counting import classify, count_by_second, examples, main_days, totals_by_kind
from tidegate.traces.errors import translated_errors
from tidegate.traces.inputs import Inputs, find
from tidegate.traces.key_skew import measure_skew
from tidegate.traces.measure import Distribution, distribution, envelope
from tidegate.traces.problems import GOOD, OUTSIDE, Problem, Total
from tidegate.traces.reading import read
from tidegate.traces.request import LONGEST, Request
from tidegate.traces.result import Size, Skew, Trace, bad_share
from tidegate.traces.row_size import mean_row_size
from tidegate.traces.time_units import notation_names
from tidegate.traces.writing import Draft, draft, write_seconds

Say = Callable[[str], None]


def check_request(request: Request) -> Inputs:
    """The files to read. Every error that can be detected without Spark is raised here."""
    inputs = find(request.logs, request.format, request.separator)
    if str(request.output.resolve()) in inputs.files:
        raise InvalidInput(f"the trace {request.output} would replace one of the logs: choose another -o")
    with draft(request.output):  # raises if the output cannot be written
        return inputs


def build_trace(spark: SparkSession, request: Request, say: Say = lambda _: None) -> Trace:
    """Count the logs of a request and write the trace. The session must have the settings of `batch_session`.

    The logs are read once, a second time for the skew of keys, and partially for examples of bad rows. An existing
    output is replaced only once the new one is complete.
    """
    job = _Job(spark, request, check_request(request), datetime.now(UTC), say)
    with draft(request.output) as output, translated_errors():
        say("counting records per second")
        counts = count_by_second(job.rows())
        try:
            return job.write(counts, output)
        finally:
            finish("dropping the counts", counts.unpersist)


@dataclass(frozen=True, slots=True)
class _Job:
    spark: SparkSession
    request: Request
    inputs: Inputs
    #: the same for all passes, so that they agree on which times are in the future
    now: datetime
    say: Say

    def rows(self, with_file: bool = False) -> DataFrame:
        return classify(read(self.spark, self.inputs, self.request, with_file), self.request.span, self.now)

    def write(self, counts: DataFrame, output: Draft) -> Trace:
        totals = totals_by_kind(counts)
        problems = self.problems(totals)
        good = good_rows(totals, problems, self.request.max_bad)
        check_length(good, counts)
        self.say("filling the gaps")
        seconds = write_seconds(self.spark, counts, good, output.parts)
        self.say("measuring the trace")
        rates, (first, length) = distribution(seconds), _extent(good)
        trace = Trace(
            path=self.request.output,
            size=trace_size(good, rates, mean_row_size(self.inputs.sources)),
            problems=problems,
            skew=self.skew(),
            envelope=envelope(seconds, first, length),
            distribution=rates.levels,
            notations=notation_names(good.notation),
            files=len(self.inputs.files),
            left_out=self.inputs.left_out,
        )
        output.publish()
        return trace

    def problems(self, totals: Mapping[int, Total]) -> tuple[Problem, ...]:
        kinds = sorted(totals.keys() - {GOOD})
        if kinds:
            self.say("looking for examples of bad rows")
        rows = self.rows(with_file=True)
        samples = {kind: examples(rows, kind, totals[kind].rows) for kind in kinds if kind != OUTSIDE}
        return tuple(Problem(kind, totals[kind].rows, samples.get(kind, ())) for kind in kinds)

    def skew(self) -> Skew | None:
        if self.request.key is None:
            return None
        self.say("counting keys")
        return measure_skew(self.rows(), self.request.key)


def good_rows(totals: Mapping[int, Total], problems: Sequence[Problem], max_bad: float | None) -> Total:
    """The total of the good rows. No good row at all is an error, and so is a larger share of bad rows than
    `max_bad`.
    """
    if not totals:
        raise InvalidInput("the logs have no rows")
    if GOOD not in totals:
        rows = sum(problem.rows for problem in problems)
        raise InvalidInput(f"none of the {rows:,} rows has a usable time: {'; '.join(map(describe, problems))}")
    share = bad_share(problems, totals[GOOD].rows)
    if max_bad is not None and share > max_bad:
        bad = "; ".join(describe(problem) for problem in problems if problem.kind != OUTSIDE)
        raise InvalidInput(f"{share:.3%} of the rows are bad, more than the {max_bad:.3%} of --max-bad: {bad}")
    return totals[GOOD]


def describe(problem: Problem) -> str:
    """
    >>> describe(Problem(2, 1200, ()))
    '1,200 rows: no time'
    """
    rows = "1 row" if problem.rows == 1 else f"{problem.rows:,} rows"
    samples = [f"{example.value!r} in {example.file}" for example in problem.examples[:1] if example.value is not None]
    return f"{rows}: {problem.what}{''.join(f', such as {sample}' for sample in samples)}"


def check_length(good: Total, counts: DataFrame) -> None:
    first, seconds = _extent(good)
    if seconds <= LONGEST.total_seconds():
        return
    begin, end = main_days(counts)
    raise InvalidInput(
        f"the first event is at {_timestamp(first)}, the last at {_timestamp(first + seconds - 1)}: a trace cannot be"
        f" longer than {LONGEST.days} days. Limit it with --from and --to;"
        f" 99.8 % of the rows are from {begin:%Y-%m-%d} to {end:%Y-%m-%d}, inclusive"
    )


def _timestamp(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


def _extent(good: Total) -> tuple[int, int]:
    """The first second, and the number of seconds up to and including the last."""
    assert good.first is not None
    assert good.last is not None
    return good.first, good.last - good.first + 1


def trace_size(good: Total, rates: Distribution, row_bytes: float | None) -> Size:
    """`row_bytes` is used if the logs do not give the size of each row."""
    first, seconds = _extent(good)
    return Size(
        rows=good.rows,
        seconds=seconds,
        empty=rates.empty,
        first=datetime.fromtimestamp(first, UTC),
        last=datetime.fromtimestamp(first + seconds - 1, UTC),
        mean=good.rows / seconds,
        p50=rates.at(0.5),
        p95=rates.at(0.95),
        p99=rates.at(0.99),
        max=int(rates.at(1.0)),
        record=row_bytes if good.size is None else good.size / good.rows,
    )
