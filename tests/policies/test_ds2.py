import json

import pytest

from tidegate.core import Batch, Decision, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall
from tidegate.policies import Ds2


def source(**changes: object) -> OperatorSample:
    fields: dict[str, object] = {"parallelism": 2, "rate_in": 1000.0, "rate_out": 800.0, "busy": 1.0}
    return OperatorSample("source", **(fields | changes))  # type: ignore[arg-type]


def window(**changes: object) -> OperatorSample:
    fields: dict[str, object] = {"parallelism": 4, "rate_in": 800.0, "rate_out": 8.0, "busy": 3.2}
    return OperatorSample("window", ("source",), **(fields | changes))  # type: ignore[arg-type]


def sink(**changes: object) -> OperatorSample:
    fields: dict[str, object] = {"parallelism": 3, "rate_in": 8.0, "rate_out": 0.0, "busy": 0.01}
    return OperatorSample("sink", ("window",), **(fields | changes))  # type: ignore[arg-type]


def isolated(
    *operators: OperatorSample, arriving: float | None = 1500.0, backlog: float | None = None, time: float = 0
) -> Observation:
    total = sum(operator.parallelism for operator in operators)
    return Observation(time, total, total, arrival_rate=arriving, backlog=backlog, operators=operators, isolated=True)


def decide(policy: Ds2, obs: Observation) -> Decision:
    policy.observe(obs)
    assert policy.decide(obs) == policy.decide(obs)
    return policy.decide(obs)


def test_all_operators_in_one_step() -> None:
    decision = decide(Ds2(overprovision=1), isolated(source(), window(), sink()))
    # source: T = 2 * 1000 / 1 = 2000, 1500 * 2 / 2000 = 1.5, passes on 1200
    # window: T = 4 * 800 / 3.2 = 1000, 1200 * 4 / 1000 = 4.8, passes on 12; sink: 12 / 800
    assert decision.per_operator == {"source": 2, "window": 5, "sink": 1}
    assert decision.executors == 8
    assert decision.evidence["optimum window"] == pytest.approx(4.8)


def test_the_factor_is_on_the_optimum_before_it_is_rounded() -> None:
    obs = isolated(source(), window(), sink())
    # 1.2 * 1.5 = 1.8, 1.2 * 4.8 = 5.76, 1.2 * 0.015
    assert decide(Ds2(), obs).per_operator == {"source": 2, "window": 6, "sink": 1}
    # as released: ceil(2 * 1.2), ceil(5 * 1.2), ceil(1 * 1.2)
    assert decide(Ds2(double_ceil=1), obs).per_operator == {"source": 3, "window": 6, "sink": 2}


def test_input_without_a_true_rate_keeps_what_is_there_and_is_never_infinite() -> None:
    dead = window(rate_in=0.0, rate_out=0.0, busy=0.0)
    assert decide(Ds2(), isolated(source(), dead, sink())).per_operator == {"source": 2, "window": 4, "sink": 3}
    unknown = window(busy=None)
    assert decide(Ds2(), isolated(source(), unknown, sink())).per_operator == {"source": 2, "window": 4, "sink": 3}


def test_nothing_arriving_needs_one_of_each() -> None:
    idle = isolated(source(rate_in=0.0, busy=0.0), window(), sink(), arriving=0.0)
    assert decide(Ds2(), idle).per_operator == {"source": 1, "window": 1, "sink": 1}


def test_a_backlog_counts_only_with_a_horizon() -> None:
    obs = isolated(source(), window(), backlog=90_000)
    assert decide(Ds2(overprovision=1), obs).evidence["target"] == 1500
    decision = decide(Ds2(overprovision=1, lag_horizon=60), obs)
    assert decision.evidence["target"] == 3000  # 1500 + 90000 / 60
    assert decision.per_operator == {"source": 3, "window": 10}  # 3.0; 2400 * 4 / 1000 = 9.6


def test_several_sources_share_what_arrives() -> None:
    bids = OperatorSample("bids", parallelism=1, rate_in=300.0, rate_out=300.0, busy=0.3)
    persons = OperatorSample("persons", parallelism=1, rate_in=100.0, rate_out=100.0, busy=0.1)
    join = OperatorSample("join", ("bids", "persons"), parallelism=1, rate_in=400.0, rate_out=1.0, busy=1.0)
    obs = isolated(bids, persons, join, arriving=8000.0)
    # each true rate is 1000 (join 400); by rate 6000 and 2000, even 4000 each, or all of it for both
    wished = {how: decide(Ds2(overprovision=1, shared_by=how), obs).per_operator for how in ("rate", "even", "all")}
    assert wished == {
        "rate": {"bids": 6, "persons": 2, "join": 20},
        "even": {"bids": 4, "persons": 4, "join": 20},
        "all": {"bids": 8, "persons": 8, "join": 40},
    }


def test_rates_are_averaged_over_the_window() -> None:
    policy = Ds2(overprovision=1, window=15)
    for time, arriving in [(0, 9e9), (10, 1000.0), (20, 2000.0)]:
        last = isolated(source(), arriving=arriving, time=time)
        policy.observe(last)
    assert policy.decide(last).evidence["target"] == 1500  # the first is 20 s old


def test_unknown_means_hold() -> None:
    assert decide(Ds2(), isolated(source(), arriving=None)).reason == "hold: the arrival rate is not known yet"
    assert decide(Ds2(), isolated()).reason == "hold: no figures of operators yet"
    assert decide(Ds2(), isolated(source(busy=None))).reason == "hold: no operator was seen at work yet"


def spark(executors: int = 2, cores: int = 1, arriving: float = 3000.0) -> Observation:
    """One batch of 4000 records in a cycle of 2 s: 2000 records/s kept 0.5 + 1.1 slots busy."""
    stages = (
        OperatorSample("stage 0", (), 8, rate_in=2000.0, rate_out=2000.0, busy=0.5),
        OperatorSample("stage 1", ("stage 0",), 8, rate_in=2000.0, rate_out=20.0, busy=1.1),
    )
    return Observation(
        0,
        executors,
        executors,
        arrival_rate=arriving,
        trigger=2.0,
        batch_duration=1.5,
        per_executor=tuple(ExecutorSample(str(k), cores=cores) for k in range(executors)),
        operators=stages,
        batches=(Batch(1, 0, 1.5, 0, 4000),),
    )


def test_on_spark_the_slots_of_all_stages_are_added_up_and_rounded_once() -> None:
    decision = decide(Ds2(), spark())
    # (0.5 + 1.1) * 3000 / 2000 = 2.4 slots, times 1.2 = 2.88
    assert decision.executors == 3
    assert decision.reason == "3,000 records/s x 1.2: 2.40 slots before the factor, 2 -> 3"
    assert decide(Ds2(), spark(cores=2)).executors == 2  # 2.88 slots of executors that have two
    assert decide(Ds2(double_ceil=1), spark()).executors == 4  # ceil(ceil(2.4) * 1.2) = ceil(3.6)
    assert decide(Ds2(), spark(arriving=0.0)).executors == 1


def test_it_remembers_through_json() -> None:
    policy, obs = Ds2(), isolated(source(), window(), sink())
    policy.observe(obs)
    recalled = recall(Ds2(), json.loads(json.dumps(memory(policy))))
    assert recalled == policy
    assert recalled.decide(obs) == policy.decide(obs)


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidInput, match="policy ds2: need 0 < overprovision, got 0"):
        Ds2(overprovision=0)
    with pytest.raises(InvalidInput, match="policy ds2: need 0 <= lag-horizon, got -1"):
        Ds2(lag_horizon=-1)
    with pytest.raises(InvalidInput, match="policy ds2: need shared-by to be one of rate, even, all, got 'fair'"):
        Ds2(shared_by="fair")
