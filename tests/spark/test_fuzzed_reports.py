"""A few of the mutated sequences of `benchmarks/fuzz.py`, with every kind of source and policy among them."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def progress() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    yield import_module("fuzz_progress")
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("part", range(10))
def test_mutated_reports_neither_raise_nor_give_numbers_without_sense(progress: Any, part: int) -> None:
    for number in range(30 * part, 30 * (part + 1)):
        policy = progress.POLICIES[number % len(progress.POLICIES)]
        progress.sequence(Random(f"test-{number}"), Path(), (policy,))
