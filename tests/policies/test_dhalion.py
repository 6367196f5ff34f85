import json
from dataclasses import replace

import pytest

from tidegate.core import Batch, Decision, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies import Dhalion

NAMES = ("source", "map", "window", "sink")


def line(
    held_up: tuple[float | None, ...] = (0.0, 0.0, 0.0, 0.0), queues: tuple[float | None, ...] = (None, 1.0, 1.0, 1.0)
) -> tuple[OperatorSample, ...]:
    """source -> map -> window -> sink, 4 workers each; the source takes in 5000 records/s."""
    return tuple(
        OperatorSample(name, NAMES[max(0, k - 1) : k], 4, 5000.0, 5000.0, 1.0, backpressured=share, queue=queue)
        for k, (name, share, queue) in enumerate(zip(NAMES, held_up, queues, strict=True))
    )


def isolated(operators: tuple[OperatorSample, ...], *, time: float = 0, lag: float | None = None) -> Observation:
    total = sum(operator.parallelism for operator in operators)
    return Observation(time, total, total, backlog=lag, operators=operators, isolated=True)


def growing(operators: tuple[OperatorSample, ...], by: float, start: float = 1e6) -> list[Observation]:
    return [isolated(operators, time=t, lag=start + by * t) for t in range(0, 15, 3)]


def decide(policy: Dhalion, *seen: Observation) -> Decision:
    for obs in seen:
        policy.observe(obs)
    assert policy.decide(seen[-1]) == policy.decide(seen[-1])
    return policy.decide(seen[-1])


def sizes(decision: Decision) -> list[int]:
    assert decision.per_operator is not None
    return [decision.per_operator[name] for name in NAMES]


def test_the_operator_below_the_last_one_held_up_is_the_root() -> None:
    decision = decide(Dhalion(), isolated(line((0.9, 0.5, 0.0, 0.0))))
    assert sizes(decision) == [4, 4, 8, 4]  # 4 * (1 + 0.5 / 0.5): what is right before it counts
    assert decision.executors == 20
    assert decision.reason == "window holds up what is before it: x2.00, 4 -> 8"


def test_the_factor_is_bounded_at_ten() -> None:
    decision = decide(Dhalion(), isolated(line((1.0, 0.0, 0.0, 0.0))))
    assert sizes(decision) == [4, 40, 4, 4]  # 0.9 at most: 1 + 0.9 / 0.1


def test_held_up_for_a_tenth_of_the_time_is_no_backpressure() -> None:
    assert decide(Dhalion(), isolated(line((0.1, 0.0, 0.0, 0.0)))).reason.startswith("hold: no backpressure")
    decision = decide(Dhalion(backpressure_threshold=0.05), isolated(line((0.1, 0.0, 0.0, 0.0))))
    assert sizes(decision) == [4, 5, 4, 4]  # 4 / 0.9 = 4.44


def test_shares_are_means_over_the_window() -> None:
    seen = [isolated(line((share, 0.0, 0.0, 0.0)), time=time) for time, share in [(0, 1.0), (10, 0.8), (20, 0.2)]]
    assert sizes(decide(Dhalion(window=15), *seen)) == [4, 8, 4, 4]  # (0.8 + 0.2) / 2; the first is 20 s old


def test_of_several_roots_the_one_nearest_the_sink_or_as_released_all() -> None:
    obs = isolated(line((0.5, 0.0, 0.75, 0.0)))
    assert sizes(decide(Dhalion(), obs)) == [4, 4, 4, 16]  # 4 * (1 + 0.75 / 0.25)
    assert sizes(decide(Dhalion(all_roots=1), obs)) == [4, 8, 4, 16]


def test_of_two_inputs_the_worse_counts() -> None:
    left, right = (
        OperatorSample(name, (), 2, 1.0, 1.0, backpressured=share) for name, share in (("a", 0.5), ("b", 0.75))
    )
    join = OperatorSample("join", ("a", "b"), 3, backpressured=0.0)
    assert decide(Dhalion(), isolated((left, right, join))).per_operator == {"a": 2, "b": 2, "join": 12}


def test_a_source_whose_lag_grows_and_that_nothing_holds_up_is_the_root() -> None:
    decision = decide(Dhalion(), *growing(line(), by=2500))
    assert sizes(decision) == [6, 4, 4, 4]  # 4 * (1 + 2500 / 5000)
    assert decision.reason == "source falls behind its input: x1.50, 4 -> 6"
    assert sizes(decide(Dhalion(), *growing(line(), by=1e6))) == [40, 4, 4, 4]  # ten times at most
    assert sizes(decide(Dhalion(), *growing(line((0.5, 0.0, 0.0, 0.0)), by=2500))) == [4, 8, 4, 4]


def test_a_lag_that_grows_slowly_or_falls_is_no_backpressure() -> None:
    assert decide(Dhalion(), *growing(line(), by=1000)).reason.startswith("hold: no backpressure")
    assert decide(Dhalion(), *growing(line(), by=-5000)).reason.startswith("hold: no backpressure")


def test_without_backpressure_empty_queues_give_up_a_fifth() -> None:
    seen = growing(line(queues=(None, 0.2, 0.3, None)), by=0, start=9999)
    # source: lag below 10,000; map: 20 % full; window: fuller; sink: not known
    assert sizes(decide(Dhalion(), *seen)) == [3, 3, 4, 4]  # floor(3.2)
    # it is the lag that counts for a source and not its growth
    assert sizes(decide(Dhalion(), *growing(line(queues=(None, 0.2, 0.3, None)), by=0, start=10_000))) == [4, 3, 4, 4]


def test_one_worker_stays() -> None:
    sink = OperatorSample("sink", (), 1, 5.0, backpressured=0.0)
    assert decide(Dhalion(), isolated((sink,), lag=0)).per_operator == {"sink": 1}
    five = OperatorSample("sink", (), 5, 5.0, backpressured=0.0)
    assert decide(Dhalion(), isolated((five,), lag=0)).per_operator == {"sink": 4}  # 5 * 0.8, not 3


def test_what_is_wished_is_not_kept_from_one_decision_to_the_next() -> None:
    policy = Dhalion()
    decide(policy, isolated(line((0.5, 0.0, 0.0, 0.0))))
    calm = [isolated(line(), time=t) for t in range(1, 31)]
    assert decide(policy, *calm).reason == "hold: no backpressure, and no input queue known to be empty"


def test_unknown_means_hold() -> None:
    unknown = line((None, None, None, None))
    assert decide(Dhalion(), isolated(unknown)).reason == "hold: backpressure is not known of any operator yet"
    alone = (OperatorSample("map", ("elsewhere",), 2, backpressured=0.5),)
    assert decide(Dhalion(), isolated(alone)).reason == "hold: map held up, and what holds them up is not to be seen"


def spark(
    time: float, backlog: float, *, duration: float = 4.0, size: int = 5, processed: float = 4000.0
) -> Observation:
    """A batch every 5 s that ended just now; 10,000 records arrive per second: 50,000 in a trigger."""
    return Observation(
        time,
        size,
        size,
        arrival_rate=10_000.0,
        processing_rate=processed,
        backlog=backlog,
        trigger=5.0,
        batch_duration=duration,
        batches=(Batch(int(time), time - duration, time, 0, 20_000),),
    )


def test_on_spark_a_growing_lag_is_the_backpressure_of_the_query() -> None:
    decision = decide(Dhalion(), *(spark(t, 100_000 + 3000 * t) for t in (0, 5, 10)))
    assert decision.executors == 9  # 5 * (1 + 3000 / 4000) = 8.75
    assert decision.reason == "the lag grows by 3,000 records/s: x1.75: 5 -> 9"
    stuck = decide(Dhalion(), *(spark(t, 100_000 + 3000 * t, processed=0.0) for t in (0, 5, 10)))
    assert stuck.reason == "hold: the lag grows by 3,000 records/s, but nothing is processed at all"


def test_on_spark_it_shrinks_when_the_backlog_is_that_of_a_trigger_and_batches_end_in_time() -> None:
    assert decide(Dhalion(), *(spark(t, 50_000) for t in (0, 5, 10))).executors == 4  # floor(5 * 0.8)
    waiting = decide(Dhalion(), *(spark(t, 60_000) for t in (0, 5, 10)))
    assert waiting.reason == "hold: a lag of 60,000 records is more than arrives in a trigger"
    late = decide(Dhalion(), *(spark(t, 50_000, duration=5.6) for t in (0, 5, 10)))
    assert late.reason == "hold: batches take 5.6 s, more than the 5.0 s of a trigger"


def test_on_spark_the_fifth_is_of_the_executors_that_were_measured() -> None:
    def wished(requested: int, executors: int) -> int:
        seen = [replace(spark(t, 50_000), executors=executors, requested=requested) for t in (0, 5, 10)]
        return decide(Dhalion(), *seen).executors

    assert wished(5, 5) == 4
    assert wished(5, 10) == 5  # five of ten are leaving: 8 would do, and 5 are requested
    assert wished(9, 10) == 8  # floor(10 * 0.8)
    assert wished(5, 3) == 4  # two are still to come


def test_on_spark_thresholds_belong_to_the_calm_side() -> None:
    calm = decide(Dhalion(), *(spark(t, 10_000 + 1000 * t) for t in (0, 5, 10)))
    assert calm.evidence["lag rate"] == 1000
    assert calm.executors == 4  # a lag that grows by 1000/s is none
    seen = [Observation(t, 5, 5, 10.0, 10.0, 10_000, trigger=5.0, batch_duration=1.0) for t in (0.0, 5.0)]
    assert decide(Dhalion(), *seen).reason == "hold: a lag of 10,000 records is more than arrives in a trigger"
    for trigger, took in ((5.0, None), (None, 1.0)):
        unknown = [replace(obs, backlog=0.0, trigger=trigger, batch_duration=took) for obs in seen]
        assert decide(Dhalion(), *unknown).reason == "hold: how long batches take is not known yet"


def test_on_spark_one_executor_stays() -> None:
    assert decide(Dhalion(), *(spark(t, 50_000, size=1) for t in (0, 5, 10))).executors == 1


def test_on_spark_a_small_backlog_is_none_whatever_arrives() -> None:
    seen = [Observation(t, 5, 5, 10.0, 10.0, 9999, trigger=5.0, batch_duration=1.0) for t in (0.0, 5.0)]
    assert decide(Dhalion(), *seen).executors == 4  # 9,999 is far more than 50, and still below the threshold


def test_on_spark_the_rates_tell_where_the_backlog_was_seen_only_once() -> None:
    assert decide(Dhalion(), spark(0, 100_000)).executors == 13  # 5 * (1 + 6000 / 4000) = 12.5
    unknown = Observation(0, 5, 5, backlog=0.0)
    assert decide(Dhalion(), unknown).reason == "hold: the course of the backlog is not known yet"


def test_on_spark_a_batch_that_does_not_end_is_seen_too() -> None:
    running = [
        Observation(t, 5, 5, 10_000.0, 5000.0, 10_000.0 * t, trigger=5.0, batch_duration=4.0) for t in range(11, 40)
    ]
    # the next was due after 5 s; the backlog is looked at every 10 s from then on: all that arrives piles up
    decision = decide(Dhalion(), spark(0, 0.0), *running)
    assert decision.evidence["lag rate"] == pytest.approx(10_000)


def test_it_remembers_through_json() -> None:
    policy, seen = Dhalion(), growing(line((0.5, 0.0, 0.0, 0.0)), by=2500)
    decide(policy, *seen)
    recalled = recall(Dhalion(), json.loads(json.dumps(memory(policy))))
    assert recalled == policy
    assert recalled.decide(seen[-1]) == policy.decide(seen[-1])


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"policy dhalion: need 0 <= scale-down <= 1, got 1\.2"):
        Dhalion(scale_down=1.2)
    with pytest.raises(InvalidInput, match="policy dhalion: need 1 <= factor-limit, got 0"):
        Dhalion(factor_limit=0)
