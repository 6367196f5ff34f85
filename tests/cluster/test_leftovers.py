"""Folders of processes that were killed."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.cluster.leftovers import OWNER, claim, sweep
from tidegate.cluster.session import workspace
from tidegate.store.owner import Owner

#: makes a workspace, says where, and waits to be killed
RUN = """
import time
from tidegate.cluster.session import workspace
with workspace() as folder:
    (folder / "local").mkdir()
    (folder / "local" / "shuffle").write_text("data")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.parent == tmp_path
        assert sweep(tmp_path) == []
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (folder / "local" / "shuffle").exists()
        assert sweep(tmp_path) == [folder]
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def gone() -> str:
    return replace(Owner.here(), started=Owner.here().started + 1).text()


def test_a_workspace_sweeps_and_removes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "tidegate-left"
    left.mkdir()
    (left / OWNER).write_text(gone())
    with workspace() as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert [path.name for path in folder.iterdir()] == [OWNER]
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_or_not_left_stays(tmp_path: Path) -> None:
    alive, unowned, odd, other, plain = (tmp_path / f"tidegate-{n}" for n in ("a", "b", "c", "d", "e"))
    for folder in (alive, unowned, odd, other):
        folder.mkdir()
    claim(alive)
    (odd / OWNER).write_text("no JSON")
    (other / OWNER).write_text(replace(Owner.here(), host="elsewhere", started=0).text())
    plain.write_text("a file")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / OWNER).write_text(gone())
    (tmp_path / "tidegate-link").symlink_to(mine)
    before = sorted(tmp_path.rglob("*"))
    assert sweep(tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_with_a_linked_owner_stays(tmp_path: Path) -> None:
    (tmp_path / "owner").write_text(gone())
    folder = tmp_path / "tidegate-x"
    folder.mkdir()
    (folder / OWNER).symlink_to(tmp_path / "owner")
    assert sweep(tmp_path) == []
