"""The isolated-operator engine: conservation, backpressure, outages, failures, retention, and every policy on it."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tidegate.control import ticks as ticks_of
from tidegate.core import Decision, InvalidInput, Limits, Observation, QueryEnded, Target, Tick
from tidegate.presets import PRESETS, autoscaler
from tidegate.sim.graph import Graph, Operator
from tidegate.sim.operators import OperatorEngine, OperatorSettings
from tidegate.workloads import Constant, Shape, Steps

EXACT = OperatorSettings(noise=0.0, floor=0.0)
LINE = Graph(
    "line", (Operator("source", 400.0), Operator("map", 300.0, ("source",)), Operator("sink", 1000.0, ("map",)))
)
ONE = Graph("job", (Operator("job", 100.0, ceiling=10),))


def engine(
    graph: Graph, load: Shape, parallelism: Mapping[str, int], own: OperatorSettings = EXACT, **more: object
) -> OperatorEngine:
    return OperatorEngine(graph, load, parallelism, own, **more)  # type: ignore[arg-type]


def observed(run: OperatorEngine, *times: float) -> list[Observation]:
    found = []
    for time in times:
        run.sleep_until(time)
        found.append(run.observe())
    return found


# graphs


@pytest.mark.parametrize(
    ("operators", "told"),
    [
        ((), "need at least one operator"),
        ((Operator("a", 1.0), Operator("a", 1.0)), "two operators are named 'a'"),
        ((Operator("a", 1.0, ("b",)),), "'a' is fed by 'b', which is not there"),
        ((Operator("a", 1.0, ("b",)), Operator("b", 1.0, ("a",))), "must not go in circles, as in a, b"),
    ],
)
def test_graphs_that_cannot_be(operators: tuple[Operator, ...], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        Graph("g", operators)


def test_values_that_cannot_be() -> None:
    with pytest.raises(InvalidInput, match="'a': need a rate > 0 records/s, got 0"):
        Operator("a", 0.0)
    with pytest.raises(InvalidInput, match="need skew >= 0, got -1"):
        Operator("a", 1.0, skew=-1.0)
    with pytest.raises(InvalidInput, match="need at least 1 worker for 'map', got None"):
        LINE.capacity({"source": 1, "sink": 1})
    with pytest.raises(InvalidInput, match="need step > 0 s, got 0"):
        OperatorSettings(step=0.0)


def test_capacity_by_arithmetic() -> None:
    # source 2 x 400, map 3 x 300, sink 1000
    assert LINE.capacity({"source": 2, "map": 3, "sink": 1}) == 800.0
    # 4 workers, the busiest with 1.6 quarters: 4 x 100 / 1.6; with an exchange of 0.25: / 1.25; 3 of them useful
    assert Operator("a", 100.0, skew=0.6).capacity(4) == 250.0
    assert Operator("a", 100.0, skew=0.6, exchange=0.25).capacity(4) == 200.0
    assert Operator("a", 100.0, skew=0.6, exchange=0.25, ceiling=3).capacity(4) == 150.0
    assert Operator("a", 100.0, skew=0.6, exchange=0.25).capacity(1) == 100.0
    # a skew of 3 cannot be with 2 workers: one has all
    assert Operator("a", 100.0, skew=3.0).capacity(2) == 100.0


def test_an_operator_given_before_its_input_comes_after_it() -> None:
    backwards = Graph("b", tuple(reversed(LINE.operators)))
    assert backwards.operators == LINE.operators


rates = st.sampled_from([70.0, 100.0, 130.0, 450.0])
some = st.builds(
    lambda first, second, third, skew, part: Graph(
        "g",
        (
            Operator("a", first, selectivity=part, skew=skew),
            Operator("b", second, ("a",), ceiling=3),
            Operator("c", third, ("a", "b")),
        ),
    ),
    rates, rates, rates, st.sampled_from([0.0, 0.25, 0.9]), st.sampled_from([0.0, 0.3, 1.0, 2.0]),
)  # fmt: skip


@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(graph=some, workers=st.integers(3, 9))
def test_the_best_allocation_is_that_of_brute_force(graph: Graph, workers: int) -> None:
    every = [p for p in product(range(1, workers - 1), repeat=3) if sum(p) == workers]
    highest = max(graph.capacity(dict(zip("abc", p, strict=True))) for p in every)
    best = graph.best(workers)
    assert sum(best.values()) == workers
    assert graph.capacity(best) == graph.capacity_of(workers) == highest


# flow


@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    graph=some,
    levels=st.lists(st.sampled_from([0.0, 60.0, 200.0, 900.0]), min_size=1, max_size=6),
    failures=st.lists(st.floats(0, 200), max_size=2),
    retention=st.sampled_from([None, 20.0]),
    savepoint=st.booleans(),
)  # fmt: skip
def test_no_record_is_made_or_lost_on_the_way(
    graph: Graph, levels: list[float], failures: list[float], retention: float | None, savepoint: bool
) -> None:
    own = OperatorSettings(retention=retention, savepoint=savepoint, work_noise=0.1, outage_up=15, outage_down=5)
    load = Steps(200, tuple(levels))
    run = engine(graph, load, graph.best(4), own, failures=tuple(failures), drain=50)
    for time in range(0, 251, 10):
        run.sleep_until(time)
        run.observe()
        if time in {60, 70, 150}:
            run.scale(Decision({60: 8, 70: 6, 150: 3}[time], "test"))
        source, b, c = run.flow.taken
        part, waiting, come = graph.operators[0].selectivity, run.flow.waiting, load.integral(time)
        assert source + waiting[0] + run.lost == pytest.approx(come, abs=1e-5)
        assert b + waiting[1] == pytest.approx(source * part, abs=1e-5)
        assert c + waiting[2] == pytest.approx(source * part + b, abs=1e-5)
        assert min(waiting) >= 0
        assert waiting[1] <= run.flow.rooms[1] + 1e-5
    done = run.finished()
    assert np.all(np.diff(done.times) > 0)
    assert np.all(done.begins[1:] >= done.ends[:-1] - 1e-5)
    assert np.all(done.ends <= load.integral(200) + 1e-5)


def test_a_step_by_hand() -> None:
    # 1000/s on source 2 x 400, map 1 x 300 with room for 150, sink. Second 1: the map takes 300 and its buffer 150, so
    # the source 450 of 800; from then on 300. Waiting: 1000 - 450 = 550, then 700 more each second
    run = engine(LINE, Constant(100, 1000), {"source": 2, "map": 1, "sink": 1})
    first, second = observed(run, 1, 2)
    assert first.backlog == 550 + 150
    assert second.backlog == 550 + 700 + 150
    assert (first.processing_rate, second.processing_rate) == (300, 300)
    source, slow, sink = second.operators
    assert (source.rate_in, source.busy, source.backpressured, source.queue) == (300, 0.75, 0.625, None)  # 300 of 800
    assert (slow.rate_in, slow.busy, slow.backpressured, slow.queue) == (300, 1, 0, 1)
    assert (sink.rate_in, sink.busy, sink.backpressured, sink.queue) == (300, 0.3, 0, 0)
    # done by then: 600, which had arrived at 0.6 s
    assert second.latency == pytest.approx(1.4)
    assert first.executors == second.requested == 4


def test_backpressure_is_upstream_of_the_slow_operator_and_only_there() -> None:
    names = ("source", "parse", "slow", "enrich", "sink")
    line = Graph(
        "line",
        tuple(Operator(name, 50.0 if name == "slow" else 200.0, names[k - 1 : k]) for k, name in enumerate(names)),
    )
    _, after = observed(engine(line, Constant(100, 100), dict.fromkeys(names, 1)), 10, 20)
    held = [one.backpressured for one in after.operators]
    assert held == [0.75, 0.75, 0, 0, 0]
    assert [one.queue for one in after.operators] == [None, 1, 1, 0, 0]
    for one in after.operators:  # busy, held up and idle are all there is
        assert one.busy is not None
        assert one.backpressured is not None
        assert 0 <= one.busy + one.backpressured <= 1


def test_an_unhurried_query_keeps_up() -> None:
    run = engine(LINE, Constant(100, 250), {"source": 1, "map": 1, "sink": 1}, OperatorSettings(noise=0, window=10))
    _, after = observed(run, 15, 30)
    assert (after.backlog, after.processing_rate, after.arrival_rate) == (0, 250, 250)
    assert after.latency == 10.2  # window and floor
    assert [one.backpressured for one in after.operators] == [0, 0, 0]
    (batch,) = after.batches
    assert (batch.planned, batch.finished, batch.begin, batch.end, batch.rows) == (15, 30, 3750, 7500, 3750)


def test_skew_makes_the_first_worker_busier() -> None:
    # 4 workers of 100/s, skew 0.25: at 200/s a mean of 0.5, the first 0.625, the others (2 - 0.625) / 3
    job = Graph("job", (Operator("job", 100.0, skew=0.25, cpu=0.8),))
    (_, seen) = observed(engine(job, Constant(100, 200), {"job": 4}), 0, 10)
    assert [one.id for one in seen.per_executor] == ["job-0", "job-1", "job-2", "job-3"]
    assert [one.busy for one in seen.per_executor] == pytest.approx([0.625, 1.375 / 3, 1.375 / 3, 1.375 / 3])
    assert [one.cpu for one in seen.per_executor] == pytest.approx([0.5, 1.1 / 3, 1.1 / 3, 1.1 / 3])
    assert sum(one.rate or 0 for one in seen.per_executor) == pytest.approx(200)


# rescales, failures, retention


def test_a_rescale_stops_the_query_for_its_outage() -> None:
    run = engine(ONE, Constant(300, 80), {"job": 1}, OperatorSettings(30, 15, noise=0, floor=0))
    observed(run, 60)
    run.scale(Decision(2, "more"))
    at_75, at_90, at_91 = observed(run, 75, 90, 91)
    assert (at_75.executors, at_75.requested, at_75.backlog, at_75.processing_rate) == (1, 2, 15 * 80, 0)
    assert (at_90.executors, at_90.backlog) == (1, 30 * 80)
    assert at_75.operators[0].busy is None  # a query that stands reports nothing
    assert (at_91.executors, at_91.backlog, at_91.processing_rate) == (2, 31 * 80 - 200, 200)
    assert {one.uptime for one in at_91.per_executor} == {1}
    run.scale(Decision(1, "fewer"))
    down, up = observed(run, 106, 107)
    assert (down.processing_rate, up.processing_rate) == (0, 100)
    run.scale(Decision(1, "the same"))
    assert observed(run, 108)[0].processing_rate == 100


def test_a_second_rescale_takes_the_place_of_the_first() -> None:
    run = engine(ONE, Constant(300, 80), {"job": 1})
    run.scale(Decision(3, "more"))
    run.sleep_until(20)
    run.scale(Decision(2, "less"))
    stands, runs = observed(run, 50, 51)
    assert (stands.executors, runs.executors, runs.processing_rate) == (1, 2, 200)


def test_a_savepoint_drains_the_buffers() -> None:
    run = engine(LINE, Constant(300, 1000), {"source": 2, "map": 1, "sink": 1})
    observed(run, 10)
    assert run.flow.waiting[1] == 150
    run.scale(Decision(Target(9, {"source": 3, "map": 4, "sink": 2}), "more"))
    assert run.flow.waiting == [10 * 1000 - 300 * 10 - 150, 0, 0]
    after = observed(run, 41)[0]
    assert {one.name: one.parallelism for one in after.operators} == {"source": 3, "map": 4, "sink": 2}


def test_without_a_savepoint_it_goes_on_from_the_last_checkpoint() -> None:
    run = engine(ONE, Constant(300, 80), {"job": 1}, OperatorSettings(noise=0, savepoint=False))
    observed(run, 67)
    run.scale(Decision(2, "more"))
    assert (run.flow.waiting[0], run.replayed) == (7 * 80, 7 * 80)  # checkpoint at 60


def test_a_failure_replays_since_the_last_checkpoint_and_stands_until_it_was_noticed() -> None:
    own = OperatorSettings(noise=0, floor=0, checkpoint=10, detection=20, restart=10)
    run = engine(ONE, Constant(300, 80), {"job": 2}, own, failures=(67.0,))
    _, at_90, at_97, at_98 = observed(run, 60, 90, 97, 98)
    # from 60 to 67 560 records were done, which are to be done again
    assert (at_90.processing_rate, at_90.backlog) == (pytest.approx(560 / 30), 30 * 80)
    assert [(event.time, event.kind) for event in at_90.events] == [(67, "ExecutorLost")]
    assert (at_97.backlog, at_98.backlog, at_98.processing_rate) == (37 * 80, 38 * 80 - 200, 200)
    assert at_98.executors == 2
    assert run.replayed == 560
    run.sleep_until(200)
    done = run.finished()
    assert float((done.ends - done.begins).sum()) == pytest.approx(200 * 80)  # each once
    # nothing new until 67 * 80 = 5360 were reached again: 4800 + 200 n > 5360 with n = 3, at 97 + 3
    assert [time for time in done.times.tolist() if 67 < time <= 101] == [100, 101]


def test_records_older_than_the_retention_are_lost() -> None:
    # 180/s for 100 s on 100/s: 80/s wait more, 20 s of arrivals are 3600, reached at 45 s; after that 80/s are lost
    run = engine(ONE, Constant(100, 180), {"job": 1}, OperatorSettings(noise=0, floor=0, retention=20))
    (seen,) = observed(run, 100)
    assert run.lost == pytest.approx(55 * 80)
    assert seen.backlog == pytest.approx(3600)
    # 10,000 were done; that done last came 20 s before, and was read before what was lost in that second
    assert seen.latency == pytest.approx(20.0, abs=0.5)
    done = run.finished()
    assert float((done.ends - done.begins).sum()) == pytest.approx(10_000)
    assert seen.batches[0].end - seen.batches[0].begin == pytest.approx(14_400)
    assert seen.batches[0].rows == 10_000


def test_workers_that_start_show_cpu() -> None:
    own = OperatorSettings(10, 10, noise=0, busy_restart=0.9, busy_restart_time=5)
    run = engine(ONE, Constant(300, 20), {"job": 1}, own)
    observed(run, 10)
    run.scale(Decision(2, "more"))
    stands, starts, runs = observed(run, 20, 25, 40)
    assert stands.operators[0].cpu == 0.9
    assert starts.operators[0].cpu == pytest.approx(1.8)
    assert runs.operators[0].cpu == pytest.approx(20 / 100)


def test_nothing_is_told_of_operators_while_nobody_looks() -> None:
    asleep = OperatorSettings(outage_up=10.0, outage_down=10.0, asleep=60.0, noise=0.0)
    run = engine(ONE, Constant(600, level=50.0), {"job": 1}, asleep)
    observed(run, 15)
    run.scale(Decision(2, "more"))
    # from 15 on for 60 s, of which it stands for 10
    told = [(obs.operators[0].cpu, obs.backlog) for obs in observed(run, 30, 60, 74, 75)]
    assert told == [(None, None), (None, None), (None, None), (pytest.approx(0.5), 0.0)]


def test_workers_are_another_lucky_draw_after_every_start() -> None:
    graph = Graph("job", (Operator("job", 100.0, spread=0.2),))
    run = engine(graph, Constant(600, level=1000.0), {"job": 1})
    (before,) = observed(run, 15)
    run.scale(Decision(2, "more"))
    _, after = observed(run, 60, 75)
    # saturated: each is always busy, whatever it does
    assert before.operators[0].busy == pytest.approx(1.0)
    assert after.operators[0].busy == pytest.approx(2.0)
    assert before.operators[0].rate_in not in (None, pytest.approx(100.0))
    assert after.operators[0].rate_in not in (None, pytest.approx(200.0))


def test_keys_dealt_out_at_random_are_less_skewed_among_fewer() -> None:
    job = Operator("job", 100.0, skew=0.25, skewed_at=10)
    # sqrt(0 / 9), sqrt(4 / 9) and sqrt(9 / 9) of a quarter
    assert [job.lean(n) for n in (1, 5, 10)] == pytest.approx([0.0, 1 / 6, 0.25])
    assert job.capacity(10) == pytest.approx(800.0)  # 1000 / 1.25
    with pytest.raises(InvalidInput, match="'job': need skewed_at >= 2 workers, got 1"):
        Operator("job", 1.0, skewed_at=1)


def test_the_query_ends_after_its_drain() -> None:
    run = engine(ONE, Constant(10, 20), {"job": 1}, drain=5)
    observed(run, 15)
    run.sleep_until(15.5)
    with pytest.raises(QueryEnded):
        run.observe()


def test_asking_twice_at_one_time_shows_the_same() -> None:
    run = engine(LINE, Constant(60, 200), LINE.best(3), OperatorSettings())
    first, again = observed(run, 15, 15)
    assert (again.operators, again.arrival_rate, again.batches) == (first.operators, first.arrival_rate, ())


# policies


def ticks(name: str, seed: int = 3) -> list[Tick]:
    graph = Graph(
        "steps", tuple(Operator(one.name, one.rate * 100, one.upstream, one.selectivity) for one in LINE.operators)
    )
    load = Steps(2400, (20_000, 90_000, 90_000, 90_000))
    run = OperatorEngine(graph, load, graph.best(3), OperatorSettings(), seed=seed)
    return list(ticks_of(run, autoscaler(name, Limits(3, 20)), run, period=15))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_policy_can_go_by_what_is_seen(name: str) -> None:
    seen = ticks(name)
    assert len(seen) == 161
    assert not [step.decision.reason for tick in seen for step in tick.steps if "failed" in step.decision.reason]
    if name in {"hpa-cpu", "ds2", "hpa-varga", "dhalion"}:
        # source 90/40, map 90/30, sink 90/100
        last = {one.name: one.parallelism for one in seen[-1].observation.operators}
        assert last["source"] >= 3
        assert last["map"] >= 3
        assert last["sink"] >= 1


def test_a_seed_decides_all() -> None:
    first, same, other = (
        observed(engine(LINE, Constant(60, 500), LINE.best(4), OperatorSettings(work_noise=0.1), seed=seed), 15, 30)
        for seed in (3, 3, 4)
    )
    assert first == same
    assert first != other
