import json
from collections.abc import Sequence

import pytest

from tidegate.core import Batch, Decision, InvalidInput, Observation
from tidegate.memory import memory, recall
from tidegate.policies.dstreams import DStreams


def asked(policy: DStreams, spans: Sequence[tuple[float, float]], *, time: float = 60, requested: int = 4) -> Decision:
    """Show batches that were planned and finished at these times, and ask."""
    batches = tuple(Batch(k, planned, finished, 0, 1) for k, (planned, finished) in enumerate(spans))
    obs = Observation(time, requested, requested, processing_rate=1.0, batches=batches)
    policy.observe(obs)
    return policy.decide(obs)


def test_it_adds_the_rounded_ratio_of_batch_time_to_interval() -> None:
    assert asked(DStreams(trigger=10), [(0, 9)]).executors == 5  # 9 / 10 = 0.9: round(0.9) = 1 more
    assert asked(DStreams(trigger=10), [(0, 26)]).executors == 7  # 26 / 10 = 2.6: 3 more
    assert asked(DStreams(trigger=10), [(0, 5), (10, 33)]).executors == 5  # (5 + 23) / 2 / 10 = 1.4: 1 more
    assert asked(DStreams(trigger=10, scaling_up_ratio=0.4), [(0, 4)]).executors == 5  # round(0.4) = 0, one at least


def test_it_removes_one_where_batches_are_short() -> None:
    wish = asked(DStreams(trigger=10), [(0, 3)])  # 3 / 10 = 0.3
    assert wish.executors == 3
    assert wish.evidence == {"batch_duration": 3.0, "batch_interval": 10.0, "ratio": 0.3}
    assert asked(DStreams(trigger=10), [(0, 3)], requested=1).executors == 1


def test_in_between_it_holds() -> None:
    wish = asked(DStreams(trigger=10), [(0, 5)])
    assert wish.reason == "hold: batches take 5.00 s, 0.50 of the interval of 10 s, between 0.3 and 0.9"


def test_only_batches_of_the_last_interval_count() -> None:
    policy = DStreams(trigger=10)
    asked(policy, [(0, 30)], time=40)
    assert asked(policy, [(90, 95)], time=99).evidence["batch_duration"] == 17.5  # (30 + 5) / 2
    assert asked(policy, [(95, 101)], time=101).evidence["batch_duration"] == 5.5  # (5 + 6) / 2: 40 is 61 s ago


def test_without_a_finished_batch_it_holds_for_ever() -> None:  # Spark's own defect, SPARK-42972
    assert asked(DStreams(trigger=10), []).reason == "hold: no batch finished within the last 60 s"


def test_the_interval_is_learned_from_starts_that_waited() -> None:
    policy = DStreams()
    assert asked(policy, [(3, 4)]).reason == "hold: the batch interval is not known before the second batch"
    # starts 3, 10, 20, 30: the first did not wait; 10 to 20 is the first time between two that did
    assert asked(DStreams(), [(3, 4), (10, 11), (20, 22), (30, 34)]).evidence["batch_interval"] == 10
    # 20 to 34 took longer than the trigger, 34 came late, and 40 came early after it: neither is the interval
    late = [(0, 1), (10, 11), (20, 34), (34, 35), (40, 41)]
    assert asked(DStreams(), late).evidence["batch_interval"] == 10


@pytest.mark.parametrize(
    "spans",
    [
        [(100, 101), (50, 51), (60, 61)],  # the clock went back between the first two
        [(0, 10), (10, 24), (24, 30)],  # none waited: 10 is the shorter
        [(0, 1), (10, 24), (24, 25)],  # the last came late
        [(0, 1), (10, 11), (20, 21), (40, 41)],  # there was nothing to do at 30
    ],
)
def test_the_interval_is_the_shortest_that_can_be_one(spans: list[tuple[float, float]]) -> None:
    assert asked(DStreams(), spans).evidence["batch_interval"] == 10


def test_batches_without_a_pause_have_a_ratio_of_one() -> None:
    assert asked(DStreams(), [(0, 8), (8, 16), (16, 24)]).evidence["ratio"] == 1.0


def test_a_clock_that_goes_back_forgets_the_batches() -> None:
    policy = DStreams(trigger=10)
    asked(policy, [(0, 30)], time=1000)
    assert asked(policy, [(0, 5)], time=10).evidence["batch_duration"] == 5


def test_its_memory_goes_through_json() -> None:
    policy = DStreams()
    asked(policy, [(0, 1), (10, 11), (20, 21)])
    assert recall(DStreams(), json.loads(json.dumps(memory(policy)))) == policy


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy dstreams: need 0 < scaling-up-ratio, got 0"):
        DStreams(scaling_up_ratio=0)
