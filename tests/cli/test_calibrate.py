import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
TRUTH = Path(__file__).parents[1] / "recorded" / "truth"
RUN = str(TRUTH / "hold-q5-cosine.json")


def test_a_model_of_another_job_is_told(tidegate: Command) -> None:
    ended = tidegate("validate", RUN, "--model", "q1")
    assert ended.code == 0
    assert ended.err.startswith("warning: hold-q5-cosine is a run of q5, the model is one of q1: errors say little\n")
    found = json.loads(tidegate("validate", RUN, "--model", "q1", "--output", "json").out)
    assert found["runs"][0]["model"] == "q1"


def test_the_job_s_own_model_is_not(tidegate: Command) -> None:
    assert tidegate("validate", RUN).err == ""


@pytest.mark.parametrize("width", [80, 60])
def test_errors_fit_into_the_terminal(tidegate: Command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = tidegate("validate", RUN, str(TRUTH / "hold-q11-cosine.json")).out.splitlines()[1:]
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    assert lines[1].startswith("hold-q5-cosine ")
    assert lines[3].startswith("median |error|")


def test_a_job_named_with_brackets_has_a_model(tidegate: Command, tmp_path: Path) -> None:
    names = []
    for name in ("a", "b"):
        recording = json.loads((TRUTH / f"cal-q5-{name}.json").read_text())
        (tmp_path / f"{name}.json").write_text(json.dumps({**recording, "job": "orders[/prod]"}))
        names.append(f"{name}.json")
    ended = tidegate("calibrate", *names, "--to", "m.json")
    assert ended.code == 0
    assert "model of orders[/prod]" in ended.out
