import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.presets import PRESETS
from tidegate.presets.plugins import Plugins

Command = Callable[..., Any]
PAGES = Path(__file__).parents[2] / "docs" / "policies"


def test_every_policy_is_listed_with_a_line_and_its_parameters(tidegate: Command) -> None:
    ended = tidegate("policies")
    assert ended.code == 0
    assert [name for name in PRESETS if f"\n{name} " not in f"\n{ended.out}"] == []
    assert "always the same number (0: the maximum)" in ended.out
    assert "target-recovery 600 s" in re.sub(r"\s+", " ", ended.out)


def test_one_has_a_page_with_its_rule_its_parameters_and_its_guards(tidegate: Command) -> None:
    ended = tidegate("policies", "daedalus")
    assert ended.code == 0
    told = re.sub(r"\s+", " ", ended.out)
    assert told.startswith("daedalus: capacity by CPU regression, ARIMA forecast, recovery in time (ICPE'24)")
    assert "Algorithm 1 of the paper" in told
    assert "wape-limit 25 % error above which the straight line is used" in told
    assert "arriving 60 s wait for executors that were asked for" in told
    assert "docs/policies/daedalus.md" in told


def test_programs_get_json(tidegate: Command) -> None:
    listed = json.loads(tidegate("policies", "--output", "json").out)
    assert [one["name"] for one in listed] == list(PRESETS)
    one = json.loads(tidegate("policies", "hpa-cpu", "--output", "json").out)
    target = next(p for p in one["parameters"] if p["name"] == "target")
    assert (target["default"], target["unit"], target["above"], target["most"]) == (0.7, "share", 0, 1)
    assert {"down-window", "pause"} <= {p["name"] for p in one["guards"]}


def test_an_unknown_name_is_refused_with_the_nearest(tidegate: Command) -> None:
    ended = tidegate("policies", "dealus")
    assert ended.code == 2
    assert ended.err.startswith("tidegate: no policy is named 'dealus'; did you mean 'daedalus'?")


def test_a_plug_in_that_cannot_be_loaded_is_listed_as_such(tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Plugins(broken={"mine": "my.rules:MINE: ModuleNotFoundError: No module named 'my'"})
    for place in ("tidegate.presets.installed", "tidegate.presets.plugins.installed"):
        monkeypatch.setattr(place, lambda: broken)
    ended = tidegate("policies")
    assert ended.code == 0
    assert "plug-in that could not be loaded: my.rules:MINE" in re.sub(r"\s+", " ", ended.out)
    assert tidegate("policies", "mine").code == 2


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_in_docs_names_every_parameter_with_its_default(name: str) -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \|", (PAGES / f"{name}.md").read_text(), re.MULTILINE))
    known = PRESETS[name].own
    assert sorted(set(known) - set(rows)) == []
    for key, one in known.items():
        if isinstance(one.default, str):
            assert rows[key].strip().strip("`") == (one.default or "none")
            continue
        told = float(re.sub(r"[^0-9.e+-]", "", rows[key].split()[0].replace(",", "")))
        assert told in (pytest.approx(one.default), pytest.approx(100 * one.default))
