"""Needs of a plan, from flags as they are typed to sentences and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli.plan_needs import AskedNeeds, PlannedNeeds, asked_needs, needs_of
from tidegate.core import InvalidInput, UnknownName
from tidegate.experiment.settings import Experiment
from tidegate.planner.averaging import AveragedCapacity, average
from tidegate.planner.measurement import Measurement
from tidegate.planner.needs.description import describe_needs, plain_needs
from tidegate.planner.plan import Plan, Refusal, plan
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures
from tidegate.profiling.learnt_model import capacity_of
from tidegate.sim.batch_model import BatchModel, text

#: an hour in steps of a minute: from 20,000 to 60,000 records/s and back
LEVELS = [20_000 + 40_000 * min(k, 59 - k) // 29 for k in range(60)]
#: a record takes 80 µs, a task 0.02 s, the driver 0.4 s
FIGURES = RunFigures(
    rate=3e4, executors=4, cores=1, stages=(StageFigures(12, 8e-5, per_task=0.02),), trigger=4.0, batch_seconds=2.9,
    batch_records=1.2e5, fixed=0.46,
)  # fmt: skip


@pytest.fixture(scope="module")
def capacity() -> AveragedCapacity:
    return average([Measurement(s, 512, 10_000.0 * s) for s in (1, 2, 3, 4, 4)])


@pytest.fixture
def e(tmp_path: Path) -> Experiment:
    # the testbed's own model has another start of executors than usual
    file = tmp_path / "testbed.json"
    file.write_text(text(BatchModel("plain", startup=7.0, noise=0.0)))
    return Experiment(engine="sim", job="q1", model=str(file), policy="static", trigger=4.0)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    file = tmp_path / "day.csv"
    file.write_text("time,rate\n" + "".join(f"{60 * k},{level}\n" for k, level in enumerate(LEVELS)))
    return str(file)


def planned(e: Experiment, capacity: AveragedCapacity, asked: AskedNeeds, rate: float = 50_000.0) -> PlannedNeeds:
    return needs_of(e, capacity, FIGURES, plan(capacity, rate), asked)


def test_all_needs(e: Experiment, capacity: AveragedCapacity, trace: str) -> None:
    asked = asked_needs(e, trace, slo=20.0, recovery="5m", outage="60s", price=0.05)
    result = planned(e, capacity, asked)
    needs = result.needs
    assert needs.rate == plan(capacity, 50_000.0)
    assert needs.peak is not None
    # 12 s of a step of 60 s
    assert (needs.peak.trace, needs.peak.peak.rate, needs.peak.peak.window) == ("day.csv", 60_000.0, 12.0)
    assert needs.peak.answer == plan(capacity, 60_000.0)
    assert needs.recovery is not None
    # all that arrives in 300 s and 2 triggers of 4 s, in 240 s
    assert needs.recovery.capacity == pytest.approx(60_000 * 308 / 240)
    assert isinstance(needs.recovery.answer, Plan)
    assert needs.day is not None
    assert (needs.day.maximum, needs.day.seconds, needs.day.slo) == (needs.recovery.answer.slots, 3600.0, 20.0)
    assert needs.day.saved > 0
    lines = list(describe_needs(needs, price=0.05))
    assert lines[1].startswith("peak of day.csv: 60 k records/s for 12 s: ")
    assert lines[2].startswith("recovery within 300 s of a failure at 60 k records/s, 60 s of it outage: ")
    assert lines[4].startswith("autoscaled by hpa-cpu, 1 to ")
    assert all("a month" in lines[k] for k in (0, 1, 2, 4, 5))
    assert json.loads(json.dumps(plain_needs(needs, 0.05), allow_nan=False))["day"]["policy"] == "hpa-cpu"


def test_the_highest_rate_that_the_query_may_have_to_grow_to(e: Experiment, trace: str) -> None:
    assert asked_needs(e).highest(50_000.0) == 50_000.0
    assert asked_needs(e, trace, slo=20.0).highest(50_000.0) == 60_000.0
    assert asked_needs(e, trace, slo=20.0).highest(80_000.0) == 80_000.0
    recovering = asked_needs(e, trace, slo=20.0, recovery="5m", outage="60s")
    assert recovering.highest(50_000.0) == pytest.approx(60_000 * 308 / 240)
    # no capacity recovers in less than the outage
    assert asked_needs(e, recovery="1m", outage="2m").highest(50_000.0) == 50_000.0


def test_the_model_is_the_run_at_the_pace_of_the_plan(e: Experiment, capacity: AveragedCapacity) -> None:
    model = planned(e, capacity, asked_needs(e)).model
    assert model is not None
    slots = plan(capacity, 50_000.0)
    assert isinstance(slots, Plan)
    assert capacity_of(model, slots.slots, 4.0) == pytest.approx(slots.capacity.median, rel=1e-4)
    assert (model.overhead, model.tasks, model.startup) == (0.02, 3 * slots.slots, 7.0)
    # 3 waves of 0.02 s are not the driver's
    assert model.fixed == pytest.approx(0.4)
    assert model.origin == (
        "a run of 30 k records/s on 4 executors, at the pace of 5 measurements with up to 4 slots"
    )  # fmt: skip


def test_state_partitions_that_are_planned_count(e: Experiment, capacity: AveragedCapacity) -> None:
    result = needs_of(e, capacity, FIGURES, plan(capacity, 50_000.0), asked_needs(e), partitions=96)
    assert result.model is not None
    assert result.model.tasks == 96
    assert result.needs.notes == ()


def test_partitions_that_are_too_few_for_the_peak(e: Experiment, capacity: AveragedCapacity, trace: str) -> None:
    answer = plan(capacity, 30_000.0)
    assert isinstance(answer, Plan)
    assert answer.slots == 4
    # planned for 30,000 records/s; the peak of 60,000 needs more slots than that
    needs = needs_of(e, capacity, FIGURES, answer, asked_needs(e, trace), partitions=6).needs
    assert needs.largest is not None
    slots = needs.largest.slots
    assert slots > 6
    assert needs.notes == (
        f"6 state partitions keep at most 6 of {slots} slots busy: there must be at least {slots} when the query "
        "first starts, as they are fixed from then on",
    )
    assert needs.day is not None


def test_recovery_without_a_trace_is_at_the_rate(e: Experiment, capacity: AveragedCapacity) -> None:
    needs = planned(e, capacity, asked_needs(e, recovery="4m")).needs
    assert needs.recovery is not None
    assert needs.recovery.rate == 50_000.0
    assert needs.recovery.target.outage == 110.0
    assert (needs.peak, needs.day, needs.notes) == (None, None, ())


def test_without_figures_there_is_no_day(e: Experiment, capacity: AveragedCapacity, trace: str) -> None:
    answer, asked = plan(capacity, 50_000.0), asked_needs(e, trace)
    result = needs_of(e, capacity, None, answer, asked, no_figures="its batches had no stages")
    assert result.model is None
    assert result.needs.day is None
    assert result.needs.notes == ("no autoscaled day: its batches had no stages",)
    assert list(result.files) == ["profile.csv"]


def test_without_a_plan_for_the_peak_there_is_no_day(e: Experiment, trace: str) -> None:
    uneven = average([Measurement(s, 512, r) for s, r in ((2, 900.0), (2, 9000.0), (4, 1500.0), (4, 20_000.0))])
    result = planned(e, uneven, asked_needs(e, trace))
    assert result.needs.peak is not None
    assert isinstance(result.needs.peak.answer, Refusal)
    assert result.needs.notes == ("no autoscaled day: there is no plan for the peak to scale within",)
    # model and profile are those of the testbed
    assert result.model is not None
    assert result.profile


def test_what_takes_long_is_said_before(e: Experiment, capacity: AveragedCapacity, trace: str) -> None:
    said: list[str] = []
    needs_of(e, capacity, FIGURES, plan(capacity, 50_000.0), asked_needs(e, trace), say=said.append)
    assert said == ["simulating hpa-cpu on day.csv, 1:00:00, with what was learnt"]


@pytest.mark.parametrize("policy", ["phoebe", "twres"])
def test_policies_with_a_profile_have_that_of_the_plan(
    e: Experiment, capacity: AveragedCapacity, trace: str, policy: str
) -> None:
    day = planned(e, capacity, asked_needs(e, trace, policy=policy)).needs.day
    assert day is not None
    assert day.policy == policy
    assert day.scaled.mean < day.maximum


def test_other_commands_read_the_files(
    e: Experiment, capacity: AveragedCapacity, trace: str, tmp_path: Path, tidegate: Callable[..., Any]
) -> None:
    for name, content in planned(e, capacity, asked_needs(e)).files.items():
        (tmp_path / name).write_text(content)
    back = tidegate(
        "backtest", trace, "--model", "model.json", "--policies", "phoebe,hpa-cpu", "-p", "phoebe:profile=profile.csv",
        "--max-executors", "8", "--output", "json",
    )  # fmt: skip
    assert back.code == 0, back.err
    again = tidegate("plan", "--engine", "sim", "--model", "model.json", "--testbed", "1-2", "--rate", "20k")
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"recovery": "0s"}, "plan: need --recovery > 0, got 0s"),
        ({"recovery": "soon"}, "duration 'soon' is not like 90s, 3m or 1h30m"),
        ({"price": 0.0}, "plan: need --price > 0 for an executor-hour, got 0"),
        ({"price": -1.0}, "plan: need --price > 0 for an executor-hour, got -1"),
        ({"trace": "nowhere.csv"}, "trace nowhere.csv: cannot be read: No such file or directory"),
        ({"trace": "empty.csv"}, "trace empty.csv: the file is empty"),
        ({"trace": "header.csv"}, "trace header.csv: there are no rows below the header"),
        ({"trace": "zero.csv"}, "trace zero.csv: all rates are 0: need at least one above 0"),
        ({"trace": "short.csv"}, "trace short.csv: need more than 15 s for an autoscaled day, it has 2"),
        ({"trace": "minute.csv", "slo": 120.0}, "trace minute.csv: need at least 112 s, for which a peak is to last, "
         "it has 60"),
        ({"options": ["target"]}, "policy option 'target' is not NAME=VALUE"),
    ],
)  # fmt: skip
def test_bad_flags_are_sentences(
    e: Experiment, flags: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("time,rate\n")
    (tmp_path / "zero.csv").write_text("0\n" * 60)
    (tmp_path / "short.csv").write_text("5\n6\n")
    (tmp_path / "minute.csv").write_text("5\n" * 60)
    with pytest.raises(InvalidInput) as refused:
        asked_needs(e, **flags)
    assert str(refused.value) == sentence


def test_unknown_policies_and_options(e: Experiment) -> None:
    with pytest.raises(UnknownName, match="hpa-cup"):
        asked_needs(e, policy="hpa-cup")
    with pytest.raises(UnknownName, match="tarket"):
        asked_needs(e, options=["tarket=1"])
