import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate.workloads import NAMED

Command = Callable[..., Any]


@pytest.fixture
def workloads(tidegate: Command) -> Command:
    return lambda *words: tidegate("workloads", *words)


def test_the_list_has_a_curve_and_two_lines_for_each(workloads: Command) -> None:
    ended = workloads()
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert (ended.code, ended.err) == (0, "")
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[::2]] == [*NAMED, "trace:FILE"]
    at = lines.index("steps          ▁████████▃          0, then the peak, then half of it")
    # 90 minutes in 20 columns: the first 2.44 are empty, the second level ends after 11.33
    assert lines[at + 1] == "               ██████████████████  DEBS'24: 1 h 30 min, up to 2 M/s"


@pytest.mark.parametrize("columns", ["40", "80", "132", "400"])
def test_it_fits_the_terminal(workloads: Command, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for words in ([], ["traffic"], ["random", "--noise", "0.5"]):
        assert all(len(line.rstrip()) <= int(columns) for line in workloads(*words).out.splitlines())


def test_one_is_drawn_with_axes(workloads: Command) -> None:
    ended = workloads("steps", "--duration", "3m", "--rate", "100k")
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert (ended.code, ended.err) == (0, "")
    assert lines[0] == "steps: 0, then the peak, then half of it (DEBS'24)"
    assert [line[:9] for line in lines[1:14:3]] == ["  100 k ┤", "   75 k ┤", "   50 k ┤", "   25 k ┤", "      0 └"]
    # from 11/90 to 51/90 of 68 columns
    assert lines[1][9:].strip("▁▂▃▄▅▆▇█") == " " * 9
    assert lines[14].split() == ["0", "s", "45", "s", "90", "s", "2", "min", "15", "s", "3", "min"]
    # 100 k/s for 80 s and 50 k/s for 78 s
    assert lines[15] == "3 min, 66.1 k/s on average, peak 100 k/s, 11,900,000 records"


def test_a_trace_is_drawn(workloads: Command) -> None:
    Path("day[1].csv").write_text("time,rate\n0,10\n60,30\n")
    ended = workloads("trace:day[1].csv")
    assert ended.code == 0
    assert ended.out.startswith("trace:day[1].csv: recorded (day[1].csv)\n")
    assert ended.out.endswith("2 min, 20/s on average, peak 30/s, 2,400 records\n")


def test_one_for_a_program(workloads: Command) -> None:
    ended = workloads("cosine", "--output", "json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert found.keys() == {"name", "summary", "source", "duration", "peak", "mean", "points"}
    assert (found["name"], found["source"], found["duration"]) == ("cosine", "DEBS'24", 8400)
    # a point for each minute, which is what the authors' generator made
    assert found["points"][:2] == [[0.0, 2227166.0], [60.0, 2160889.0]]
    assert (len(found["points"]), found["peak"]) == (140, max(rate for _, rate in found["points"]))
    assert found["mean"] == pytest.approx(sum(rate for _, rate in found["points"]) / 140)


def test_all_for_a_program_made_to_measure(workloads: Command) -> None:
    found = json.loads(workloads("--output", "json", "--duration", "1m", "--rate", "5k").out)
    assert [one["name"] for one in found] == list(NAMED)
    assert {(one["duration"], round(one["peak"], 6)) for one in found} == {(60.0, 5000.0)}


def test_seed_and_noise_change_what_is_drawn(workloads: Command) -> None:
    plain = json.loads(workloads("random", "--output", "json").out)
    assert json.loads(workloads("random", "--output", "json", "--seed", "1073").out) == plain
    assert json.loads(workloads("random", "--output", "json", "--seed", "7").out)["points"] != plain["points"]
    assert json.loads(workloads("random", "--output", "json", "--noise", "0.1").out)["points"] != plain["points"]


def test_the_page_is_written_beside_the_answer(workloads: Command) -> None:
    ended = workloads("--html", "new/all.html", "--output", "json")
    assert (ended.code, ended.err) == (0, "page: new/all.html\n")
    assert len(json.loads(ended.out)) == len(NAMED)
    assert Path("new/all.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["cosin"], "no workload is named 'cosin'; did you mean 'cosine'? (known: "),
        (["tide", "--duration", "long"], "duration 'long' is not like 90s, 3m or 1h30m"),
        (["tide", "--rate", "0"], "workload tide: need a peak rate > 0 records/s, got 0.0"),
        (["tide", "--noise", "2"], "workload wave: need 0 <= noise <= 1, a share of the rate, got 2.0"),
        (["trace:none.csv"], "trace none.csv: cannot be read: No such file or directory"),
        (["tide", "--html", "."], "cannot write the page to .: Is a directory"),
    ],
)
def test_what_a_user_did_wrong_is_a_sentence(workloads: Command, words: list[str], sentence: str) -> None:
    ended = workloads(*words)
    assert ended.code == 2
    assert ended.err.startswith(f"tidegate: {sentence}")
