"""Decisions that the authors' own systems logged, from the folder in TIDEGATE_VECTORS (or one beside the project)."""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tidegate.core import Decision, Observation
from tidegate.policies import Stabilisation

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", BESIDE))


def rows(name: str) -> list[dict[str, Any]]:
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no {name} in {FOLDER}")
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_hpa_cpu_rescales_exactly_where_the_window_s_maximum_differs_from_the_current_number() -> None:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows("hpa_cpu.jsonl"):
        runs[row["run"]].append(row)
    assert runs
    for logged in runs.values():
        for row in logged:
            assert (
                any(_chosen(row, operator) != current for operator, current in row["current"].items())
                == row["rescaled"]
            )


def _chosen(row: dict[str, Any], operator: str) -> int:
    """What our guard makes of a row's recommendation behind one of the size that its window still held.

    The log does not tell each iteration's time, so the window's maximum stands for all that is in it.
    """
    current, recommended = row["current"][operator], row["recommended"].get(operator)
    held = row["window_max"].get(operator)
    guard = Stabilisation(down=300)
    if held is not None:
        guard.temper(Decision(max(1, held), "held"), Observation(0, current, current))
    wish = Decision(max(1, recommended if recommended is not None else held or 1), "logged")
    return guard.temper(wish, Observation(15, current, current)).executors
