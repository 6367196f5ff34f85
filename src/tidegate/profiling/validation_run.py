"""One run between testbed and target, the only test of what is predicted beyond the testbed."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.planner.averaging import AveragedCapacity
from tidegate.planner.explorer import Question
from tidegate.planner.measurement import Measurement
from tidegate.planner.validation import Validation, validate
from tidegate.profiling.search_run import Searcher, SearchRun


@dataclass(frozen=True, slots=True)
class ValidationRun:
    """Without a `validation`, `failure` says why there is none. `run` is None if there was no time for one."""

    validation: Validation | None
    run: SearchRun | None = None
    failure: str = ""

    @property
    def minutes(self) -> float:
        return self.run.minutes if self.run else 0.0


def validation_run(searcher: Searcher, capacity: AveragedCapacity, slots: int, seconds: float) -> ValidationRun:
    """A search with so many slots, against the capacity that was learnt without it."""
    settings = searcher.within(seconds, wanted=seconds)
    if settings is None:
        return ValidationRun(None, failure="no time was left for the validation run: a longer --budget has some")
    question = Question(slots, capacity.memory, "validation")
    expected = capacity.interval(slots).median
    run = searcher.run(question, expected, settings, repetition=len(capacity.measurements))
    probe = run.probe(question)
    if probe.rate is None:
        return ValidationRun(None, run, f"the run with {slots:,} slots validates nothing: {probe.failure}")
    return ValidationRun(validate(capacity, Measurement(slots, capacity.memory, probe.rate)), run)
