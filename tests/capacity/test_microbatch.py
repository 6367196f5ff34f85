"""The time of micro-batches, and what follows from it."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.capacity.microbatch import ASSUMED, Costs, Layout, MicroBatchModel, layout
from tidegate.core import Batch, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall

COSTS = Costs(fixed=1.0, overhead=0.5, cost=0.01)
EIGHT = Layout(((8, 1.0),))


def told(**settings: float) -> MicroBatchModel:
    """1 s a batch, 0.5 s a wave, 0.01 core-seconds a record, 8 tasks, executors of one core."""
    return MicroBatchModel(_costs=COSTS, _layout=EIGHT, **settings)  # type: ignore[arg-type]


def seen(time: float, executors: int, batches: list[tuple[float, float]], reruns: int = 0) -> Observation:
    """Batches (records, seconds) of 8 tasks, planned one second apart before `time`."""
    done = tuple(
        Batch(k, time - len(batches) + k, time - len(batches) + k + seconds, 0, records)
        for k, (records, seconds) in enumerate(batches)
    )
    samples = tuple(ExecutorSample(str(k)) for k in range(executors))
    stage = OperatorSample("stage 0", parallelism=8, busy=1.0)
    return Observation(
        time, executors, executors, per_executor=samples, operators=(stage,), batches=done, rerun_tasks=reruns
    )


def trained(costs: Costs, shown: list[tuple[int, float]], **settings: float) -> MicroBatchModel:
    """A model that saw batches (executors, records) with exactly these costs, 100 s apart."""
    model = MicroBatchModel(settle=10, **settings)  # type: ignore[arg-type]
    for k, (executors, records) in enumerate(shown):
        time = costs.fixed + costs.overhead * EIGHT.waves(executors) + costs.cost * records * EIGHT.spread(executors)
        model.update(seen(200.0 * k, executors, []))
        model.update(seen(200.0 * k + 100, executors, [(records, time)]))
    return model


def test_waves_and_spread() -> None:
    # 8 tasks: 8 waves on 1 slot, 3 on 3 (the last with 2), 2 on 4 to 7, 1 from 8 on
    assert [EIGHT.waves(n) for n in (1, 2, 3, 4, 7, 8, 20)] == [8, 4, 3, 2, 2, 1, 1]
    # 1 / 4 on 4 and still on 7 slots; 1 / 8 from 8 on
    assert [EIGHT.spread(n) for n in (1, 4, 7, 8, 20)] == [1, 0.25, 0.25, 0.125, 0.125]
    # with 2 cores each, 2 executors are 4 slots
    assert Layout(((8, 1.0),), cores=2).spread(2) == 0.25


def test_stages_one_after_the_other() -> None:
    # 4 slots: 2 waves of 8 and 1 of 3 tasks; three quarters of the work at 2 / 8, one quarter at 1 / 3
    two = Layout(((8, 0.75), (3, 0.25)))
    assert two.waves(4) == 3
    assert two.spread(4) == pytest.approx(0.75 / 4 + 0.25 / 3)
    assert two.ceiling == 8


def test_without_stages_all_slots_work() -> None:
    assert (Layout().waves(5), Layout().spread(5), Layout().ceiling) == (1, 0.2, None)


def test_the_layout_of_an_observation() -> None:
    stages = (OperatorSample("a", parallelism=8, busy=3.0), OperatorSample("b", parallelism=5, busy=1.0))
    obs = Observation(0, 1, 1, operators=stages, per_executor=(ExecutorSample("0", cores=2),))
    assert layout(obs) == Layout(((8, 0.75), (5, 0.25)), cores=2)
    assert layout(obs).ceiling == 4
    assert layout(Observation(0, 1, 1, ceiling=3, per_executor=obs.per_executor)) == Layout(((6, 1.0),), cores=2)
    assert layout(Observation(0, 1, 1)) == Layout()
    unknown = (OperatorSample("a", parallelism=8), OperatorSample("b", parallelism=4))
    assert layout(Observation(0, 1, 1, operators=unknown)) == Layout(((8, 0.5), (4, 0.5)))


def test_batch_time() -> None:
    model = told()
    # 2 executors: 1 + 0.5 * 4 waves + 1000 * 0.01 / 2
    assert model.batch_time(1000, 2) == pytest.approx(8)
    # 5 as 4: 1 + 0.5 * 2 + 10 / 4
    assert model.batch_time(1000, 5) == model.batch_time(1000, 4) == pytest.approx(4.5)
    # 8 and more: 1 + 0.5 + 10 / 8
    assert model.batch_time(1000, 30) == model.batch_time(1000, 8) == pytest.approx(2.75)
    assert model.ceiling == 8


def test_capacity_without_bounds_is_that_of_endless_batches() -> None:
    assert told().capacity(4) == pytest.approx(400)  # 4 slots of 1 / 0.01
    assert told().capacity(30) == pytest.approx(800)  # 8 tasks


def test_capacity_with_a_limit_is_that_of_full_batches() -> None:
    assert told(limit=1000).capacity(2) == pytest.approx(1000 / 8)
    # full batches take 4.5 s on 4; a trigger of 10 s makes it 100/s
    assert told(limit=1000, trigger=10).capacity(4) == pytest.approx(100)
    assert told(limit=1000, trigger=2).capacity(4) == pytest.approx(1000 / 4.5)


def test_capacity_with_a_longest_cycle() -> None:
    # 4 executors: 2 s and 0.0025 s a record: 10 s hold (10 - 2) / 0.0025 = 3200 records
    assert told(longest=10).capacity(4) == pytest.approx(320)
    assert told(longest=10, limit=1000).capacity(4) == pytest.approx(1000 / 4.5)
    assert told(longest=2).capacity(4) == 0  # an empty batch takes that long
    # a batch may be as long as the trigger: 3200 records in 10 s
    assert told(longest=10, trigger=10).capacity(4) == pytest.approx(320)


def test_latency() -> None:
    # 4 executors, 100/s, every 10 s: 1000 records, 4.5 s; a record waits 5 s on the average
    assert told(trigger=10).latency(100, 4) == pytest.approx(9.5)
    # back to back: cycle = 2 / (1 - 0.0025 * 200) = 4 s = the batch of 800 records; 4 / 2 + 4
    assert told().latency(200, 4) == pytest.approx(6)
    # a trigger that is too short: the same
    assert told(trigger=1).latency(200, 4) == pytest.approx(6)
    assert told().latency(0, 4) == pytest.approx(3)  # empty batches of 2 s


def test_latency_is_unknown_where_batches_would_grow() -> None:
    assert told().latency(400, 4) is None
    assert told(limit=1000).latency(1000 / 4.5 + 0.1, 4) is None
    # just below: the cycle is that of a full batch, 4.5 s
    assert told(limit=1000).latency(1000 / 4.5 - 1e-9, 4) == pytest.approx(4.5 * 1.5)


def test_before_anything_is_known() -> None:
    model = MicroBatchModel()
    assert model.capacity(2) is None
    assert model.batch_time(10, 2) is None
    assert model.latency(10, 2) is None
    assert model.ceiling is None
    assert told().capacity(0) == 0


def test_costs_are_learned() -> None:
    shown = [(n, records) for n in (1, 2, 4) for records in (500.0, 4000.0)]
    model = trained(Costs(0.8, 0.1, 0.002), shown, prior=1e-9)
    assert model.costs is not None
    assert model.costs.fixed == pytest.approx(0.8, rel=1e-4)
    assert model.costs.overhead == pytest.approx(0.1, rel=1e-4)
    assert model.costs.cost == pytest.approx(0.002, rel=1e-4)


def test_with_the_prior_the_costs_are_nearly_those() -> None:
    shown = [(n, records) for n in (1, 2, 4) for records in (500.0, 4000.0)] * 3
    model = trained(Costs(0.8, 0.1, 0.002), shown)
    # 4 executors: 0.8 + 0.1 * 2 + 2000 * 0.002 / 4 = 2 s; 4 / 0.002 = 2000/s
    assert model.batch_time(2000, 4) == pytest.approx(2, rel=0.05)
    assert model.capacity(4) == pytest.approx(2000, rel=0.05)


def test_batches_that_are_all_alike_are_explained_by_the_prior() -> None:
    model = trained(Costs(1.0, 0.0, 0.005), [(4, 800.0)] * 5)  # 2 s each
    assert model.costs is not None
    assert model.batch_time(800, 4) == pytest.approx(2)
    assert model.costs.fixed == pytest.approx(ASSUMED[0] * 2)
    assert model.costs.overhead == pytest.approx(ASSUMED[1] * 2 / 2)  # two waves
    assert model.capacity(4) == pytest.approx(800 / (ASSUMED[2] * 2))


def test_small_batches_do_not_promise_the_moon() -> None:
    # records cost nothing that could be seen: at least 5 % of 1 s for 200 records all the same
    model = trained(Costs(1.0, 0.0, 0.0), [(4, 100.0), (4, 200.0), (4, 400.0)] * 4)
    assert model.capacity(4) == pytest.approx(20 * 700 / 3, rel=0.01)


def test_too_few_batches_tell_nothing() -> None:
    assert trained(COSTS, [(2, 100.0)] * 2).capacity(2) is None
    assert trained(COSTS, [(2, 100.0)] * 3).capacity(2) is not None


def test_batches_after_a_rescale_are_left_out() -> None:
    model = MicroBatchModel(settle=30)
    model.update(seen(0, 2, []))
    model.update(seen(20, 2, [(100, 1.0)] * 5))  # planned at 15 to 19
    assert model._batches == 0
    model.update(seen(35, 2, [(100, 1.0)] * 6))  # planned at 29 to 34: five are late enough
    assert model._batches == 5
    model.update(seen(60, 3, [(100, 1.0)] * 5))
    assert model._batches == 5
    model.update(seen(95, 3, [(100, 1.0)] * 5))
    assert model._batches == 10


def test_batches_with_reruns_and_batches_seen_before_are_left_out() -> None:
    model = MicroBatchModel(settle=0)
    model.update(seen(0, 2, []))
    model.update(seen(20, 2, [(100, 1.0)] * 5, reruns=1))
    assert model._batches == 0
    again = seen(40, 2, [(100, 1.0), (0, 1.0)], reruns=1)  # one is empty
    model.update(again)
    model.update(again)
    assert model._batches == 1


def test_one_long_pause_is_no_news_and_a_lasting_change_is() -> None:
    model = trained(Costs(0.0, 0.0, 0.01), [(1, 100.0)] * 10)  # 1 s each
    model.update(seen(10_000, 1, [(100.0, 60.0)]))
    # counts as 3 s with a weight of 1 / 10: 1.2
    assert model.batch_time(100, 1) == pytest.approx(1.2)
    for k in range(1, 60):
        model.update(seen(10_000 + 100 * k, 1, [(100.0, 10.0)]))
    assert model.batch_time(100, 1) == pytest.approx(10, rel=0.02)


def test_kinds_are_bounded_and_the_oldest_goes() -> None:
    model = trained(COSTS, [(1, 2.0**k) for k in range(1, 11)], kinds=4)
    assert sorted(records for _, records in model._kinds) == [14, 16, 18, 20]


def test_a_long_calm_does_not_drive_out_what_other_sizes_taught() -> None:
    true = Costs(1.0, 0.0, 0.004)
    shown = [(2, records) for records in (500.0, 1000.0, 2000.0, 4000.0)] * 10
    model = trained(true, shown + [(2, 500.0)] * 300)
    # 1 + 4000 * 0.004 / 2; of 340 batches the last 300 were alike
    assert model.batch_time(4000, 2) == pytest.approx(9, rel=0.05)


def test_a_cycle_shorter_than_the_trigger_is_refused() -> None:
    with pytest.raises(InvalidInput, match="micro-batch model: need longest >= trigger, got 5 < 10"):
        MicroBatchModel(trigger=10, longest=5)
    with pytest.raises(InvalidInput, match="micro-batch model: need 0 <= limit, got -1"):
        MicroBatchModel(limit=-1)


AMOUNT = st.floats(0, 10)
SETTINGS = st.fixed_dictionaries(
    {"trigger": st.sampled_from([0.0, 5.0]), "limit": st.sampled_from([100.0, 0.0])},
    optional={"longest": st.floats(5, 100)},
)


@given(st.builds(Costs, AMOUNT, AMOUNT, st.floats(1e-6, 1)), st.integers(1, 20), SETTINGS, st.floats(0, 1e4))
def test_more_executors_never_harm(costs: Costs, tasks: int, bounds: dict[str, float], rate: float) -> None:
    model = MicroBatchModel(**bounds, _costs=costs, _layout=Layout(((tasks, 0.5), (7, 0.5)), cores=2))  # type: ignore[arg-type]
    capacities = [model.capacity(n) or 0.0 for n in range(1, 16)]
    assert all(0 <= a <= b * (1 + 1e-9) < math.inf for a, b in pairwise(capacities))
    for n, capacity in enumerate(capacities, start=1):
        assert model.latency(capacity * 1.01 + 1e-9, n) is None
        assert model.latency(capacity * 0.99, n) is not None or capacity == 0
    waits = [found for n in range(1, 16) if (found := model.latency(rate, n)) is not None]
    assert all(a >= b * (1 - 1e-6) for a, b in pairwise(waits))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 9), st.floats(1, 1e6), st.floats(0.001, 1e3)), max_size=12))
def test_any_batches_give_numbers_and_survive_json(batches: list[tuple[int, float, float]]) -> None:
    model = MicroBatchModel(settle=0)
    for k, (executors, records, seconds) in enumerate(batches):
        model.update(seen(10.0 * k, executors, []))
        model.update(seen(10.0 * k + 5, executors, [(records, seconds)]))
    again = recall(MicroBatchModel(settle=0), json.loads(json.dumps(memory(model), allow_nan=False)))
    assert again == model
    assert (model.capacity(3) is None) == (len(batches) < 3)
    for n in (1, 3, 40):
        assert 0 < (model.capacity(n) or 1.0) < math.inf
        assert 0 <= (model.batch_time(1000, n) or 0.0) < math.inf
