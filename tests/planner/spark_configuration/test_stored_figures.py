import json
from dataclasses import replace
from typing import Any

import pytest

from tidegate.core import InvalidInput
from tidegate.planner.spark_configuration.run_figures import RunFigures, StageFigures, StateFigures
from tidegate.planner.spark_configuration.skew import Skew
from tidegate.planner.spark_configuration.stored_figures import figures_from, plain

RUN = RunFigures(
    rate=40_000.0,
    executors=2,
    cores=2,
    stages=(StageFigures(8, 4e-5, per_task=0.05), StageFigures(8, 2e-5, skew=Skew(8, 0.15))),
    trigger=5.0,
    batch_seconds=4.0,
    batch_records=200_000.0,
    keyed=1,
    fixed=0.7,
    state=StateFigures(1e5, 1e8, growing=True),
)


@pytest.mark.parametrize(
    "run",
    [RUN, replace(RUN, fixed=None, state=None), replace(RUN, state=StateFigures(1.0, None), keyed=None)],
    ids=["all", "little", "no size"],
)
def test_figures_survive_a_file(run: RunFigures) -> None:
    assert figures_from(json.loads(json.dumps(plain(run))), "run.json") == run


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0}, r"^run\.json: need 1e-09 <= rate <= 1e\+18, got 0$"),
        ({"stages": []}, r"^run\.json: need at least 1 stage, got none$"),
        ({"keyed": 2}, r"^run\.json: need 1 <= keyed <= 1, got 2$"),
        ({"stages": [{"tasks": 0.5, "each": 1.0}]}, r"^run\.json: stages: need 1 <= tasks <= 1e\+06, got 0\.5$"),
        ({"state": {"rows": "many"}}, r"^run\.json: state: need a number as rows, got 'many'$"),
        ({"rows": 3}, r"no key \(run\.json\) is named 'rows'"),
    ],
)
def test_what_no_run_shows(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        figures_from({**plain(RUN), **change}, "run.json")


@pytest.mark.parametrize("values", [None, 7, [], "figures"])
def test_what_is_no_object(values: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^run\.json: need an object, got "):
        figures_from(values, "run.json")
