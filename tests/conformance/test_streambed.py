"""StreamBed's capacity plans from its own measurements, in the folder in TIDEGATE_VECTORS (or one beside the project).

Models and targets are those of the paper (its logarithm is log1p in the released code), numbers of measurements those
of the released data; the plans must be those of the paper's Table 3. A file may hold any of the five queries, and is
used for those that it holds.
"""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidegate.planner.inverse import smallest_slots
from tidegate.planner.least_squares import LINEAR, LOG1P, SQUARE_ROOT, LeastSquares
from tidegate.planner.measurement import Measurement
from tidegate.planner.selection import best_prefix

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", BESIDE))
#: memory is in MB for 16 slots, which matters to log(1 + x)
GB_PER_SLOT = 16 * 1024


@dataclass(frozen=True)
class Published:
    """`used` are the first measurements, in the order of the exploration, that the model was fitted to."""

    model: LeastSquares
    target: float
    used: int
    #: planned slots by GB per slot
    slots: dict[float, int]


TABLE_3 = {
    "q1": Published(LINEAR, 160e6, 10, {0.5: 179, 1: 179, 2: 179, 4: 178}),
    "q2": Published(LINEAR, 190e6, 20, {0.5: 69, 1: 69, 2: 69, 4: 69}),
    "q5": Published(LOG1P, 2.5e6, 14, {2: 1069, 4: 1079}),
    "q8": Published(SQUARE_ROOT, 15e6, 13, {2: 179, 4: 176}),
    "q11": Published(LINEAR, 20e6, 20, {0.5: 565, 1: 564, 2: 562, 4: 559}),
}


def explored(query: str) -> list[Measurement]:
    path = FOLDER / "streambed_explored.csv"
    if not path.exists():
        pytest.skip(f"no streambed_explored.csv in {FOLDER}")
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["query"] == query]
    if not rows:
        pytest.skip(f"no {query} in {path}")
    return [
        Measurement(int(row["task_slots"]), float(row["memory_mb_per_16_slots"]), float(row["sustainable_rate"]))
        for row in rows
    ]


@pytest.mark.parametrize("query", TABLE_3)
def test_the_plans_of_table_3(query: str) -> None:
    published, measurements = TABLE_3[query], explored(query)
    fit = published.model.fit(measurements[: published.used])
    planned = {
        gigabytes: smallest_slots(fit, published.target, gigabytes * GB_PER_SLOT) for gigabytes in published.slots
    }
    assert planned == published.slots


@pytest.mark.parametrize("query", ["q1", "q5", "q11"])
def test_the_prefix_rule_finds_how_many_measurements_were_used(query: str) -> None:
    published, measurements = TABLE_3[query], explored(query)
    assert len(best_prefix(published.model, measurements)) == published.used


def test_the_file_has_no_query_without_a_published_plan() -> None:
    explored("q1")
    with (FOLDER / "streambed_explored.csv").open() as file:
        assert {row["query"] for row in csv.DictReader(file)} <= set(TABLE_3)
