"""What every policy must satisfy, whatever it is shown. A new preset enters by being in the registry."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tidegate.control import Autoscaler
from tidegate.core import Batch, Event, ExecutorSample, Limits, Observation, OperatorSample, Step
from tidegate.presets import PRESETS, autoscaler

LIMITS = Limits(2, 6)
PROFILE = "executors,rate,latency,saturated\n2,1000,1.0,0\n2,2000,30.0,0\n2,1900,60.0,1\n5,4700,60.0,1\n5,3000,1.1,0\n"
share = st.none() | st.floats(0, 1)
rate = st.none() | st.sampled_from([0.0, 1.0, 500.0, 1e4, 1e15]) | st.floats(0, 1e9)
seconds = st.none() | st.floats(0, 1e6)
samples = st.lists(
    st.builds(
        ExecutorSample,
        id=st.sampled_from("abcdefgh"),
        cores=st.integers(1, 4),
        cpu=share,
        busy=share,
        rate=rate,
        uptime=seconds,
        tasks=st.none() | st.integers(0, 9),
    ),
    max_size=8,
    unique_by=lambda sample: sample.id,
)
operators = st.lists(
    st.builds(
        OperatorSample,
        name=st.sampled_from(["source", "map", "window", "sink"]),
        upstream=st.sampled_from([(), ("source",), ("map", "source"), ("window",), ("gone",)]),
        parallelism=st.integers(1, 50),
        rate_in=rate,
        rate_out=rate,
        busy=st.none() | st.floats(0, 50),
        cpu=st.none() | st.floats(0, 50),
        backpressured=share,
        queue=share,
    ),
    max_size=4,
    unique_by=lambda one: one.name,
)
batches = st.lists(
    st.builds(
        lambda id, planned, took, begin, size, waiting: Batch(
            id, planned, planned + took, begin, begin + size, None if waiting is None else begin + size + waiting
        ),
        st.integers(0, 1000), st.floats(0, 1e6), st.floats(0, 1e3), st.floats(0, 1e9), st.floats(0, 1e9), rate,
    ),
    max_size=2,
)  # fmt: skip
lost = st.just((Event(0.0, "ExecutorLost", "executor 3 is gone"),))
observations = st.builds(
    Observation,
    time=st.floats(0, 1e6),  # unsorted: clocks jump
    executors=st.integers(0, 10),
    requested=st.integers(0, 10),
    arrival_rate=rate,
    processing_rate=rate,
    backlog=rate,
    latency=seconds,
    trigger=seconds,
    batch_duration=seconds,
    ceiling=st.none() | st.integers(0, 12),
    per_executor=samples.map(tuple),
    operators=operators.map(tuple),
    isolated=st.booleans(),
    batches=batches.map(tuple),
    events=st.just(()) | lost,
)
#: one after the other, a second or a minute apart: what a policy sees on most days
steps = st.sampled_from([1.0, 15.0, 60.0, 600.0])
steady = st.lists(st.tuples(steps, observations), min_size=1, max_size=20).map(
    lambda seen: [replace(obs, time=1e6 + sum(gap for gap, _ in seen[: k + 1])) for k, (_, obs) in enumerate(seen)]
)
sequences = st.lists(observations, max_size=20) | steady
#: every sequence is shown to every policy: drawing one costs more than all of them need for it
EVERY = sorted(PRESETS)
#: examples are large, and making a failing one smaller takes minutes: not here
with_or_without_profile = settings(
    deadline=None,
    max_examples=20,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("profile") / "job.csv"
    path.write_text(PROFILE)
    return str(path)


def made(name: str, profile: str) -> Autoscaler:
    """With everything on that a policy may be given."""
    known = PRESETS[name]
    options = {"down-window": 120.0, "cooldown-up": 30.0, "effect": 0.1, "catching-up": 60.0, "min-change": 0.05}
    chosen = {**options, **({"profile": profile} if "profile" in known.own else {})}
    return autoscaler(
        name, LIMITS, {key: value for key, value in chosen.items() if key in {**known.own, **known.guards}}
    )


def decisions(scaler: Autoscaler, seen: list[Observation]) -> list[tuple[Step, ...]]:
    found = []
    for obs in seen:
        scaler.observe(obs)
        found.append(scaler.decide(obs))
    return found


@with_or_without_profile
@given(seen=sequences)
def test_any_sequence_gives_decisions_within_limits_with_a_reason_and_asking_twice_the_same(
    profile: str, seen: list[Observation]
) -> None:
    for name in EVERY:
        for scaler in (autoscaler(name, LIMITS), made(name, profile)):
            for obs in seen:
                scaler.observe(obs)
                steps = scaler.decide(obs)
                assert LIMITS.minimum <= steps[-1].decision.executors <= LIMITS.maximum, name
                assert all(step.decision.reason for step in steps), name
                assert not any(map(math.isnan, steps[0].decision.evidence.values())), name
                assert scaler.decide(obs) == steps, name


@settings(with_or_without_profile, max_examples=12)
@given(before=sequences, after=sequences)
def test_the_same_observations_give_the_same_decisions_and_so_does_one_that_recalls(
    profile: str, before: list[Observation], after: list[Observation]
) -> None:
    copies = [replace(obs) for obs in before]
    for name in EVERY:
        scaler, other = made(name, profile), made(name, profile)
        assert decisions(scaler, before) == decisions(made(name, profile), copies), name
        other.recall(json.loads(json.dumps(scaler.memory())))
        assert decisions(scaler, after) == decisions(other, after), name
