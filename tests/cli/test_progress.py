from io import StringIO

import pytest
from rich.console import Console

from tidegate.cli import progress as module
from tidegate.cli.progress import NOT_YET, Remaining, progress


def test_the_pace_so_far_tells_the_time_left() -> None:
    left = Remaining(100)
    assert left.text(0, 1000.0) == NOT_YET
    assert left.text(10, 1060.0) == "about 9:00 left"  # 6 s each
    assert left.text(50, 4600.0) == "about 1:00:00 left"  # slower by now
    assert left.text(100, 5000.0) == "0:00 left"


def test_what_was_done_before_does_not_count_as_fast() -> None:
    left = Remaining(100)
    assert left.text(90, 0.0) == NOT_YET  # found in the folder
    assert left.text(95, 300.0) == "about 5:00 left"


def show(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    file, now = StringIO(), iter(range(0, 1000, 20))
    monkeypatch.setattr(module, "err", Console(file=file, force_terminal=terminal, width=100))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(now)))
    with progress(4, "tuning", "trials") as watch:
        for done in range(5):
            watch(done)
    return file.getvalue()


def test_a_bar_has_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = show(monkeypatch, terminal=True)
    assert "about 0:20 left" in drawn
    assert "3/4" in drawn


def test_lines_have_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tuning: 3 of 4 trials are done, about 0:20 left\n" in show(monkeypatch, terminal=False)
