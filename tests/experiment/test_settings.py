"""What an experiment refuses before anything is started, and what it says of itself."""

from dataclasses import fields
from typing import Any

import pytest

from tidegate.core import InvalidInput, Limits, UnknownName
from tidegate.experiment import Experiment, Kafka
from tidegate.runs import RunSpec

KAFKA = Kafka("localhost:9092", "bids")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"engine": "spark", "failures": (60.0,)},
            "run: failures are those of a simulator, on engine spark nothing is made to fail",
        ),
        (
            {"engine": "sim", "mode": "native"},
            "run: mode native is Spark's own dynamic allocation, engine sim has none",
        ),
        ({"initial": 9}, "run: need 1 <= executors at the start <= 4, got 9"),
        ({"quota": 0.01}, "run: need 0.02 <= quota <= 1 cores, got 0.01"),
        ({"trigger": 0.0}, "run: need trigger > 0, got 0"),
        ({"trigger": 1e308}, "run: need 0 <= trigger <= 3.456e+07, got 1e+308"),
        ({"duration": float("inf")}, "run: need 0 <= duration <= 3.456e+07, got inf"),
        ({"peak": 1e308}, "run: need 0 <= peak <= 1e+12, got 1e+308"),
        ({"maximum": 10**9}, "run: need 1 <= maximum <= 10000, got 1e+09"),
        ({"price": -1.0}, "run: need 0 <= price <= 1e+09, got -1"),
        ({"price": float("nan")}, "run: need 0 <= price <= 1e+09, got nan"),
        ({"cores": 0}, "run: need 1 <= cores <= 1000, got 0"),
        (
            {"engine": "sim", "failures": (1e12,)},
            "run: need at most 10,000 failures within 3.456e+07 s, got 1",
        ),
        (
            {"engine": "sim", "duration": 3600.0, "trigger": 1e-6},
            "run: 3600 s have 3,600,000,000 steps of 1e-06 s, need at most 5,000,000: a longer trigger",
        ),
    ],
)
def test_what_cannot_work_is_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Experiment(**values)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("values", [{"engine": "flink"}, {"mode": "watch"}, {"policy": "hpa"}, {"workload": "cosin"}])
def test_unknown_names_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(UnknownName):
        Experiment(**values)


@pytest.mark.parametrize("engine", ["sim", "operators"])
def test_failures_are_for_the_simulators(engine: str) -> None:
    job = "q1" if engine == "sim" else "phoebe-tsw"
    assert Experiment(job=job, engine=engine, failures=(60.0, 90.0)).failures == (60.0, 90.0)


def test_where_records_come_from() -> None:
    assert Experiment().source_kind == "embedded"
    assert Experiment(engine="sim").source_kind == "simulated"
    assert Experiment(kafka=KAFKA).source_kind == "kafka"
    strange = Experiment(kafka=Kafka("localhost:9092", "bids", produce=False))
    assert [e.external_source for e in (Experiment(), Experiment(kafka=KAFKA), strange)] == [False, False, True]


def test_what_is_not_said_follows_from_what_is() -> None:
    e = Experiment(trigger=4.0, peak=1000.0, maximum=5, cores=2, minimum=2)
    # four triggers at the peak; three tasks for each of 5 x 2 cores
    assert (e.max_batch_records, e.partition_count, e.first, e.limits) == (16_000, 30, 2, Limits(2, 5))
    told = Experiment(limit=500, partitions=7, maximum=5, initial=3)
    assert (told.max_batch_records, told.partition_count, told.first) == (500, 7, 3)


def test_its_spec_is_what_is_stored() -> None:
    e = Experiment(engine="sim", workload="steps", options={"target": 0.8})
    spec = e.spec(start=5.0)
    assert type(spec) is RunSpec
    own = {"source": "simulated", "workload_spec": e.load().spec(), "start": 5.0}
    same = {one.name: getattr(e, one.name) for one in fields(e) if one.name not in own}
    assert spec == RunSpec(**same, **own)  # type: ignore[arg-type]
    assert (spec.limits, spec.max_batch_records) == (e.limits, e.max_batch_records)


def test_of_records_of_others_the_workload_is_not_known() -> None:
    spec = Experiment(kafka=Kafka("localhost:9092", "bids", produce=False)).spec()
    assert (spec.workload_spec, spec.source, spec.start) == (None, "kafka", None)
