"""How busy the machine is, from /proc/stat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.profiling import machine_load
from tidegate.profiling.machine_load import CpuTimes, cpu_times, saturated, this_machine


@pytest.mark.parametrize(
    "text", ["", "cpu", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h", "cpu -1 0 0 0 0 0 0 0"]
)
def test_other_texts_say_nothing(text: str) -> None:
    assert cpu_times(text) is None


def test_waiting_for_disks_is_idle_and_what_others_took_is_not() -> None:
    # 50 + 5 + 20 + 1 + 2 + 7 of these and 100 + 15 idle
    assert cpu_times("cpu 50 5 20 100 15 1 2 7 40 0\n") == CpuTimes(busy=85.0, total=200.0)


def test_saturated_is_almost_nothing_left() -> None:
    begin = CpuTimes(0.0, 0.0)
    assert saturated(begin, CpuTimes(97.0, 100.0))
    assert not saturated(begin, CpuTimes(96.0, 100.0))
    assert not saturated(begin, None)
    assert not saturated(None, begin)
    assert not saturated(begin, begin)


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine_load, "STAT", tmp_path / "none")
    assert this_machine() is None
    (tmp_path / "none").write_text("cpu 1 0 1 2 0 0 0 0\n")
    assert this_machine() == CpuTimes(2.0, 4.0)
