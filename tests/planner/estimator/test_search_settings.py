from dataclasses import replace
from typing import Any

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.estimator.search_settings import SHORT, SearchSettings


def test_the_defaults_are_those_of_streambed() -> None:
    defaults = SearchSettings()
    assert (defaults.warmup_limit, defaults.cooldown, defaults.cooldown_rate) == (300, 15, 200)
    assert (defaults.injection, defaults.observation, defaults.threshold) == (60, 30, 0.01)
    assert (defaults.tolerance, defaults.growth, defaults.budget) == (0.01, 2, 600)


def test_durations_grow_with_a_long_trigger_interval() -> None:
    slow = SHORT.for_trigger(20.0)
    # four times 5 s
    assert (slow.trigger, slow.window, slow.observation, slow.budget) == (20, 60, 120, 2400)
    assert SHORT.for_trigger(2.0) == replace(SHORT, trigger=2.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"budget": 164.0}, "need budget >= 165 s, a warm-up of 90 s and a probe of 75 s, got 164"),
        ({"warmup_limit": 89.0}, "need warmup-limit >= 90 s, 6 windows of 15 s, got 89"),
        ({"observation": 61.0}, r"need observation <= injection \(60 s\), got 61"),
        ({"threshold": 0.0}, "need 0 < threshold <= 0.5, got 0"),
        ({"growth": 1.0}, "need 1 < growth <= 100, got 1"),
        ({"window": float("nan")}, "need 0 < window, got nan"),
        ({"probes": 0}, "need 1 <= probes <= 1000, got 0"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"capacity search: {sentence}"):
        replace(SearchSettings(), **changes)
    assert SearchSettings(budget=165.0).budget == 165
