"""`tidegate plan` on a simulated testbed."""

import fcntl
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.sim.batch_model import BatchModel, text

Command = Callable[..., Any]
MODEL = BatchModel("plain", fixed=0.5, overhead=0.0, cost=1e-4, tasks=24, cold=0.0, noise=0.02)


@pytest.fixture
def plan(tidegate: Command, tmp_path: Path) -> Command:
    (tmp_path / "m.json").write_text(text(MODEL))

    def call(*words: str) -> Any:
        return tidegate("plan", "--engine", "sim", "--model", "m.json", "--testbed", "1-6", "--budget", "1h", *words)

    return call


def test_a_plan_for_a_rate(plan: Command) -> None:
    ended = plan("--rate", "50k", "--price", "0.05")
    assert ended.code == 0
    assert "--num-executors" in ended.out
    assert "tidegate.attach(query, min_executors=1, max_executors=" in ended.out
    assert "a month" in ended.out
    values = json.loads(plan("--rate", "50k", "--output", "json").out)
    # 3.5 of 4 s for 10,000 a second on each: 8,750/s each, and 6 for 50,000/s
    assert values["planned"]
    assert 6 <= values["slots"] <= 7
    assert values["interval"]["low"] <= 6 <= values["interval"]["high"]


def test_measurements_are_used_again_for_another_rate(plan: Command) -> None:
    first = json.loads(plan("--rate", "20k", "--output", "json").out)
    again = plan("--rate", "30k", "--output", "json")
    assert "are used again" in again.err
    assert json.loads(again.out)["probes"] == first["probes"]
    more = json.loads(plan("--rate", "30k", "--more", "--output", "json").out)
    assert more["probes"][: len(first["probes"])] == first["probes"]
    assert len(more["probes"]) > len(first["probes"])


def test_measurements_of_another_model_are_not(plan: Command, tmp_path: Path) -> None:
    first = json.loads(plan("--rate", "20k", "--output", "json").out)
    (tmp_path / "m.json").write_text(text(replace(MODEL, cost=2e-4)))
    second = plan("--rate", "20k", "--output", "json")
    assert "used again" not in second.err
    assert json.loads(second.out)["probes"][0]["rate"] < 0.6 * first["probes"][0]["rate"]


def test_measurements_that_are_damaged_are_a_sentence(plan: Command, tmp_path: Path) -> None:
    assert plan("--rate", "20k").code == 0
    (file,) = (tmp_path / ".tidegate" / "plan").glob("*/probes.json")
    file.write_text("[{")
    ended = plan("--rate", "20k")
    assert ended.code == 2
    assert "--fresh makes new ones" in ended.err.replace("\n", " ")
    assert plan("--rate", "20k", "--fresh").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "0"], "need --rate > 0, got 0"),
        (["--rate", "-5"], "is not like 5000"),
        (["--rate", "5k", "--testbed", "0-3"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--testbed", "3-1"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--memory", "512,much"], "need numbers of MiB of heap from 1 on"),
        (["--rate", "5k", "--engine", "operators"], "engine of a testbed"),
        (["--rate", "5k", "--sample", "x.parquet"], "are for --app"),
        (["--rate", "5k", "--budget", "1m"], "need --budget >= 218s"),
    ],
)
def test_what_is_wrong_with_a_request(plan: Command, words: list[str], sentence: str) -> None:
    ended = plan(*words)
    assert ended.code == 2
    assert sentence in ended.err


def test_a_rate_beyond_the_partitions_says_how_many_it_takes(plan: Command) -> None:
    ended = plan("--rate", "200k", "--partitions", "12")
    assert ended.code == 0
    assert "no plan: 12 partitions keep at most 12 slots busy" in ended.out


def test_the_same_query_is_not_measured_by_two_commands_at_once(plan: Command, tmp_path: Path) -> None:
    assert plan("--rate", "20k").code == 0
    (lock,) = (tmp_path / ".tidegate" / "plan").glob("*/lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = plan("--rate", "20k")
    assert ended.code == 2
    assert "another `tidegate plan` measures this query" in ended.err.replace("\n", " ")
    assert plan("--rate", "20k").code == 0
