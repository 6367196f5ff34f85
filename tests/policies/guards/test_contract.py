"""What holds for every guard, whatever it is shown: alone and in a chain with everything switched on."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Decision, ExecutorSample, Guard, Observation, OperatorSample, Target
from tidegate.memory import memory, recall
from tidegate.policies.guards import GuardSettings

#: thresholds in the middle of what is drawn below, so that each guard sees both sides of its own
EVERYTHING = GuardSettings(
    down_window=60, up_window=30, cooldown_up=15, cooldown_down=30, min_change=0.1, dead_band_down=1, dead_band_up=1,
    step_up=2, step_factor=1.5, step_down=0.5, late=20, catching_up=30, core_quota=16, effect=0.5, effect_hold=120,
    arriving=20, uneven=20, pause="in", excluded="Mon-Fri 22:00-06:00, 12:00-12:10",
)  # fmt: skip
NAMES = [guard.name for guard in EVERYTHING.chain()]
LEARNING = [guard.name for guard in EVERYTHING.chain() if memory(guard)]
OPERATORS = ("source", "map", "window")

rate = st.none() | st.sampled_from([0.0, 1.0, 100.0, 101.0, 5e-324, 1e12]) | st.floats(0, 1e9)
# seconds since the observation before: once again, onwards, far ahead, a little back, far back
leap = st.sampled_from([0.0, 1.0, 15.0, 15.0, 15.0, 30.0, 1e9, -1.0, -3600.0, -1e9])
workers = st.integers(1, 9)
operators = st.lists(
    st.builds(OperatorSample, name=st.sampled_from(OPERATORS), parallelism=workers),
    unique_by=lambda operator: operator.name,
)
observations = st.builds(
    Observation,
    time=leap,
    executors=st.integers(0, 10),
    requested=st.integers(0, 10),
    arrival_rate=rate,
    processing_rate=rate,
    backlog=rate,
    latency=rate,
    batch_duration=st.none() | st.floats(0, 60),
    trigger=st.none() | st.floats(0, 60),
    pause=st.none() | st.floats(0, 60),
    ceiling=st.none() | st.integers(0, 12),
    per_executor=st.lists(
        st.builds(ExecutorSample, id=st.just("1"), cores=st.integers(0, 4), stalled=st.booleans()), max_size=1
    ).map(tuple),
    operators=operators.map(tuple),
    isolated=st.booleans(),
    uneven=st.sampled_from(["", "state is on its way"]),
)
totals = st.builds(Decision, target=st.integers(0, 40), reason=st.just("load"))
shares = st.dictionaries(st.sampled_from(OPERATORS), workers, min_size=1).map(
    lambda each: Decision(Target(sum(each.values()), each), "load", {"cpu": 0.5})
)
turns = st.lists(st.tuples(totals | shares, observations), min_size=1, max_size=12)

Turns = list[tuple[Decision, Observation]]
every_chain = pytest.mark.parametrize("only", [*NAMES, "all"])
every_memory = pytest.mark.parametrize("only", [*LEARNING, "all"])


def chain(only: str) -> tuple[Guard, ...]:
    return tuple(guard for guard in EVERYTHING.chain() if only in (guard.name, "all"))


def timed(seen: Turns) -> Turns:
    """Leaps as times, from a Monday noon on."""
    now, sequence = 4 * 86_400 + 43_200.0, []
    for wish, obs in seen:
        now += obs.time
        sequence.append((wish, replace(obs, time=now)))
    return sequence


def tempered(guards: tuple[Guard, ...], wish: Decision, obs: Observation) -> Decision:
    for guard in guards:
        wish = guard.temper(wish, obs)
    return wish


@every_chain
@settings(deadline=None, max_examples=30)
@given(seen=turns)
def test_any_sequence_gives_a_decision_with_a_reason_and_asking_twice_the_same(only: str, seen: Turns) -> None:
    guards = chain(only)
    for wish, obs in timed(seen):
        decision = tempered(guards, wish, obs)
        assert decision == tempered(guards, wish, obs)
        assert decision.reason
        assert decision.executors >= 0
        if decision != wish:
            assert f"({wish.reason})" in decision.reason
        if decision.reason.startswith("hold: "):
            assert (decision.executors, decision.per_operator) == (obs.requested, None)
        if obs.isolated and decision.per_operator is not None:
            assert sum(decision.per_operator.values()) == decision.executors
            assert min(decision.per_operator.values()) >= 1


@every_memory
@settings(deadline=None, max_examples=25)
@given(before=turns, later=turns)
def test_a_guard_that_recalls_its_memory_goes_on_as_if_nothing_had_been(only: str, before: Turns, later: Turns) -> None:
    guards, seen = chain(only), timed([*before, *later])
    for wish, obs in seen[: len(before)]:
        tempered(guards, wish, obs)
    memories = json.loads(json.dumps([memory(guard) for guard in guards], allow_nan=False))
    copies = tuple(recall(guard, state) for guard, state in zip(chain(only), memories, strict=True))
    assert copies == guards
    for wish, obs in seen[len(before) :]:
        assert tempered(copies, wish, obs) == tempered(guards, wish, obs)


@every_chain
@settings(deadline=None, max_examples=20)
@given(obs=observations)
def test_a_hold_stays_a_hold_but_for_a_quota(only: str, obs: Observation) -> None:
    still = Decision(obs.requested, "hold: nothing known")
    decision = tempered(chain(only), still, obs)
    assert decision == still or "quota" in decision.reason


def test_memory_stays_small_over_a_day() -> None:
    guards = EVERYTHING.chain()
    for turn in range(5_760):  # a day in steps of 15 s
        n = 2 + turn % 5
        shares = {"map": n, f"stage {turn}": 1}  # and operators that come and go
        obs = Observation(15.0 * turn, n, n + turn % 2, 100.0, 90.0, 1e4 + turn, isolated=True)
        tempered(guards, Decision(Target(n + 1, shares), "load"), obs)
    assert len(json.dumps([memory(guard) for guard in guards])) < 2_000
