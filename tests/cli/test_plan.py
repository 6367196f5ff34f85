"""`tidegate plan` on a simulated testbed."""

import json
from collections.abc import Callable
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
    assert "tidegate.attach(query, max_executors=" in ended.out
    assert "a month" in ended.out
    values = json.loads(plan("--rate", "50k", "--output", "json").out)
    # 3.5 of 4 s for 10,000 a second on each: 8,750/s each, and 6 for 50,000/s
    assert values["planned"]
    assert 6 <= values["slots"] <= 7
    assert values["interval"]["low"] <= 6 <= values["interval"]["high"]


def test_measurements_are_used_again_for_another_rate(plan: Command) -> None:
    first = json.loads(plan("--rate", "20k", "--output", "json").out)
    again = plan("--rate", "30k", "--budget", "1s", "--output", "json")
    assert "are used again" in again.err
    assert json.loads(again.out)["probes"] == first["probes"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "0"], "need --rate > 0, got 0"),
        (["--rate", "-5"], "is not like 5000"),
        (["--rate", "5k", "--testbed", "0-3"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--testbed", "3-1"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--engine", "operators"], "engine of a testbed"),
        (["--rate", "5k", "--sample", "x.parquet"], "are for --app"),
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
