"""What is kept of plans, read back and refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli import plan_stored
from tidegate.cli.plan_measurements import PlanFolder
from tidegate.cli.plan_stored import KeptFigures
from tidegate.core import InvalidInput
from tidegate.experiment import Experiment
from tidegate.planner.averaging import Interval
from tidegate.planner.explorer import Exploration, Probe
from tidegate.planner.measurement import Measurement
from tidegate.planner.space import Configuration, Space
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures
from tidegate.planner.validation import Validation
from tidegate.profiling.partition_trial_runs import TrialProbe

PROBES = (
    Probe(2, 512, 1_000.0, 3.5, low=950.0, high=1_050.0, ending="as required", limit="the query"),
    Probe(4, 512.0, None, 1.0, "the query failed: " + 2_000 * "x"),
)
VALIDATION = Validation(Measurement(8, 512, 7_000.0), Interval(6_000.0, 7_500.0, 8_000.0))
TRIAL = TrialProbe(4, 512, 16, None, 3.0, "no rate was sustained")
FIGURES = RunFigures(1e3, 4, 1, (StageFigures(12, 1e-4, 0.03),), 4.0, 3.0, 4e3, fixed=0.5)

READERS = {
    "probes.json": PlanFolder.read,
    "figures.json": PlanFolder.figures,
    "validations.json": PlanFolder.validations,
    "trials.json": PlanFolder.trials,
}


def folder(root: Path, *, fresh: bool = False) -> PlanFolder:
    return PlanFolder(Experiment(engine="sim", policy="static"), root, fresh=fresh)


def filled(root: Path) -> PlanFolder:
    kept = folder(root)
    with kept.locked():
        kept.write(Exploration(Space.of([2, 4], [512]), probes=PROBES))
        kept.keep_figures(KeptFigures(Configuration(2, 512), FIGURES))
        kept.keep_validation(VALIDATION)
        kept.keep_trial(TRIAL)
        kept.keep_trial(TRIAL)
    return kept


def test_everything_is_read_as_it_was_kept(tmp_path: Path) -> None:
    filled(tmp_path)
    kept = folder(tmp_path)
    assert kept.read() == PROBES
    assert kept.figures() == (FIGURES, "")
    assert kept.validations() == (VALIDATION,)
    assert kept.trials() == (TRIAL, TRIAL)
    assert not list(kept.path.glob("*.new"))


def test_figures_of_the_largest_run_stay(tmp_path: Path) -> None:
    kept = filled(tmp_path)
    kept.keep_figures(KeptFigures(Configuration(8, 512), None, "no stages"))
    kept.keep_figures(KeptFigures(Configuration(1, 512), FIGURES))
    assert kept.figures() == (FIGURES, "")
    assert json.loads((kept.path / "figures.json").read_text())["slots"] == 2
    kept.keep_figures(KeptFigures(Configuration(4, 512), FIGURES))
    assert json.loads((kept.path / "figures.json").read_text())["slots"] == 4


def test_a_reason_is_kept_where_there_are_no_figures(tmp_path: Path) -> None:
    kept = folder(tmp_path)
    with kept.locked():
        assert kept.figures() == (None, "costs and state of the runs were not looked at: --more or --fresh does")
        kept.keep_figures(KeptFigures(Configuration(2, 512), None, "no stages"))
        assert kept.figures() == (None, "no stages")


def test_fresh_replaces_everything_with_the_first_measurement(tmp_path: Path) -> None:
    filled(tmp_path)
    fresh = folder(tmp_path, fresh=True)
    assert (fresh.read(), fresh.validations(), fresh.trials(), fresh.figures()[0]) == ((), (), (), None)
    # nothing is lost before there is something new
    assert folder(tmp_path).read() == PROBES
    fresh.write(Exploration(Space.of([2, 4], [512]), probes=PROBES[:1]))
    kept = folder(tmp_path)
    assert (kept.read(), kept.validations(), kept.trials(), kept.figures()[0]) == (PROBES[:1], (), (), None)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("text", ["", "[{", "5", '"x"', "[5]", '[{"slots": "two"}]', "[" * 10_000, '{"slots": 1e999}'])
def test_damaged_files_are_one_sentence(tmp_path: Path, name: str, text: str) -> None:
    kept = filled(tmp_path)
    (kept.path / name).write_text(text)
    with pytest.raises(InvalidInput, match="no measurements that Tidegate wrote") as refused:
        READERS[name](kept)
    assert str(refused.value).endswith(": --fresh makes new ones")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("made", "values", "sentence"),
    [
        (plan_stored.probe, {**asdict(PROBES[0]), "slots": 0}, "need 1 <= slots"),
        (plan_stored.probe, {**asdict(PROBES[0]), "rate": None}, "need either a rate or a failure"),
        (plan_stored.probe, {**asdict(PROBES[0]), "colour": 1}, "no key"),
        (plan_stored.trial, {**asdict(TRIAL), "partitions": 1.5}, "need a whole number as partitions"),
        (plan_stored.trial, {**asdict(TRIAL), "rate": 0}, "<= rate <="),
        (plan_stored.validation, {"measurement": {"slots": 8, "memory": 512, "rate": 1}}, "need an object"),
        (plan_stored.figures_kept, {"slots": 8, "memory": 512, "figures": [], "reason": ""}, "an object as figures"),
    ],
)  # fmt: skip
def test_values_that_no_run_shows_are_refused(made: Any, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        made("a file", values)
