"""Rates that the authors' own generator made, from the folder in TIDEGATE_VECTORS (or one beside the project)."""

import csv
import os
import re
from pathlib import Path

import pytest

from tidegate.core.amounts import rate
from tidegate.workloads import Shape, minutes

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", BESIDE))
FILES = sorted(FOLDER.rglob("espa_workloads_per_minute*.csv"))
#: cosine_MEAN_SWING_NOISE and random_START_STEP_capCAP; without a seed the documented one
COSINE = re.compile(r"cosine_([^_]+)_([^_]+)_([^_]+?)(?:_seed(\d+))?")
RANDOM = re.compile(r"random_([^_]+)_([^_]+)_cap([^_]+?)(?:_seed(\d+))?")


def generator(column: str) -> Shape | None:
    """Ours, with the parameters in a column's name; None where the name carries none."""
    if found := COSINE.fullmatch(column):
        mean, swing, noise = (rate(text) for text in found.groups()[:3])
        return minutes.cosine(mean, swing, noise, seed=int(found[4] or 1066))
    if found := RANDOM.fullmatch(column):
        start, step, cap = (int(rate(text)) for text in found.groups()[:3])
        return minutes.random(start, step, cap, seed=int(found[4] or 1073))
    return None


@pytest.mark.skipif(not FILES, reason=f"no espa_workloads_per_minute.csv in {FOLDER}")
def test_every_logged_minute_is_ours_to_the_record() -> None:
    checked = 0
    for file in FILES:
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        for column in rows[0]:
            shape = generator(column)
            if shape is not None:
                logged = {int(row["minute"]): int(row[column]) for row in rows}
                assert {minute: shape.rate(60 * minute) for minute in logged} == logged
                checked += 1
    assert checked > 0


def test_parameters_are_read_off_a_column_s_name() -> None:
    assert generator("cosine_1.2M_1M_100k_seed7") == minutes.cosine(1_200_000, 1_000_000, 100_000, seed=7)
    assert generator("cosine_12k_10k_250") == minutes.cosine(12_000, 10_000, 250, seed=1066)
    assert generator("random_1.25M_500k_cap2.5M_seed7") == minutes.random(1_250_000, 500_000, 2_500_000, seed=7)
    assert generator("minute") is None
