"""What ends a command: Ctrl-C, `kill` and a terminal that was closed keep what was seen and leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tidegate.cli.console import ENDING, interrupt_once
from tidegate.store import Store

#: twenty simulated days take a minute or more, so that they can be interrupted
LONG = ("--engine", "sim", "--duration", "20d", "--trigger", "10s", "--slo", "30s", "--output", "json")
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, which children inherit
    yield
    for number, answer in kept.items():
        signal.signal(number, answer)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command in a process group of its own, as a terminal does."""
    started: list[subprocess.Popen[str]] = []

    def command(*words: str) -> subprocess.Popen[str]:
        call = [sys.executable, "-m", "tidegate", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(call, cwd=tmp_path, start_new_session=True, **pipes)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield command
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(text: str, lines: IO[str] | None) -> None:
    assert lines is not None
    for line in lines:
        if text in line:
            return
    raise AssertionError(f"ended without {text!r}")


def test_a_run_whose_terminal_is_closed_keeps_what_was_seen(start: Start, tmp_path: Path) -> None:
    process = start("run", *LONG)
    wait_for("offered", process.stderr)  # figures: ticks have been stored
    os.killpg(process.pid, signal.SIGHUP)
    os.killpg(process.pid, signal.SIGTERM)  # a second one must not cut the clean-up short
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    result = json.loads(out)
    assert result["status"] == "interrupted"
    assert (tmp_path / result["report"]).exists()
    with Store.open(tmp_path / ".tidegate" / "tidegate.db") as store:
        run = store.run("last")
        assert run.status == "interrupted"
        assert next(iter(store.ticks(run.id)))


def test_a_comparison_whose_terminal_is_closed_keeps_the_runs_that_are_done(start: Start, tmp_path: Path) -> None:
    words = ("--policies", "static", "--duration", "1h", "--seeds", "2000", "--processes", "2", "--out", "found")
    process = start("compare", *words, "--output", "json")
    kept = tmp_path / "found" / "runs.jsonl"
    while not (kept.exists() and kept.stat().st_size):
        assert process.poll() is None
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    os.killpg(process.pid, signal.SIGHUP)  # reaches the workers, too
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    done = json.loads(out)["runs"]
    assert 0 < len(done) < 2000
    assert f"interrupted: {len(done)} of 2000 runs are kept in found; the same command goes on from there" in err
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody of the group is left


def test_under_nohup_a_closed_terminal_changes_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupt_once()
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_the_first_signal_interrupts_and_the_others_are_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt_once()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    for number in ENDING:
        signal.raise_signal(number)
