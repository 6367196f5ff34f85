"""Folders of runs that could not remove them, because their process was killed. The next run does."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from tidegate.store.owner import Owner

PREFIX = "tidegate-"
#: file in a folder that names the process it belongs to
OWNER = ".tidegate-owner.json"


def claim(folder: Path) -> None:
    """Say in a folder that it belongs to this process."""
    (folder / OWNER).write_text(Owner.here().text(), encoding="utf-8")


def sweep(root: Path | None = None) -> list[Path]:
    """Remove the folders of this user whose process on this machine is gone, and return them.

    Folders without an owner, of other users, machines and containers stay, and so do links.
    """
    place = Path(tempfile.gettempdir()) if root is None else root
    removed = []
    with contextlib.suppress(OSError):
        for folder in sorted(place.glob(f"{PREFIX}*")):
            if _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
    return removed


def _is_left(folder: Path) -> bool:
    try:
        mine = all(os.lstat(path).st_uid == os.getuid() for path in (folder, folder / OWNER))
        if not mine or not stat.S_ISDIR(os.lstat(folder).st_mode) or not stat.S_ISREG(os.lstat(folder / OWNER).st_mode):
            return False
        owner = Owner.parse((folder / OWNER).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return owner is not None and owner.is_gone() is True
