"""A few of the mutated files of `benchmarks/fuzz.py`, and what the command line says to the worst of them."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tidegate.cli import main
from tidegate.core import TidegateError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KINDS = ("recordings", "models", "traces", "profiles", "experiments", "stored runs", "bombs")


@pytest.fixture(scope="module")
def files() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    yield import_module("fuzz_files")
    sys.path.remove(str(BENCHMARKS))


def test_every_kind_is_tried(files: Any) -> None:
    assert tuple(files.FILES) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_are_read_or_refused_with_a_sentence(
    files: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusals = [refusal(files.FILES[kind], number, tmp_path) for number in range(10)]
    assert not any("\n" in sentence or len(sentence) > 2000 for sentence in refusals)


def refusal(use: Callable[[Random, Path], None], number: int, folder: Path) -> str:
    """What is said to a mutant; empty if it is read."""
    try:
        use(Random(f"test-{number}"), folder)
    except TidegateError as error:
        return str(error)
    return ""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in; what they are called with is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tidegate"])
    return tmp_path


SMALL = 'policies = ["ds2"]\njobs = ["q1"]\nworkloads = ["tide"]'
DEEP = "need at most 64 levels of lists and objects"


@pytest.mark.parametrize(
    ("command", "content", "sentence"),
    [
        ("compare x.toml", "a = " + "[" * 100_000, DEEP),
        ("compare x.toml", ".".join("a" * 50_000) + " = 1", DEEP),
        ("compare x.toml", f"{SMALL}\nseeds = 1000000000", "these are 1,000,000,000 runs"),
        ("validate x.json", "[" * 100_000, DEEP),
        ("validate x.json", '{"name": "a", "batches": 3}', "until is missing"),
        ("calibrate x.json", '{"name": 1e999}', "this is no recording that Tidegate wrote"),
        ("workloads trace:x.csv?gaps=zero", "0,1\n1,1\n2,1\n1e9,1\n", "999,999,997 steps"),
        ("workloads trace:x.csv", "0,1\n1,1e308\n", "need a rate of at most 1e+12 records/s"),
        ("profile --model x.json", '{"job": "q1", "cost": 1e300}', "need numbers between"),
    ],
)
def test_the_command_line_says_one_sentence(
    command: str, content: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.split()
    (here / words[-1].removeprefix("trace:").partition("?")[0]).write_text(content, encoding="utf-8")
    sys.argv = ["tidegate", *words]
    with pytest.raises(SystemExit) as end:
        main()
    told = " ".join(capsys.readouterr().err.split())
    assert end.value.code == 2
    assert sentence in told
    assert "Traceback" not in told
