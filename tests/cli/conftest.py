"""The command line, called as a user would, but in this process."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegate.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def tidegate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """The command in an empty folder and a terminal of 80 columns; only what starts no Spark is given to it here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("TIDEGATE_STORE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["tidegate", *words])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        told = capsys.readouterr()
        assert isinstance(code, int)
        return Ended(code, told.out, told.err)

    return call
