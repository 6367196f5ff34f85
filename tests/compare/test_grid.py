from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tidegate.compare.cells import Cell, cells
from tidegate.compare.grid import grid, merged, read
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment

TOML = """
title = "HPA against DS2"
description = "as an example"
policies = ["ds2", { name = "hpa-cpu", label = "HPA 80", options = { target = 0.8, down-window = "1m" } }]
jobs = ["q1", { name = "q1", maximum = 12, label = "large" }]
workloads = ["steps", { name = "tide", peak = "250k", noise = 0 }]
seeds = 2

[run]
duration = "6h"
slo = 20
failures = ["45m", 7200]
price = 1
"""
SMALL = {"policies": ["ds2"], "jobs": ["q1"], "workloads": ["tide"]}


def capacity(e: Experiment, executors: int) -> float:
    """A thousand records/s for each executor, and for the trigger's seconds."""
    return 1000.0 * executors + e.trigger


def made(values: Mapping[str, Any]) -> list[Cell]:
    return cells(grid(values, "x.toml"), capacity, "x.toml")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def test_a_file_is_every_policy_on_every_job_under_every_workload_with_every_seed(file: Path) -> None:
    found = made(read(file))
    assert len(found) == 2 * 2 * 2 * 2
    assert [cell.key for cell in found[:5]] == [
        "q1/steps/ds2/0",
        "q1/steps/ds2/1",
        "q1/steps/HPA 80/0",
        "q1/steps/HPA 80/1",
        "q1/tide/ds2/0",
    ]
    assert [cell.drawn for cell in found[:4]] == [True, False, True, False]
    assert found[2].experiment == Experiment(
        job="q1",
        workload="steps",
        policy="hpa-cpu",
        options={"target": 0.8, "down-window": 60.0},
        engine="sim",
        duration=21600.0,
        slo=20.0,
        safe=False,
        failures=(2700.0, 7200.0),
        price=1.0,
        trigger=10.0,
        maximum=8,
        noise=0.02,
        peak=6410.0,  # 80 % of 8 x 1000 + 10 is 6408, in three digits
    )


def test_what_one_job_or_workload_says_goes_before_what_all_say(file: Path) -> None:
    large = {cell.workload: cell.experiment for cell in made(read(file)) if cell.job == "large"}
    # 80 % of 12 x 1000 + 10 is 9608
    assert (large["steps"].job, large["steps"].maximum, large["steps"].peak) == ("q1", 12, 9610.0)
    assert (large["tide"].peak, large["tide"].noise) == (250_000.0, 0.0)


def test_flags_go_before_a_file_and_a_name_stands_for_what_the_file_says_about_it(file: Path) -> None:
    flags = {"policies": ["HPA 80", "static"], "jobs": ["large"], "seeds": 1, "run": {"maximum": 4, "peak": "1k"}}
    found = made(merged(read(file), flags))
    assert [cell.key for cell in found[:2]] == ["large/steps/HPA 80/0", "large/steps/static/0"]
    assert {(cell.experiment.maximum, cell.experiment.peak) for cell in found} == {(4, 1000.0)}
    assert found[0].experiment.options["target"] == 0.8


def test_seed_0_is_the_documented_draw_and_others_change_the_noise_only() -> None:
    values = {**SMALL, "workloads": ["cosine", "steps"], "seeds": [0, 7]}
    found = [(cell.experiment.seed, cell.experiment.workload_seed) for cell in made(values)]
    # another seed of the cosine would be another cosine
    assert found == [(0, None), (7, None), (0, None), (7, 7)]
    assert made({**values, "vary": "workload"})[1].experiment.workload_seed == 7


def test_a_trace_keeps_its_own_length_and_rate(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,rate\n0,10\n60,30\n120,20\n", encoding="utf-8")
    (cell,) = made({**SMALL, "workloads": [f"trace:{path}"]})
    assert (cell.workload, cell.experiment.duration, cell.experiment.peak) == ("day.csv", 180.0, 30.0)
    (cell,) = made({**SMALL, "workloads": [f"trace:{path}"], "run": {"duration": "1h", "peak": 90}})
    assert (cell.experiment.duration, cell.experiment.peak) == (3600.0, 90.0)


def test_spark_keeps_its_own_defaults() -> None:
    (cell,) = made({**SMALL, "run": {"engine": "spark"}})
    assert cell.experiment == Experiment(policy="ds2", safe=False)


@pytest.mark.parametrize("value", [5.0, "kafka", {"kind": "wave"}])
@pytest.mark.parametrize("name", ["source", "start", "workload_spec"])
def test_what_only_a_run_that_was_started_has_is_no_key(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"no key \(x.toml: \[run\]\) is named '{name}'"):
        made({**SMALL, "run": {name: value}})
    with pytest.raises(InvalidInput, match=rf"no key \(x.toml: jobs: q1\) is named '{name}'"):
        made({**SMALL, "jobs": [{"name": "q1", name: value}]})


@pytest.mark.parametrize("engine", ["sim", "spark"])
def test_sparks_own_allocation_leaves_state_where_spark_has_it(engine: str) -> None:
    both = made({**SMALL, "policies": ["ds2", "spark-dra"], "run": {"engine": engine}})
    assert {cell.policy: cell.experiment.spread for cell in both} == {"ds2": True, "spark-dra": False}


def test_failures_on_spark_are_refused_with_the_place() -> None:
    with pytest.raises(InvalidInput, match=r"^x.toml: run: failures are those of a simulator"):
        made({**SMALL, "run": {"engine": "spark", "failures": ["45m"]}})


def test_the_same_policy_twice_is_told_apart_by_its_options() -> None:
    policies = [{"name": "hpa-cpu", "options": {"target": target}} for target in (0.5, 0.8)]
    assert [cell.policy for cell in made({**SMALL, "policies": policies})] == [
        "hpa-cpu target=0.5",
        "hpa-cpu target=0.8",
    ]


HPA = {"name": "hpa-cpu"}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"polices": ["ds2"]}, "no key (x.toml) is named 'polices'; did you mean 'policies'?"),
        ({"run": {"durration": "6h"}}, "no key (x.toml: [run]) is named 'durration'; did you mean 'duration'?"),
        ({"run": {"job": "q1"}}, "no key (x.toml: [run]) is named 'job'"),
        ({"run": {"duration": "soon"}}, "x.toml: [run]: duration: duration 'soon' is not like 90s, 3m or 1h30m"),
        ({"run": {"duration": True}}, "x.toml: [run]: need a number as duration, got True"),
        ({"run": {"peak": "fast"}}, "x.toml: [run]: peak: rate 'fast' is not like 5000, 250k or 1.2M records/s"),
        ({"run": {"maximum": 2.5}}, "x.toml: [run]: need a whole number as maximum, got 2.5"),
        ({"run": {"noise": float("nan")}}, "x.toml: [run]: need a number as noise, got nan"),
        ({"run": {"model": 3}}, "x.toml: [run]: need text as model, got 3"),
        ({"run": {"failures": "1h"}}, "x.toml: [run]: need a list of times as failures, like"),
        ({"run": 5}, "x.toml: run: need a table of keys and values, got 5"),
        ({"policies": []}, "x.toml: need a list of names as policies, got []"),
        ({"jobs": "q1"}, "x.toml: need a list of names as jobs, got 'q1'"),
        ({"jobs": [3]}, "x.toml: jobs: need a table of keys and values, got 3"),
        ({"jobs": [{"label": "a"}]}, "x.toml: jobs: need a name, or a table with a name, got {'label': 'a'}"),
        ({"jobs": [{"name": "q1", "peek": 3}]}, "no key (x.toml: jobs: q1) is named 'peek'; did you mean 'peak'?"),
        ({"jobs": [{"name": "q1", "label": "a/b"}]}, "x.toml: jobs: q1: need a label without '/', got 'a/b'"),
        ({"jobs": ["q1", "q1"]}, "x.toml: jobs: 2 are called 'q1': give each a label of its own"),
        ({"policies": [HPA | {"maximum": 3}]}, "no key (x.toml: policies: hpa-cpu) is named 'maximum'"),
        ({"policies": [HPA | {"options": 3}]}, "x.toml: policies: hpa-cpu: options: need a table of keys and values"),
        (
            {"policies": [HPA | {"options": {"target": [1]}}]},
            "x.toml: policies: hpa-cpu: need a number or text as option",
        ),
        ({"policies": [HPA | {"options": {"targt": 1}}]}, "x.toml: no option of policy hpa-cpu is named 'targt'; did"),
        ({"policies": ["hpa"]}, "x.toml: no policy is named 'hpa'; did you mean 'hpa-cpu'?"),
        ({"workloads": ["cosin"]}, "x.toml: no workload is named 'cosin'; did you mean 'cosine'?"),
        ({"seeds": 0}, "x.toml: need a number of seeds >= 1, or a list of different ones >= 0, got 0"),
        ({"seeds": [1, 1]}, "x.toml: need a number of seeds >= 1, or a list of different ones >= 0, got [1, 1]"),
        ({"seeds": True}, "x.toml: need a number of seeds >= 1, or a list of different ones >= 0, got True"),
        ({"seeds": 10**9}, "x.toml: these are 1,000,000,000 runs, need at most 20,000: state max-runs to allow more"),
        ({"seeds": list(range(7)), "max-runs": 6}, "x.toml: these are 7 runs, need at most 6: state max-runs to allow"),
        ({"max-runs": 10**9}, "x.toml: need max-runs to be a whole number from 1 to 1,000,000, got 1000000000"),
        ({"max-runs": "many"}, "x.toml: need max-runs to be a whole number from 1 to 1,000,000, got 'many'"),
        ({"vary": []}, "x.toml: need vary to be one of noise, workload, got []"),
        ({"run": {"maximum": 10**9}}, "x.toml: run: need 1 <= maximum <= 10000, got 1e+09"),
        ({"run": {"period": 1e-6}}, "x.toml: run: 7200 s have 7,200,000,000 steps of 1e-06 s, need at most 5,000,000"),
        ({"vary": "all"}, "x.toml: need vary to be one of noise, workload, got 'all'"),
        ({"title": 3}, "x.toml: need text as title, got 3"),
        ({"run": {"minimum": 9}}, "x.toml: need 0 < minimum <= maximum executors, got 9, 8"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as told:
        made({**SMALL, **values})
    assert str(told.value).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"seeds = = 3", "x.toml is no TOML: Invalid value (at line 1, column 9)"),
        (b"\xff", "x.toml: it is not text in UTF-8"),
        (None, "x.toml: No such file or directory"),
        (b"a = " + b"[" * 100_000, "x.toml: need at most 64 levels of lists and objects, it has more"),
        (b"#" * 300_000, "x.toml: need at most 262,144 bytes, it has more"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput) as told:
        read(path)
    assert str(told.value).endswith(sentence)


def test_more_runs_than_usual_can_be_allowed() -> None:
    assert len(grid({**SMALL, "seeds": 30_000, "max-runs": 30_000}, "x.toml").seeds) == 30_000
