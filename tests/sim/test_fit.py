"""Recordings, and models fitted to them: what was put in must come out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.control import ticks as ticks_of
from tidegate.core import InvalidInput, Limits, Tick, UnknownName
from tidegate.presets import autoscaler
from tidegate.runs import RunSpec
from tidegate.score.trace import Cumulative
from tidegate.sim import batch_model, recording
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.check import FIGURES, check
from tidegate.sim.fit import fit
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.sim.recording import Recording, record
from tidegate.workloads import Shape, named

KNOWN = BatchModel(
    "q",
    fixed=0.4,
    overhead=0.05,
    cost=3e-4,
    tasks=12,
    cold=3.0,
    young=1.0,
    fade=10.0,
    noise=0.0,
    startup=5.0,
    leave=2.0,
)


#: two thirds of the work where the state is, one of its partitions with twice the records of the others
STATEFUL = replace(
    KNOWN, stages=2, tasks=8, first=0.33, shares=(0.11, 0.11, 0.23, *(0.11,) * 5), reload=0.5, state=20.0, young=0.0,
    cold=1.0, cost=2e-4,
)  # fmt: skip


def ticks(model: BatchModel, workload: Shape, policy: str, executors: int, *, spread: bool = True) -> list[Tick]:
    arrivals = Cumulative.of(workload)
    query = Query(4.0, limit=16 * workload.highest(), spread=spread)
    running = MicroBatchEngine(model, query, arrivals, executors, seed=3)
    options = {"down-window": 40.0} if policy == "hpa-cpu" else {"executors": executors}
    return list(ticks_of(running, autoscaler(policy, Limits(1, 4), options), running, period=1.0))


def recorded(
    model: BatchModel, name: str, policy: str = "hpa-cpu", executors: int = 1, *, spread: bool = True
) -> Recording:
    workload = named(name, 300.0, 9000.0)
    spec = RunSpec(job="q", trigger=4.0, peak=9000.0, start=0.0, workload_spec=workload.spec(), spread=spread)
    return record(f"{name}-{policy}", spec, ticks(model, workload, policy, executors, spread=spread))


@pytest.fixture(scope="module")
def runs() -> list[Recording]:
    return [recorded(KNOWN, "cosine"), recorded(KNOWN, "random"), recorded(KNOWN, "constant", "static", 3)]


def test_a_model_that_was_simulated_is_found_again(runs: list[Recording]) -> None:
    found = fit(runs)
    assert found.error < 0.02
    assert found.model.cost == pytest.approx(KNOWN.cost, rel=0.05)
    assert found.model.batch_time(20_000, 2) == pytest.approx(KNOWN.batch_time(20_000, 2), rel=0.03)
    assert found.model.batch_time(2_000, 4) == pytest.approx(KNOWN.batch_time(2_000, 4), rel=0.05)
    assert (found.model.tasks, found.model.startup) == (12, 5.0)
    assert found.model.cpu == pytest.approx(KNOWN.cpu, abs=0.05)


@pytest.fixture(scope="module")
def stateful() -> list[Recording]:
    """With the state spread, and one without."""
    return [
        recorded(STATEFUL, "cosine"),
        recorded(STATEFUL, "random"),
        recorded(STATEFUL, "tide"),
        recorded(STATEFUL, "steps", spread=False),
    ]


def test_a_model_with_state_is_found_again(stateful: list[Recording]) -> None:
    assert [one.spread for one in stateful] == [True, True, True, False]
    found = fit(stateful)
    assert found.error < 0.03
    model = found.model
    assert sorted(model.shares) == pytest.approx(sorted(STATEFUL.shares), abs=0.01)
    assert model.reload == pytest.approx(STATEFUL.reload, abs=0.25)
    assert (model.state, model.row_bytes) == (pytest.approx(20.0, rel=0.2), pytest.approx(100.0, rel=0.2))
    assert model.batch_time(20_000, 2) == pytest.approx(STATEFUL.batch_time(20_000, 2), rel=0.05)
    for run in (stateful[0], stateful[3]):
        for name, figure in check(STATEFUL, run).figures.items():
            assert abs(figure.error) < 0.07, (run.name, name)


def test_what_was_not_spread_is_not_predicted_as_if_it_were() -> None:
    light = replace(STATEFUL, cost=1e-4)  # tasks too short for Spark to run them elsewhere
    kept = recorded(light, "steps", spread=False)
    values = {name: getattr(kept, name) for name in Recording.__slots__}
    wrong = Recording(**{**values, "about": {"spread": True}})
    assert check(light, kept).batches < 0.02
    assert check(light, wrong).batches > 0.1


def test_a_model_tells_its_own_runs(runs: list[Recording]) -> None:
    verdict = check(KNOWN, runs[0])
    assert list(verdict.figures) == list(FIGURES)
    for name, figure in verdict.figures.items():
        assert abs(figure.error) < 0.05, name
    assert verdict.windows < 0.05


def test_a_wrong_model_is_seen(runs: list[Recording]) -> None:
    half = BatchModel("q", fixed=0.2, overhead=0.02, cost=1.5e-4, tasks=12, noise=0.0)
    assert check(half, runs[0]).figures["batch time"].error < -0.3


def test_a_recording_is_text_and_back(runs: list[Recording]) -> None:
    for one in runs:
        assert recording.parse(recording.text(one), "here") == one
        assert len(recording.text(one)) < 12_000


def test_a_recording_knows_when_executors_came_and_went(runs: list[Recording]) -> None:
    one = runs[0]
    assert one.executors(0.0) == 1
    assert max(count for _, count in one.changes()) >= 3
    assert one.startups
    assert one.leaves


def test_without_its_workload_arrivals_are_those_that_batches_saw(runs: list[Recording]) -> None:
    values = {name: getattr(runs[0], name) for name in Recording.__slots__}
    blind = Recording(**{**values, "workload": None})
    assert blind.arrivals().whole == pytest.approx(runs[0].batches[-1].arrived)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"batches": 5}, "need at least 20 batches, the runs have 5"),
        ({"sizes": True}, "need batches whose sizes differ by a factor of 2"),
        ({"count": True}, "need runs with two different numbers of executors, all had 3"),
    ],
)
def test_too_little_says_what_is_missing(runs: list[Recording], change: dict[str, object], told: str) -> None:
    steady = recorded(KNOWN, "constant", "static", 3)
    values = {name: getattr(runs[0], name) for name in Recording.__slots__}
    few = Recording(**{**values, "batches": runs[0].batches[:5]})
    waves = recorded(KNOWN, "cosine", "static", 3)
    chosen = few if "batches" in change else steady if "sizes" in change else waves
    with pytest.raises(InvalidInput, match=told):
        fit([chosen])


def test_runs_of_two_jobs_are_refused(runs: list[Recording]) -> None:
    values = {name: getattr(runs[0], name) for name in Recording.__slots__}
    with pytest.raises(InvalidInput, match="need runs of one job, got other, q"):
        fit([runs[0], Recording(**{**values, "job": "other"})])


def test_models_are_text_and_back() -> None:
    assert batch_model.parse(batch_model.text(KNOWN), "here") == KNOWN


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "no JSON"),
        ("[]", "need an object with the key 'job'"),
        ('{"job": "q", "cost": -1}', "need 0 < cost <= 86400, got -1"),
        ('{"job": "q", "cost": "many"}', "need a number for cost, got 'many'"),
        ('{"job": "q", "tasks": 2.5}', "need a whole number for tasks, got 2.5"),
        ('{"job": "q", "tasks": true}', "need a number for tasks, got True"),
        ('{"job": "q", "origin": []}', r"need text for origin, got \[\]"),
        ('{"job": "q", "startup": 1e17}', "need 0 <= startup <= 86400, got 1e.17"),
        ('{"job": "q", "fade": 1e-300}', "need 0.001 <= fade <= 1e.06, got 1e-300"),
        ("[" * 100_000, "need at most 64 levels"),
        ('{"job": "q", "cost": NaN}', r"need numbers between -2\^63 and 2\^63, cost is nan"),
    ],
)
def test_bad_models_are_refused(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        batch_model.parse(text, "model.json")


def test_unknown_keys_and_models_are_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="fixed"):
        batch_model.parse('{"job": "q", "fixd": 1}', "model.json")
    with pytest.raises(UnknownName, match="q1"):
        batch_model.model("q1x")


def test_what_is_no_recording_is_told() -> None:
    with pytest.raises(InvalidInput, match="this is no recording"):
        recording.parse('{"name": 3}', "x.json")


def test_a_recording_is_read_from_its_file(runs: list[Recording], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(recording.text(runs[0]), encoding="utf-8")
    assert recording.read(path) == runs[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"until": 0}, "need 0.001 <= until <= 3.456e.07, got 0"),
        ({"until": 1e12}, "need 0.001 <= until <= 3.456e.07, got 1"),
        ({"trigger": 1e-9}, "need at most 1,000,000 triggers"),
        ({"limit": -5}, "need 1 <= limit <= 1e.18, got -5"),
        ({"name": None}, "need text of up to 1000 characters as name, got None"),
        ({"layout": {}}, "layout: tasks is missing"),
        ({"layout": None}, "layout: need an object, got None"),
        ({"batches": [[1, 2]]}, r"batches: need rows of 5 values, got \[1, 2\]"),
        ({"batches": [[0, 0, 0, 5, 5]]}, "need 0.001 <= took <= 3.456e.07, got 0"),
        ({"batches": [[0, 1, 5, 5, 5]]}, "need batches with records, got one from 5 to 5"),
        ({"batches": [[0, 1, 0, 2**60, 5]]}, "need 0 <= end <= 9.0072e.15, got 1152921504606846976"),
        ({"batches": [[5, 1, 0, 5, 5], [4, 1, 5, 9, 9]]}, "need batches in order"),
        ({"lives": [[3, 2]]}, "need executors that went after they came, got 3, 2"),
        ({"lives": [["a", None]]}, "need a number as came, got 'a'"),
        ({"loads": [[0.5]]}, r"loads: need rows of 2 values, got \[0.5\]"),
        ({"startups": [-1]}, "need 0 <= startups <= 3.456e.07, got -1"),
        (
            {"workload": {"kind": "steps", "duration": 5, "levels": ["a"]}},
            "workload steps: need numbers, or lists of them",
        ),
        ({"workload": {"kind": "steps", "duration": 1e17, "levels": [1]}}, "need a duration of at most 400 days"),
        ({"workload": {"duration": 5}}, "no kind of workload is named 'None'"),
        ({"other": 1}, "no key .* is named 'other'"),
    ],
)
def test_what_no_run_can_have_is_no_recording(runs: list[Recording], change: dict[str, object], told: str) -> None:
    values = {**json.loads(recording.text(runs[0])), **change}
    with pytest.raises(InvalidInput, match=told):
        recording.parse(json.dumps(values), "x.json")


def test_a_run_too_short_to_be_judged_is_refused(runs: list[Recording]) -> None:
    values = {name: getattr(runs[0], name) for name in Recording.__slots__}
    with pytest.raises(InvalidInput, match="too few batches that end within 5 s, and need 20 s at least"):
        check(KNOWN, Recording(**{**values, "until": 5.0}))
    with pytest.raises(InvalidInput, match="need a batch with executors after the first one"):
        check(KNOWN, Recording(**{**values, "lives": ()}))
