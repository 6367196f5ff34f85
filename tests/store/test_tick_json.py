"""Ticks as text and back."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    ExecutorShape,
    Observation,
    OperatorSample,
    Step,
    Target,
    Tick,
)
from tidegate.store import observation, steps
from tidegate.store.blocks import pack, rows, unpack
from tidegate.store.tick_json import dump, lean, steps_text

NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**60), 2**60)
MAYBE = st.none() | NUMBERS
COUNTS = st.integers(0, 2**40)
TEXTS = st.text(max_size=8)
SHAPES = st.none() | st.builds(ExecutorShape, COUNTS, COUNTS)


def several(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=2).map(tuple)


EXECUTORS = st.builds(ExecutorSample, TEXTS, st.none() | TEXTS, COUNTS, MAYBE, MAYBE, MAYBE, MAYBE, st.none() | COUNTS)
OPERATORS = st.builds(OperatorSample, TEXTS, several(TEXTS), COUNTS, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE)
BATCHES = st.builds(Batch, COUNTS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, MAYBE, COUNTS, several(NUMBERS))
EVENTS = st.builds(Event, NUMBERS, TEXTS, TEXTS)
OBSERVATIONS = st.builds(
    Observation, NUMBERS, COUNTS, COUNTS, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, shape=SHAPES,
    rerun_tasks=COUNTS, per_executor=several(EXECUTORS), operators=several(OPERATORS), isolated=st.booleans(),
    batches=several(BATCHES), events=several(EVENTS),
)  # fmt: skip
TARGETS = st.builds(Target, COUNTS, st.none() | st.dictionaries(TEXTS, COUNTS, max_size=2), st.none() | COUNTS, SHAPES)
DECISIONS = st.builds(Decision, TARGETS, TEXTS, st.dictionaries(TEXTS, NUMBERS, max_size=2))
STEPS = st.builds(Step, TEXTS, DECISIONS, st.none() | TEXTS)
TICKS = st.builds(Tick, OBSERVATIONS, several(STEPS), st.booleans())


@given(TICKS)
@settings(max_examples=50, deadline=None)
def test_a_tick_comes_back_from_its_texts_and_from_a_block(tick: Tick) -> None:
    again = Tick(observation(json.loads(dump(lean(tick.observation)))), steps(steps_text(tick)), tick.acted)
    assert again == tick
    assert list(unpack(pack(rows([(7, tick), (9, tick)])))) == [(7, tick), (9, tick)]


def test_what_is_as_by_default_is_not_written() -> None:
    assert dump(lean(Observation(1.5, 2, 3))) == '{"time":1.5,"executors":2,"requested":3}'
    step = Step("p", Decision(4, "why"))
    assert steps_text(Tick(Observation(1.5, 2, 3), (step,))) == '[{"by":"p","decision":{"executors":4,"reason":"why"}}]'


def test_fields_that_a_later_version_added_are_left_out() -> None:
    seen = Observation(1.0, 2, 2, per_executor=(ExecutorSample("0"),), batches=(Batch(1, 0.0, 1.0, 0, 5),))
    values = lean(replace(seen))
    values["weather"] = "fine"
    values["per_executor"][0]["colour"] = "blue"
    values["batches"][0]["taste"] = 7
    assert observation(values) == seen
