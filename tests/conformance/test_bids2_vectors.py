"""Allocations that StreamBed's own optimizer logged, from the folder in TIDEGATE_VECTORS or beside the project."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.planner.bids2 import IsolatedOperator, best_allocation, fewest_slots

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", BESIDE))
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no {name} in {FOLDER}")
    logged = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    assert logged, f"{path} is empty"
    return logged


def operators(row: Row) -> list[IsolatedOperator]:
    return [IsolatedOperator(operator["input_ratio"], operator["true_rate"]) for operator in row["operators"]]


def test_the_best_rate_is_the_logged_optimum_and_the_allocation_reaches_it() -> None:
    for number, row in enumerate(rows("bids2.jsonl"), 1):
        query = operators(row)
        best = best_allocation(query, row["slots"])
        assert best.source_rate == pytest.approx(row["optimal_rate"], rel=1e-3), f"row {number}"
        assert sum(best.slots) == row["slots"], f"row {number}"
        for operator, slots in zip(query, best.slots, strict=True):
            reached = slots * operator.true_rate / operator.input_ratio
            assert reached >= row["optimal_rate"] * (1 - 1e-3), f"row {number}"


def test_the_logged_allocation_has_no_slot_to_spare_for_a_higher_rate() -> None:
    for number, row in enumerate(rows("bids2.jsonl"), 1):
        query = operators(row)
        assert fewest_slots(query, row["optimal_rate"] * 1.001).total > row["slots"], f"row {number}"
        assert fewest_slots(query, row["optimal_rate"] * 0.999).total <= row["slots"], f"row {number}"
