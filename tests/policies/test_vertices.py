"""The vertices of the Flink operator's rule."""

import pytest

from tidegate.core import ExecutorSample, Observation, OperatorSample
from tidegate.policies.vertices import Part, Vertex, summed, target_rate, vertices


def part(time: float = 0.0, lag: float | None = None) -> Part:
    return Part(time, workers=2, lag=lag)


def test_a_part_adds_up_what_is_known() -> None:
    found = part()
    found.add(Vertex("map", (), 2, 100.0, 0.5, rate_out=10.0, arrival=120.0), threshold=30)
    found.add(Vertex("map", (), 2, None, None), threshold=30)
    assert (found.count, found.rate, found.busy, found.rate_out) == (2, 100, 0.5, 10)
    assert (found.arrivals, found.arrival, found.lagging) == (1, 120, 0)


@pytest.mark.parametrize(
    ("lag", "rate", "upstream", "counts"),
    [
        (3500.0, 100.0, (), True),  # 30 s and a cycle of 5 s
        (3499.0, 100.0, (), False),
        (None, 100.0, (), False),
        (3500.0, 0.0, (), False),
        (3500.0, None, (), False),
        (3500.0, 100.0, ("source",), False),
    ],
)
def test_under_a_lag_a_source_s_rate_is_a_true_one(
    lag: float | None, rate: float | None, upstream: tuple[str, ...], counts: bool
) -> None:
    found = part()
    found.add(Vertex("map", upstream, 2, rate, 0.5, lag=lag, cycle=5.0, backpressured=0.5), threshold=30)
    assert (found.lagging, found.observed) == ((1, 200) if counts else (0, 0))  # held up half of the time


def test_parts_are_summed_from_the_first() -> None:
    parts = [Part(time, 2, 10.0 * time, 1, 2.0, 3.0, 4.0, 5, 6.0, 7, 8.0) for time in (1.0, 2.0, 3.0)]
    assert summed(parts) == Part(1.0, 2, 10.0, 3, 6.0, 9.0, 12.0, 15, 18.0, 21, 24.0)


def test_the_target_is_what_arrives() -> None:
    found = part(time=0, lag=100.0)
    found.add(Vertex("query", (), 2, 50.0, 0.5), threshold=30)
    growing = Vertex("query", (), 2, 50.0, 0.5, lag=700.0)
    assert target_rate(60, growing, found) == 60  # 50 and (700 - 100) / 60
    assert target_rate(0, growing, found) == 50
    assert target_rate(60, Vertex("query", (), 2, 50.0, 0.5), found) == 50
    assert target_rate(60, Vertex("query", (), 2, 50.0, 0.5, lag=-9e9), found) == 0
    found.add(Vertex("query", (), 2, 70.0, 0.5), threshold=30)
    assert target_rate(60, growing, found) == 70  # 60 and 10
    for arrival in (80.0, 100.0):
        found.add(Vertex("query", (), 2, 50.0, 0.5, arrival=arrival), threshold=30)
    assert target_rate(60, growing, found) == 90


def test_a_target_may_be_less_than_a_record_per_second() -> None:
    found = part()
    found.add(Vertex("query", (), 2, 0.5, 0.5), threshold=30)
    assert target_rate(60, Vertex("query", (), 2, 0.5, 0.5), found) == 0.5


def test_on_spark_the_query_is_the_vertex() -> None:
    executors = tuple(ExecutorSample(str(k), busy=busy) for k, busy in enumerate((0.2, 0.6, None, 0.7)))
    obs = Observation(0, 4, 4, 90.0, 80.0, 7.0, trigger=5.0, batch_duration=3.0, per_executor=executors)
    shares = {how: vertices(obs, how)[0].busy for how in ("min", "avg", "max")}
    assert shares == {"min": 0.2, "avg": pytest.approx(0.5), "max": 0.7}
    vertex = vertices(obs, "max")[0]
    assert (vertex.workers, vertex.rate, vertex.arrival, vertex.lag, vertex.cycle) == (4, 80, 90, 7, 8)


def test_without_busy_executors_the_stages_tell() -> None:
    stages = (OperatorSample("map", busy=1.0), OperatorSample("sum", ("map",), busy=2.0), OperatorSample("sink"))
    cores = (ExecutorSample("1", cores=2),)
    assert vertices(Observation(0, 3, 3, operators=stages, per_executor=cores), "max")[0].busy == 0.5  # 3 of 6
    assert vertices(Observation(0, 1, 1, operators=stages, per_executor=cores), "max")[0].busy == 1
    assert vertices(Observation(0, 0, 1, operators=stages), "max")[0].busy is None
    assert vertices(Observation(0, 3, 3), "max")[0].busy is None


def test_isolated_sources_share_the_lag_by_their_rates() -> None:
    graph = (
        OperatorSample("a", (), 2, rate_in=30.0, busy=1.0, backpressured=0.5),
        OperatorSample("b", (), 4, rate_in=10.0, backpressured=1.0),
        OperatorSample("c", ("a", "b"), 3, rate_in=40.0, busy=1.5),
    )
    a, b, c = vertices(Observation(0, 9, 9, backlog=80.0, operators=graph, isolated=True), "max")
    assert [(v.lag, v.busy, v.workers) for v in (a, b, c)] == [(60, 0.5, 2), (20, None, 4), (0, 0.5, 3)]
    assert [v.backpressured for v in (a, b, c)] == [0.5, 0.99, 0]
    assert [v.cycle for v in (a, b, c)] == [0, 0, 0]
    silent = (OperatorSample("a"), OperatorSample("b"))
    assert [v.lag for v in vertices(Observation(0, 2, 2, backlog=80.0, operators=silent, isolated=True), "max")] == [
        40,
        40,
    ]
    assert vertices(Observation(0, 2, 2, operators=silent, isolated=True), "max")[0].lag is None
