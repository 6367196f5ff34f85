import json

import pytest

from tidegate.capacity.truerate import Means, TrueRate, TrueRates, optima, source_rate, true_rate
from tidegate.core import Batch, ExecutorSample, InvalidInput, Observation, OperatorSample
from tidegate.memory import memory, recall


def test_a_true_rate_is_per_second_of_busy_time() -> None:
    assert true_rate(900.0, 0.75) == 1200  # a quarter of the time was idle
    assert true_rate(900.0, 3.0) == 300  # per slot, of three busy slots
    assert true_rate(900.0, 0.0) is None
    assert true_rate(None, 1.0) is None


LINE = (
    TrueRate("source", (), 1000.0, 800.0),
    TrueRate("window", ("source",), 300.0, 3.0),
    TrueRate("sink", ("window",), 5000.0, 0.0),
)


def test_optima_follow_the_graph_and_are_not_rounded_in_between() -> None:
    # 1500 / 1000 = 1.5 slots emit 1200; 1200 / 300 = 4 slots emit 12; 12 / 5000
    assert optima(LINE, {"source": 1500.0}) == {"source": 1.5, "window": 4.0, "sink": 0.0024}
    assert optima(LINE[::-1], {"source": 1500.0}) == {"source": 1.5, "window": 4.0, "sink": 0.0024}


def test_a_join_gets_the_sum_and_a_fork_sends_everything_to_each() -> None:
    diamond = (
        TrueRate("source", (), 100.0, 100.0),
        TrueRate("left", ("source",), 50.0, 25.0),
        TrueRate("right", ("source",), 200.0, 100.0),
        TrueRate("join", ("left", "right"), 10.0, 0.0),
    )
    # both get 100: 2 slots emit 50, 0.5 slots emit 50; join gets 100
    assert optima(diamond, {"source": 100.0}) == {"source": 1.0, "left": 2.0, "right": 0.5, "join": 10.0}


def test_input_without_a_true_rate_makes_the_operator_and_its_downstream_unknown() -> None:
    idle = (LINE[0], TrueRate("window", ("source",), 0.0, 0.0), LINE[2])
    assert optima(idle, {"source": 1000.0}) == {"source": 1.0, "window": None, "sink": None}
    assert optima(idle, {"source": 0.0}) == {"source": 0.0, "window": 0.0, "sink": 0.0}


def test_cycles_and_missing_upstreams_are_unknown() -> None:
    cycle = (TrueRate("a", ("b",), 1.0, 1.0), TrueRate("b", ("a",), 1.0, 1.0), TrueRate("c", ("x",), 1.0, 1.0))
    assert optima(cycle, {"a": 1.0}) == {"a": None, "b": None, "c": None}


def stages(**changes: object) -> Observation:
    """Two stages of a join that both read the stream: Spark reports the second as if it were fed by the first."""
    operators = (
        OperatorSample("stage 0", (), 4, rate_in=1000.0, rate_out=10.0, busy=0.5),
        OperatorSample("stage 1", ("stage 0",), 4, rate_in=1000.0, rate_out=10.0, busy=1.5),
    )
    figures: dict[str, object] = {"time": 0.0, "executors": 2, "requested": 2, "operators": operators}
    return Observation(**(figures | changes))  # type: ignore[arg-type]


def test_the_source_rate_is_that_of_the_batches_if_there_are_any() -> None:
    batches = (Batch(1, 0, 1, 0, 3000), Batch(2, 2, 3, 3000, 8000))
    assert (
        source_rate(stages(batches=batches, trigger=2.0, batch_duration=1.0)) == 4000
    )  # 8000 records in a cycle of 2 s
    assert source_rate(stages(trigger=2.0)) == 1000  # the first stage's
    assert source_rate(Observation(0, 1, 1, processing_rate=70.0)) == 70


def test_a_batch_of_a_single_record_says_what_the_source_rate_is() -> None:
    # 1 record in a cycle of 5 s, whatever the first stage says
    assert source_rate(stages(batches=(Batch(1, 0, 1, 7, 8),), trigger=5.0)) == 0.2


def test_capacity_of_shared_slots() -> None:
    model = TrueRates()
    assert model.capacity(2) is None
    model.update(stages(per_executor=(ExecutorSample("1", cores=2),)))
    # 2 busy slots for 1000 records/s; 3 executors have 6 slots
    assert model.capacity(3) == 3000
    assert model.shared(["stage 0", "stage 1"], 4000.0) == {"stage 0": 2.0, "stage 1": 6.0}


def test_the_source_rate_is_that_of_sources_only() -> None:
    graph = (OperatorSample("map", rate_in=1000.0), OperatorSample("sum", ("map",), rate_in=5.0))
    assert source_rate(Observation(0, 1, 1, operators=graph)) == 1000
    assert source_rate(Observation(0, 1, 1, processing_rate=9.0, operators=graph[1:])) == 9


def test_the_largest_executor_says_how_many_slots_there_are() -> None:
    model = TrueRates()
    model.update(stages(per_executor=(ExecutorSample("1", cores=2), ExecutorSample("2", cores=1))))
    assert model.capacity(3) == 3000  # as above: 6 slots
    model.update(stages(time=1.0))  # and it is remembered
    assert model.capacity(3) == 3000


def test_without_input_no_work_per_record_is_known() -> None:
    model = TrueRates()
    model.update(stages(operators=(OperatorSample("map", rate_in=0.0, busy=1.0),), processing_rate=0.0))
    assert model.capacity(1) is None
    assert model.shared(["map"], 0.0) == {"map": 0}


def test_a_stage_without_figures_makes_the_capacity_unknown() -> None:
    model = TrueRates()
    model.update(stages(operators=(OperatorSample("stage 0", rate_in=10.0, busy=None),)))
    assert model.capacity(1) is None


def test_rates_are_means_over_the_window() -> None:
    model = TrueRates(window=15)
    for time, rate, busy in [(0, 9e9, 1.0), (10, 1000.0, 1.0), (20, 500.0, 2.0)]:
        obs = Observation(time, 1, 1, operators=(OperatorSample("map", rate_in=rate, busy=busy),), isolated=True)
        model.update(obs)
    assert model.rates(obs)[0].processing == 500  # (1000 + 500) / 2 over (1 + 2) / 2


def test_on_spark_rates_are_means_over_two_batches_at_least() -> None:
    def rates(trigger: float | None, took: float | None, *, isolated: bool = False) -> float | None:
        """Of 1000/s, 300/s and 200/s, each with one busy slot, 20 s, 10 s and 0 s ago."""
        model = TrueRates(window=5)
        for time, rate in [(0, 1000.0), (10, 300.0), (20, 200.0)]:
            sample = OperatorSample("map", rate_in=rate, busy=1.0)
            obs = Observation(
                time, 1, 1, operators=(sample,), isolated=isolated, trigger=trigger, batch_duration=took
            )  # fmt: skip
            model.update(obs)
        return model.rates(obs)[0].processing

    assert rates(10.5, 3.0) == 500  # 21 s: all three
    assert rates(3.0, 10.5) == 500
    assert rates(10.0, None) == 250  # 20 s: the first is just too old
    assert rates(None, 5.5) == 250
    assert rates(None, None) == 200
    assert rates(10.5, 10.5, isolated=True) == 200  # operators of their own have no batches


def test_means_drop_missing_names_silent_figures_and_a_clock_that_went_back() -> None:
    means = Means()
    means.update(0, 10, {"a": {"x": 1.0}, "b": {"x": 2.0}})
    means.update(5, 10, {"a": {"x": None}})
    assert (means.names, means.of("a", "x"), means.of("b", "x")) == (("a",), 1.0, None)
    means.update(10, 10, {"a": {"x": None}})
    assert means.of("a", "x") is None
    means.update(20, 10, {"a": {"x": 3.0}})
    means.update(4, 10, {"a": {"x": 5.0}})
    assert means.of("a", "x") == 5


def test_the_state_survives_json() -> None:
    model = TrueRates()
    model.update(stages())
    assert recall(TrueRates(), json.loads(json.dumps(memory(model)))) == model


def test_invalid_parameters_are_reported() -> None:
    with pytest.raises(InvalidInput, match="capacity model true-rates: need 0 < window, got 0"):
        TrueRates(window=0)
