"""Searches on simulated testbeds: their figures, their time, and what is said where they show nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.core import QueryFailed
from tidegate.experiment import Experiment
from tidegate.planner.estimator.estimate import Ending
from tidegate.planner.estimator.phases import Measurement, Phase
from tidegate.planner.estimator.search_settings import SHORT
from tidegate.planner.explorer import Question
from tidegate.profiling.campaign import simulated_testbed
from tidegate.profiling.search_run import OPENING, Searcher
from tidegate.profiling.testbed import Testbed
from tidegate.sim.batch_model import BatchModel, text

#: of 4 s 0.6 s for the driver; 12 tasks in 3 waves of 0.03 s; 100 µs for a record
MODEL = BatchModel("plain", fixed=0.6, overhead=0.03, cost=1e-4, tasks=12, cold=0.0, noise=0.02)
KEYED = replace(MODEL, stages=2, first=0.6, state=2.0, row_bytes=100.0)
QUESTION = Question(4, 512, "a test")


def searcher(folder: Path, model: BatchModel) -> Searcher:
    file = folder / "model.json"
    file.write_text(text(model))
    e = Experiment(engine="sim", model=str(file), policy="static", trigger=4.0, period=1.0)
    return Searcher(e, SHORT, simulated_testbed)


@pytest.mark.parametrize("minutes", [5.0, 10.0])
def test_a_search_shows_what_records_and_tasks_cost(tmp_path: Path, minutes: float) -> None:
    search = searcher(tmp_path, MODEL)
    settings = search.within(OPENING + 60 * minutes, wanted=60 * minutes)
    assert settings is not None
    figures = search.run(QUESTION, None, settings).figures
    assert figures is not None
    assert figures.each == pytest.approx(1e-4, rel=0.03)
    assert figures.costs_known
    # 0.6 s and three waves of 0.03 s
    assert figures.fixed == pytest.approx(0.69, rel=0.35)
    assert (figures.executors, figures.trigger, figures.keyed, figures.state) == (4, 4.0, None, None)


def test_of_a_query_with_state_each_stage_and_the_state_at_the_rate(tmp_path: Path) -> None:
    search = searcher(tmp_path, KEYED)
    figures = search.run(QUESTION, 34_000.0, search.usual).figures
    assert figures is not None
    assert figures.keyed == 1
    assert [stage.each for stage in figures.stages] == pytest.approx([6e-5, 4e-5], rel=0.05)
    assert figures.state is not None
    # two rows of 100 bytes for each record a second, although loads differ, and cooldowns have a twentieth
    assert figures.state.rows / figures.rate == pytest.approx(2.0, rel=0.1)
    assert figures.state.size == pytest.approx(100 * figures.state.rows, rel=0.01)


def test_a_query_with_state_becomes_steady_whatever_the_noise(tmp_path: Path) -> None:
    search = searcher(tmp_path, KEYED)
    estimates = [search.run(QUESTION, 34_000.0, search.usual, repetition=k).estimate for k in range(10)]
    assert all(estimate is not None and estimate.rate is not None for estimate in estimates)


def test_a_repetition_has_other_noise(tmp_path: Path) -> None:
    search = searcher(tmp_path, MODEL)
    first, again, other = (search.run(QUESTION, 34_000.0, search.usual, repetition=k) for k in (0, 0, 1))
    assert first == replace(again, minutes=first.minutes)
    assert first.estimate != other.estimate


def test_a_query_that_fails_has_no_figures(tmp_path: Path) -> None:
    @contextmanager
    def failing(e: Experiment) -> Iterator[Testbed]:
        raise QueryFailed("the query failed: no such column")
        yield

    search = replace(searcher(tmp_path, MODEL), testbed=failing)
    run = search.run(QUESTION, None, search.usual)
    assert (run.estimate, run.failure, run.figures) == (None, "the query failed: no such column", None)
    assert run.no_figures == "a run that sustained no rate shows no costs"
    assert run.probe(QUESTION).failure == "the query failed: no such column"


class Growing(Testbed):
    """Its state doubles from phase to phase."""

    def __init__(self) -> None:
        self._rows = 1.0

    def measure(self, phase: Phase) -> Measurement:
        self._rows *= 2
        return Measurement(15.0, phase.rate, 1_000.0, state_rows=self._rows)

    @property
    def observations(self) -> tuple[()]:
        return ()


def test_a_query_that_never_becomes_steady_says_so(tmp_path: Path) -> None:
    @contextmanager
    def growing(e: Experiment) -> Iterator[Testbed]:
        yield Growing()

    search = replace(searcher(tmp_path, MODEL), testbed=growing)
    run = search.run(QUESTION, 1_000.0, search.usual)
    assert run.estimate is not None
    assert run.estimate.ending is Ending.NEVER_STEADY
    assert run.probe(QUESTION).failure.startswith("the query did not become steady during the warm-up: is its state")


def test_a_search_fits_the_time_there_is(tmp_path: Path) -> None:
    search = searcher(tmp_path, MODEL)
    # 40 % of 600 s
    assert search.within(OPENING + 239.0) is None
    shown = [
        search.within(OPENING + s, wanted) for s, wanted in ((300.0, 0.0), (500.0, 0.0), (500.0, 400.0), (500.0, 9e9))
    ]
    assert [settings.budget for settings in shown if settings] == [300.0, 300.0, 400.0, 500.0]
    assert search.short_seconds == OPENING + 300.0
