"""Specs and results as JSON: what is written comes back, what earlier versions wrote too, and nothing else."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from tidegate.core import InvalidInput, Limits
from tidegate.experiment import Experiment
from tidegate.runs import (
    KafkaCounts,
    KafkaSettings,
    LateStretch,
    ProfilingCost,
    RunResult,
    RunSpec,
    SinkCounts,
    decode,
    encode,
)
from tidegate.runs.codec import VERSION
from tidegate.score.convergence import Convergence
from tidegate.score.figures import (
    AgainstOracle,
    Backlog,
    Figures,
    Latency,
    Rescales,
    Slo,
    Throughput,
    Workers,
)
from tidegate.score.provision import Provision
from tidegate.score.recovery import Recovery
from tidegate.workloads import from_spec

SPEC = RunSpec(
    job="q11",
    sample="orders.parquet?time=at",
    workload="cosine",
    workload_seed=3,
    noise=0.02,
    policy="ds2",
    options={"target": 0.8, "pause": "in"},
    engine="spark",
    mode="monitor",
    duration=600.0,
    peak=250_000.0,
    minimum=2,
    maximum=12,
    initial=3,
    slo=30.0,
    safe=True,
    spread=True,
    seed=7,
    skew="hot",
    trigger=4.0,
    limit=50_000,
    partitions=36,
    drain=90.0,
    verify=False,
    quota=0.5,
    grace=10.0,
    kafka=KafkaSettings("localhost:9092", "bids", produce=False, sink="result", patience=5.0),
    master="spark://here:7077",
    cores=2,
    memory=1024,
    ui_port=4050,
    model="mine.json",
    period=5.0,
    failures=(60.0, 120.5),
    price=0.25,
    source="kafka",
    workload_spec={"kind": "wave", "levels": [1.0, 2.0], "inner": {"noise": None}},
    start=1_700_000_000.25,
)

FIGURES = Figures(
    processed=800,
    lost=3,
    latency=Latency(mean=29.0, p50=30.0, p95=55.0, p99=59.0, max=60.0),
    slo=Slo(target=40.0, violated=0.3),
    workers=Workers(mean=3.0, max=3, seconds=300.0, seen_mean=2.0, seen_seconds=200.0),
    rescales=Rescales(count=2, up=1, down=1),
    backlog=Backlog(max=400.0, final=200.0),
    throughput=Throughput(offered=10.0, processed=8.0, ratio=0.8),
    convergence=(Convergence(at=400.0, seconds=12.5, steps=2), Convergence(at=500.0, seconds=None, steps=None)),
    recovery=(Recovery(at=500.0, seconds=0.0), Recovery(at=600.0, seconds=None)),
    provision=Provision(over=50.0, under=25.0),
    oracle=AgainstOracle(seconds=160.0, ratio=1.875, violated=0.01),
    cost=0.03,
    rerun_tasks=4,
)

RESULT = RunResult(
    "20240101-120000",
    "done",
    job="q11",
    workload="cosine",
    policy="ds2",
    engine="spark",
    mode="monitor",
    source="kafka",
    seed=7,
    options={"target": 0.8, "pause": "in"},
    duration=600.0,
    offered=1000,
    figures=FIGURES,
    verified=True,
    kafka=KafkaCounts("bids", 800, 2, produced=1000, duplicates=1, losses=0, behind=0.5, connector="4.0.0"),
    sink=SinkCounts("result", rows=790, duplicates=0, losses=10),
    profiling=ProfilingCost(seconds=4200.0, worker_seconds=12_600.0, points=10),
    late=(LateStretch(start=60.0, seconds=15.0), LateStretch(start=300.0, seconds=5.0)),
    stored="20240101-120001",
    spread=True,
    error="the query failed",
)


def through_json(value: RunSpec | RunResult) -> Any:
    return json.loads(json.dumps(encode(value)))


def test_every_part_here_differs_from_its_default() -> None:
    """So that one that is not written would be missed below."""
    assert [one.name for one in fields(RunSpec) if getattr(SPEC, one.name) == getattr(RunSpec(), one.name)] == [
        "engine"
    ]
    plain = RunResult("r", "failed")
    assert [one.name for one in fields(RunResult) if getattr(RESULT, one.name) == getattr(plain, one.name)] == []


@pytest.mark.parametrize("spec", [SPEC, RunSpec(), RunSpec(engine="sim")], ids=["full", "empty", "simulated"])
def test_a_spec_comes_back_as_it_went_in(spec: RunSpec) -> None:
    assert decode(RunSpec, through_json(spec), "run 1") == spec


@pytest.mark.parametrize("result", [RESULT, RunResult("r", "failed", error="no Java")], ids=["full", "failed"])
def test_a_result_comes_back_as_it_went_in(result: RunResult) -> None:
    assert decode(RunResult, through_json(result), "run 1") == result


def test_the_spec_of_an_experiment_comes_back_and_can_be_started_again() -> None:
    e = Experiment(engine="sim", workload="steps", failures=(60.0,))
    spec = e.spec(start=5.0)
    back = decode(RunSpec, through_json(spec), "run 1")
    # lists stand for tuples within a shape, which reads both
    assert replace(back, workload_spec=spec.workload_spec) == spec
    assert back.workload_spec is not None
    assert from_spec(back.workload_spec) == e.load()
    values = {one.name: getattr(back, one.name) for one in fields(Experiment)}
    assert Experiment(**{**values, "source": None, "workload_spec": None, "start": None}) == e


def test_keys_of_a_spec_are_those_of_before_and_the_version() -> None:
    before = (
        "job workload policy engine options mode duration peak workload_seed noise minimum maximum initial slo seed"
        " skew trigger limit partitions drain verify quota grace kafka master cores memory ui_port model period"
        " failures price source workload_spec limits start safe spread sample"
    )
    found = encode(SPEC)
    assert found.keys() == {*before.split(), "version"}
    assert (found["limits"], found["version"]) == ([2, 12], VERSION)
    assert found["kafka"] == {
        "bootstrap": "localhost:9092",
        "topic": "bids",
        "produce": False,
        "sink": "result",
        "patience": 5.0,
    }


def test_keys_of_a_result_are_those_of_before_and_the_version() -> None:
    lead = "run status job workload policy engine mode source seed options duration offered"
    figures = (
        "processed lost latency slo workers rescales backlog throughput convergence recovery provision oracle cost"
        " rerun_tasks"
    )
    some = "kafka sink profiling late stored error spread"
    found = encode(RESULT)
    assert found.keys() == {*lead.split(), *figures.split(), "verified", *some.split(), "version"}
    assert found["latency"] == {"mean": 29.0, "p50": 30.0, "p95": 55.0, "p99": 59.0, "max": 60.0}
    assert found["recovery"] == [{"at": 500.0, "seconds": 0.0}, {"at": 600.0, "seconds": None}]
    assert found["late"][0] == {"start": 60.0, "seconds": 15.0}
    # what most runs have nothing to say about is left out
    assert encode(RunResult("r", "failed")).keys() == {*lead.split(), "verified", "version"}


def test_what_earlier_versions_did_not_write_has_its_default() -> None:
    found = decode(RunSpec, {"job": "orders", "limits": [1, 6], "later": "added"}, "run 1")
    assert found == RunSpec(job="orders", minimum=1, maximum=6)
    assert found.limits == Limits(1, 6)


def test_figures_of_earlier_versions_that_lack_some_leave_them_unknown() -> None:
    found = decode(
        RunResult, {"run": "r", "status": "done", "processed": 5, "slo": {"target": 9, "violated": 0.5}}, "r"
    )
    assert found.figures is not None
    assert (found.figures.processed, found.figures.slo) == (5, Slo(9.0, 0.5))
    assert (found.figures.latency, found.figures.workers, found.figures.backlog) == (None, None, None)


@pytest.mark.parametrize("kind", [RunSpec, RunResult])
def test_what_a_later_version_wrote_is_refused(kind: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode(kind, {"run": "r", "status": "done", "version": VERSION + 1}, "runs.jsonl line 3")
    assert str(refused.value) == (
        f"runs.jsonl line 3: written by a later version of Tidegate ({VERSION + 1}; this one reads {VERSION})"
    )


@pytest.mark.parametrize("values", [None, [], "text", 5])
def test_what_is_no_object_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^run 1: need an object, got {type(values).__name__}$"):
        decode(RunSpec, values, "run 1")


@pytest.mark.parametrize(
    ("kind", "wrong", "sentence"),
    [
        (RunSpec, {"slo": "ten"}, "need a number, got 'ten'"),
        (RunSpec, {"maximum": True}, "need a whole number, got True"),
        (RunSpec, {"maximum": 2.5}, "need a whole number, got 2.5"),
        (RunSpec, {"job": 5}, "need text, got 5"),
        (RunSpec, {"options": 5}, "need an object, got 5"),
        (RunResult, {"run": "r", "status": "done", "verified": "yes"}, "need true or false, got 'yes'"),
        (RunSpec, {"peak": [1]}, r"need a number, got \[1\]"),
        (RunSpec, {"failures": 60.0}, "'float' object is not iterable"),
        (RunSpec, {"failures": ["60"]}, "need a number, got '60'"),
        (RunSpec, {"kafka": "localhost"}, "need an object for .*KafkaSettings.*, got 'localhost'"),
        (RunSpec, {"limits": [1, 2, 3]}, "too many values to unpack"),
        (RunSpec, {"version": "one"}, "written by a later version"),
        (RunResult, {"run": "r"}, "missing 1 required positional argument: 'status'"),
        (RunResult, {"run": "r", "status": "done", "offered": "many"}, "need a whole number, got 'many'"),
        (RunResult, {"run": "r", "status": "done", "processed": 1, "latency": 5.0}, "need an object for .*Latency"),
        (RunResult, {"run": "r", "status": "done", "processed": 1, "latency": {"p95": 5.0}}, "missing 4 required"),
        (RunResult, {"run": "r", "status": "done", "processed": None}, "need a whole number, got None"),
        (RunResult, {"run": "r", "status": "done", "late": [5]}, "need an object for .*LateStretch.*, got 5"),
    ],
)
def test_values_of_a_wrong_type_are_refused_with_their_place(kind: Any, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^run 1: .*{sentence}"):
        decode(kind, wrong, "run 1")


@pytest.mark.parametrize("value", ["x" * 100_000, [[1] * 1000] * 1000, {"a": {}}, float("nan"), None])
def test_whatever_stands_for_a_number_is_refused_in_a_short_sentence(value: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"^run r: no RunSpec that Tidegate wrote: need a whole number, got "
    ) as caught:
        decode(RunSpec, {**encode(SPEC), "cores": value}, "run r")
    assert len(str(caught.value)) < 300


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^run r: no RunSpec that Tidegate wrote: int too large"):
        decode(RunSpec, {**encode(SPEC), "noise": 10**400}, "run r")
