"""What every policy must satisfy, whatever it is shown. A new preset enters by being in the registry."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.control import Autoscaler
from tidegate.core import ExecutorSample, Limits, Observation
from tidegate.presets import PRESETS, autoscaler

LIMITS = Limits(2, 6)
share = st.none() | st.floats(0, 1)
rate = st.none() | st.floats(0, 1e9)
samples = st.lists(
    st.builds(
        ExecutorSample, id=st.sampled_from("abcdefgh"), cpu=share, busy=share, uptime=st.none() | st.floats(0, 1e6)
    ),
    max_size=8,
    unique_by=lambda sample: sample.id,
)
observations = st.builds(
    Observation,
    time=st.floats(0, 1e6),  # unsorted: clocks jump
    executors=st.integers(0, 10),
    requested=st.integers(0, 10),
    arrival_rate=rate,
    processing_rate=rate,
    backlog=rate,
    per_executor=samples.map(tuple),
)
every_preset = pytest.mark.parametrize("name", sorted(PRESETS))


def decisions(scaler: Autoscaler, seen: list[Observation]) -> list[object]:
    found: list[object] = []
    for obs in seen:
        scaler.observe(obs)
        found.append(scaler.decide(obs))
    return found


@every_preset
@settings(deadline=None, max_examples=50)
@given(seen=st.lists(observations, max_size=20))
def test_any_sequence_gives_decisions_within_limits_with_a_reason(name: str, seen: list[Observation]) -> None:
    scaler = autoscaler(name, LIMITS)
    for obs in seen:
        scaler.observe(obs)
        decision = scaler.decide(obs)[-1].decision
        assert LIMITS.minimum <= decision.executors <= LIMITS.maximum
        assert decision.reason


@every_preset
@settings(deadline=None, max_examples=50)
@given(seen=st.lists(observations, min_size=1, max_size=20))
def test_asking_twice_gives_one_answer(name: str, seen: list[Observation]) -> None:
    scaler = autoscaler(name, LIMITS)
    for obs in seen:
        scaler.observe(obs)
        assert scaler.decide(obs) == scaler.decide(obs)


@every_preset
@settings(deadline=None, max_examples=50)
@given(seen=st.lists(observations, max_size=20))
def test_the_same_observations_give_the_same_decisions(name: str, seen: list[Observation]) -> None:
    copies = [replace(obs) for obs in seen]
    assert decisions(autoscaler(name, LIMITS), seen) == decisions(autoscaler(name, LIMITS), copies)
