import json
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from tidegate.core import InvalidInput
from tidegate.memory import memory, recall
from tidegate.stats import Window


@dataclass(slots=True)
class Part:
    size: int = 3
    _seen: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Whole:
    """Everything that can be remembered, in one object."""

    name: str = "whole"
    part: Part = field(default_factory=Part)
    _window: Window | None = None
    _ring: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=2))
    _by_number: dict[int, tuple[float, ...]] = field(default_factory=dict)
    _curve: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    _names: set[str] = field(default_factory=set)
    _best: float | None = None


def learned() -> Whole:
    window = Window(age=10)
    window.update(1, 5.0)
    whole = Whole("other", Part(7, [1.5]), window, deque([(1.0, 2)], maxlen=2), {4: (1.0, 2.0)}, np.array([1.0, 2.0]))
    whole._names, whole._best = {"a"}, 0.5
    return whole


def test_what_was_learned_goes_through_json_and_how_it_was_set_up_does_not() -> None:
    state = json.loads(json.dumps(memory(learned())))
    back = recall(Whole(), state)
    assert (back.name, back.part.size) == ("whole", 3)  # set up, not learned
    assert back.part._seen == [1.5]
    assert back._window == learned()._window
    assert back._ring == deque([(1.0, 2)])
    assert back._ring.maxlen == 2
    assert back._by_number == {4: (1.0, 2.0)}
    assert back._curve.tolist() == [1.0, 2.0]
    assert (back._names, back._best) == ({"a"}, 0.5)


def test_an_object_with_a_memory_of_its_own_is_asked() -> None:
    class Own:
        state = 1

        def memory(self) -> dict[str, int]:
            return {"state": self.state}

        def recall(self, state: dict[str, int]) -> None:
            self.state = state["state"]

    own = Own()
    own.state = 5
    assert recall(Own(), memory(own)).state == 5


def test_a_memory_that_does_not_fit_changes_nothing() -> None:
    whole = learned()
    for state in ({"_best": 1.0, "_other": 2}, {"_best": 1.0, "_by_number": 7}, {"_best": 1.0, "part": {"_seen": 1}}):
        with pytest.raises(InvalidInput, match="a memory does not fit Whole"):
            recall(whole, state)
        assert whole._best == 0.5


def test_what_has_nothing_to_remember_has_an_empty_memory() -> None:
    assert memory(object()) == {}
    assert memory(3) == {}


def test_what_cannot_be_remembered_is_named() -> None:
    @dataclass
    class Bad:
        _file: object = field(default_factory=object)

    with pytest.raises(TypeError, match="nothing of type object can be remembered"):
        memory(Bad())
