import json

import pytest

from tidegate.core import Batch, Decision, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies import HpaVarga


def line(source: float | None = 0.0, window: float | None = 0.0, **busy: float) -> tuple[OperatorSample, ...]:
    """source (2) -> window (4) -> sink (2); shares of time held up, and busy workers of each."""
    return (
        OperatorSample("source", (), 2, 8000.0, 8000.0, busy.get("source", 0.7), backpressured=source),
        OperatorSample("window", ("source",), 4, 8000.0, 80.0, busy.get("window", 1.4), backpressured=window),
        OperatorSample("sink", ("window",), 2, 80.0, 0.0, busy.get("sink", 0.14), backpressured=0.0),
    )


def isolated(
    operators: tuple[OperatorSample, ...], *, time: float = 0, lag: float | None = None, arriving: float = 10_000
) -> Observation:
    total = sum(operator.parallelism for operator in operators)
    return Observation(time, total, total, arrival_rate=arriving, backlog=lag, operators=operators, isolated=True)


def decide(policy: HpaVarga, *seen: Observation) -> Decision:
    for obs in seen:
        policy.observe(obs)
    assert policy.decide(seen[-1]) == policy.decide(seen[-1])
    return policy.decide(seen[-1])


def growing(operators: tuple[OperatorSample, ...], by: float, start: float = 100_000) -> list[Observation]:
    return [isolated(operators, time=t, lag=start + by * t) for t in range(0, 60, 5)]


def test_utilisation_is_all_that_is_not_idle() -> None:
    decision = decide(HpaVarga(), isolated(line(source=0.6, window=0.1)))
    # source (0.35 + 0.6) / 0.7 * 2 = 2.71; window (0.35 + 0.1) / 0.7 * 4 = 2.57; sink 0.07 / 0.7 * 2 = 0.2
    assert decision.per_operator == {"source": 3, "window": 3, "sink": 1}
    assert decision.executors == 7
    assert decision.reason == "source 95% utilised, 2 -> 3; window 45% utilised, 4 -> 3; sink 7% utilised, 2 -> 1"


def test_the_change_of_the_lag_counts_for_the_root_of_backpressure() -> None:
    decision = decide(HpaVarga(), *growing(line(source=0.5), by=5000))
    # window: max(0.35 / 0.7, 1 + 5000 / 10000) = 1.5, times 4; source (0.35 + 0.5) / 0.7 * 2 = 2.43
    assert decision.per_operator == {"source": 3, "window": 6, "sink": 1}
    assert decision.evidence["factor window"] == pytest.approx(1.5)
    assert decision.evidence["lag rate"] == pytest.approx(5000)


def test_where_nothing_is_held_up_the_source_is_to_blame() -> None:
    decision = decide(HpaVarga(), *growing(line(), by=5000))
    assert decision.per_operator == {"source": 3, "window": 2, "sink": 1}  # 2 * 1.5; 4 * 0.35 / 0.7; 1


def test_a_lag_that_falls_is_a_floor_for_shrinking() -> None:
    decision = decide(HpaVarga(), *growing(line(), by=-1000))
    assert decision.evidence["factor source"] == pytest.approx(0.9)  # 1 - 1000 / 10000, above 0.35 / 0.7
    assert decision.per_operator is not None
    assert decision.per_operator["source"] == 2


def test_a_lag_below_the_threshold_is_ignored() -> None:
    small = growing(line(), by=100, start=0)  # 5,500 records in the end
    assert decide(HpaVarga(), *small).per_operator == {"source": 1, "window": 2, "sink": 1}
    assert decide(HpaVarga(lag_threshold=5000), *small).evidence["factor source"] == pytest.approx(1.01)


def test_as_released_the_rate_of_the_lag_has_a_threshold() -> None:
    seen = growing(line(), by=5000)
    decision = decide(HpaVarga(lag_rate_threshold=10_000), *seen)
    assert decision.per_operator == {"source": 1, "window": 2, "sink": 1}  # utilisation alone
    assert decide(HpaVarga(lag_rate_threshold=4000), *seen).per_operator == {"source": 3, "window": 2, "sink": 1}


def test_as_released_it_is_relative_to_what_is_consumed() -> None:
    decision = decide(HpaVarga(per_consumed=1), *growing(line(), by=5000))
    assert decision.evidence["factor source"] == pytest.approx(1.625)  # 1 + 5000 / 8000


def test_the_slope_is_that_of_the_last_minute() -> None:
    before = [isolated(line(), time=t, lag=1e9 - 1e6 * t) for t in range(0, 60, 5)]
    after = [isolated(line(), time=t, lag=100_000 + 5000 * t) for t in range(60, 120, 5)]
    assert decide(HpaVarga(), *before, *after).evidence["lag rate"] == pytest.approx(5000)


def test_an_operator_without_figures_keeps_its_parallelism() -> None:
    source, _, sink = line()
    unknown = OperatorSample("window", ("source",), 4)
    assert decide(HpaVarga(), isolated((source, unknown, sink))).per_operator == {"source": 1, "window": 4, "sink": 1}
    assert decide(HpaVarga(), isolated((unknown,))).reason == "hold: no figures of operators yet"


def spark(time: float, busy: float | None, backlog: float, *, requested: int = 4, ended: bool = True) -> Observation:
    """Four executors, batches every 10 s, 10,000 records arrive per second: 100,000 in a trigger."""
    return Observation(
        time,
        4,
        requested,
        arrival_rate=10_000.0,
        processing_rate=8000.0,
        backlog=backlog,
        trigger=10.0,
        batch_duration=6.0,
        per_executor=tuple(ExecutorSample(str(k), busy=busy) for k in range(4)),
        batches=(Batch(int(time), time - 6, time, 0, 80_000),) if ended else (),
    )


def test_on_spark_utilisation_is_the_busy_share_of_the_slots() -> None:
    assert decide(HpaVarga(), spark(0, 0.9, 60_000)).executors == 6  # 4 * 0.9 / 0.7 = 5.14
    assert decide(HpaVarga(), spark(0, 0.3, 60_000)).executors == 2  # 4 * 0.3 / 0.7 = 1.71


def test_on_spark_the_lag_of_one_trigger_is_no_lag() -> None:
    # grows by 500/s, but to 100,000 only: what arrives in one trigger
    seen = [spark(t, 0.3, 80_000 + 500 * t) for t in (0, 10, 20, 30, 40)]
    assert decide(HpaVarga(), *seen).executors == 2


def test_on_spark_a_growing_lag_asks_for_more() -> None:
    decision = decide(HpaVarga(), *(spark(t, 0.6, 300_000 + 4000 * t) for t in (0, 10, 20, 30, 40)))
    assert decision.evidence["lag change"] == pytest.approx(1.4)  # 1 + 4000 / 10000, above 0.6 / 0.7
    assert decision.executors == 6  # 4 * 1.4
    assert decision.reason == "query 60% utilised, relative lag change 1.40: 4 -> 6"


def test_on_spark_the_teeth_of_the_saw_are_no_trend() -> None:
    # between batches 10,000 records/s pile up, and when one ends they are gone
    saw = [spark(t, 0.6, 300_000 + 10_000 * (t % 10), ended=t % 10 == 0) for t in range(46)]
    assert decide(HpaVarga(), *saw).evidence["lag change"] == pytest.approx(1.0)


def test_on_spark_executors_on_their_way_are_waited_for() -> None:
    decision = decide(HpaVarga(), spark(0, 0.9, 60_000, requested=6))
    assert decision.reason == "hold: query 90% utilised: 6 would do, and 4 are on their way to 6"
    assert decide(HpaVarga(), spark(0, 0.9, 60_000, requested=5)).executors == 6


def test_on_spark_without_figures_it_holds() -> None:
    decision = decide(HpaVarga(), spark(0, None, 60_000))
    assert decision.reason == "hold: neither busy slots nor a lag are known yet"


def test_on_spark_utilisation_is_that_of_two_batches_at_least() -> None:
    decision = decide(HpaVarga(window=15), spark(0, 0.9, 60_000), spark(16, 0.5, 60_000))
    assert decision.evidence["utilisation"] == pytest.approx(0.7)  # 20 s; of 15 s it would be the last alone


def test_on_spark_the_larger_of_utilisation_and_lag_counts() -> None:
    decision = decide(HpaVarga(), *(spark(t, 0.95, 300_000 + 1000 * t) for t in (0, 10, 20, 30, 40)))
    assert decision.evidence["factor"] == pytest.approx(0.95 / 0.7)  # above 1 + 1000 / 10000


def test_on_spark_a_rate_at_its_threshold_is_not_above_it() -> None:
    seen = [spark(t, 0.6, 300_000 + 4000 * t) for t in (0, 10, 20, 30, 40)]
    assert "lag change" not in decide(HpaVarga(lag_rate_threshold=4000), *seen).evidence
    assert "lag change" in decide(HpaVarga(lag_rate_threshold=3999), *seen).evidence


@pytest.mark.parametrize(("lag", "factor"), [(10_000, 1.0), (9999, 0.5)])
def test_a_lag_of_the_threshold_counts(lag: float, factor: float) -> None:
    decision = decide(HpaVarga(), *growing(line(), by=0, start=lag))
    assert decision.evidence["factor source"] == pytest.approx(factor)


def test_held_up_for_the_threshold_or_unknown_is_not_held_up() -> None:
    for share in (0.125, None):
        decision = decide(HpaVarga(backpressure_threshold=0.125), *growing(line(source=share), by=5000))
        assert decision.evidence["factor source"] == pytest.approx(1.5)
        assert decision.evidence["factor window"] == pytest.approx(0.5)


def test_an_operator_without_workers_has_no_utilisation() -> None:
    gone = OperatorSample("map", (), 0, busy=1.0)
    assert decide(HpaVarga(), isolated((gone,))).reason == "hold: no figures of operators yet"


def test_it_remembers_through_json() -> None:
    policy, seen = HpaVarga(), growing(line(source=0.5), by=5000)
    decide(policy, *seen)
    recalled = recall(HpaVarga(), json.loads(json.dumps(memory(policy))))
    assert recalled == policy
    assert recalled.decide(seen[-1]) == policy.decide(seen[-1])


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy hpa-varga: need 0 < target <= 1, got 70"):
        HpaVarga(target=70)
    with pytest.raises(InvalidInput, match="policy hpa-varga: need 0 <= per-consumed <= 1, got 2"):
        HpaVarga(per_consumed=2)
