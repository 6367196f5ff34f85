"""The resource explorer, against a query that is a function."""

import json
from collections.abc import Callable
from dataclasses import astuple, replace
from random import Random

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.explorer import Exploration, ExplorationRules, Finished, Probe, Question
from tidegate.planner.measurement import Measurement
from tidegate.planner.space import Configuration, Space

SPACE = Space.of(range(4, 33), [0.5, 1.0, 2.0, 4.0])
CORNERS = [(4, 0.5), (32, 0.5), (4, 4.0), (32, 4.0)]


def line(slots: int, memory: float) -> float:
    return 1000.0 * slots + 10 * memory - 500


def explored(exploration: Exploration, rate: Callable[[int, float], float], probes: int = 100) -> Exploration:
    for _ in range(probes):
        question = exploration.ask()
        if isinstance(question, Finished):
            break
        measured = rate(question.slots, question.memory)
        exploration = exploration.tell(Probe(question.slots, question.memory, measured, minutes=13.0))
    return exploration


def noisy(seed: int) -> Callable[[int, float], float]:
    random = Random(seed)
    return lambda slots, memory: line(slots, memory) * (1 + 0.05 * random.gauss(0, 1))


def bootstrapped(*rates: float) -> Exploration:
    """The corners as on the line, then the given deviations at 18 slots and 2 GB."""
    exploration = Exploration(SPACE)
    for slots, memory in CORNERS:
        exploration = exploration.tell(Probe(slots, memory, line(slots, memory)))
    for rate in rates:
        exploration = exploration.tell(Probe(18, 2.0, line(18, 2.0) + rate))
    return exploration


def test_the_corners_come_first() -> None:
    exploration = explored(Exploration(SPACE), line, 4)
    assert [(p.slots, p.memory) for p in exploration.probes] == CORNERS
    assert Exploration(SPACE).ask() == Question(4, 0.5, "corner 1 of 4")


def test_a_corner_that_is_known_is_not_asked_for() -> None:
    exploration = Exploration(SPACE).tell(Probe(32, 0.5, 31_000.0)).tell(Probe(4, 0.5, 3_500.0))
    assert exploration.ask() == Question(4, 4.0, "corner 3 of 4")


def test_it_stops_when_the_error_rises_by_a_tenth() -> None:
    exploration = bootstrapped(100, 100, 100)
    assert isinstance(exploration.ask(), Question)
    # errors of 74, 93 and 99 after the last three; then a measurement that is 1,000 off
    finished = exploration.tell(Probe(25, 1.0, line(25, 1.0) + 1000)).ask()
    assert isinstance(finished, Finished)
    assert finished.reason.startswith("the last measurement raised the error by ")


def test_but_only_with_three_measurements_beyond_the_corners() -> None:
    rising = bootstrapped(10, -1000)
    assert rising.errors[-1] > 1.1 * rising.errors[-2]
    assert isinstance(rising.ask(), Question)
    assert isinstance(replace(rising, rules=ExplorationRules(beyond=2)).ask(), Finished)
    # the released code never stops early
    risen = bootstrapped(100, 100, 100, 5000)
    assert isinstance(risen.ask(), Finished)
    assert isinstance(replace(risen, rules=ExplorationRules(worse=1e9)).ask(), Question)


def test_rounding_is_no_error_that_rises() -> None:
    assert isinstance(bootstrapped(0, 0, 1e-6, 1e-5).ask(), Question)


def test_at_most_twenty_measurements() -> None:
    exploration = explored(Exploration(SPACE, ExplorationRules(worse=1e9)), noisy(1))
    assert len(exploration.measurements) == 20
    assert exploration.ask() == Finished("20 measurements were made, the most allowed")


def test_an_interrupted_exploration_goes_on_with_the_same_question() -> None:
    rules = ExplorationRules(worse=1e9, most=9)
    whole = explored(Exploration(SPACE, rules), noisy(2))
    # stored as JSON after every probe
    for count in range(len(whole.probes)):
        stored = json.loads(json.dumps([astuple(probe) for probe in whole.probes[:count]]))
        resumed = Exploration(SPACE, rules, tuple(Probe(*values) for values in stored)).ask()
        assert isinstance(resumed, Question)
        assert (resumed.slots, resumed.memory) == (whole.probes[count].slots, whole.probes[count].memory)


def test_a_failed_probe_costs_its_minutes_and_not_the_exploration() -> None:
    exploration = Exploration(SPACE).tell(Probe(4, 0.5, None, minutes=2.0, failure="executor lost"))
    assert exploration.ask() == Question(32, 0.5, "corner 2 of 4")
    exploration = explored(exploration, line, 6)
    assert exploration.minutes == 2 + 6 * 13
    assert len(exploration.measurements) == 6
    assert Configuration(4, 0.5) not in [p.configuration for p in exploration.probes[1:]]


def test_if_every_configuration_fails_it_is_over() -> None:
    exploration = Exploration(Space.of([2, 4], [1.0]))
    for slots in (2, 4):
        exploration = exploration.tell(Probe(slots, 1.0, None, 1.0, "out of memory"))
    assert exploration.ask() == Finished("every configuration failed, the last one with: out of memory")


def test_budgets_of_runs_and_minutes() -> None:
    exploration = explored(Exploration(SPACE, ExplorationRules(runs=5)), line)
    assert exploration.ask() == Finished("the budget of 5 probes is spent")
    # four probes of 13 minutes; a fifth would end after 65
    exploration = explored(Exploration(SPACE, ExplorationRules(minutes=60.0)), line)
    assert exploration.ask() == Finished("52 of 60 minutes are spent, and a probe takes longer than the rest")


def test_cached_measurements_answer_each_once() -> None:
    cached = [Measurement(s, m, line(s, m)) for s, m in CORNERS[:3]]
    exploration = Exploration(SPACE).reuse(cached)
    assert len(exploration.probes) == 3
    assert exploration.minutes == 0
    assert exploration.ask() == Question(32, 4.0, "corner 4 of 4")
    assert exploration.reuse(cached) == exploration


def test_one_number_of_slots_or_one_amount_of_memory() -> None:
    # two corners, then the largest gaps until a model has an error
    one_memory = explored(Exploration(Space.of([2, 4, 8, 16], [1.0]), ExplorationRules(most=6)), noisy(3))
    assert {p.slots for p in one_memory.probes[:4]} == {2, 4, 8, 16}
    assert len(one_memory.measurements) == 6 or isinstance(one_memory.ask(), Finished)
    one_slot = explored(Exploration(Space.of([4], [1.0, 2.0, 4.0]), ExplorationRules(most=6)), noisy(4))
    assert len(one_slot.measurements) >= 5


def test_a_single_configuration_is_measured_once() -> None:
    exploration = explored(Exploration(Space.of([4], [1.0])), line)
    assert len(exploration.probes) == 1
    assert exploration.ask() == Finished("the space has a single configuration, which was measured")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Probe(4, 1.0, None), "probe with 4 slots: need either a rate or a failure, got None"),
        (lambda: Probe(4, 1.0, 5.0, 1.0, "lost"), "probe with 4 slots: need either a rate or a failure, got 5.0"),
        (lambda: Probe(4, 1.0, 5.0, -1.0), "probe with 4 slots: need finite minutes >= 0, got -1"),
        (lambda: Probe(4, 1.0, -5.0), "measurement at 4 slots: need a finite rate > 0, got -5"),
        (lambda: ExplorationRules(most=0), "exploration: need 1 <= most, got 0"),
        (lambda: ExplorationRules(error="mape"), "exploration: need error to be one of rmse, mae, got 'mape'"),
    ],
)
def test_impossible_probes_and_rules_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        make()
    assert str(error.value) == sentence
