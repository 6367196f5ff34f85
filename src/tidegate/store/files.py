"""The files of a store: whose they are, where they may be made, and how a damaged one makes room for a new one.

Nothing of somebody else is ever written to. Looking at a file does not change it either, nor what lies beside it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE
from tidegate.store.schema import APPLICATION_ID, KNOWN, MARK, MIGRATIONS
from tidegate.store.troubles import Trouble, Unusable, is_damage, trouble

MAGIC = b"SQLite format 3\0"
#: where the header has the page size, a power of two or 1 for 65,536, and the application id
PAGE_AT, ID_AT = slice(16, 18), slice(68, 72)
#: what SQLite keeps beside a database
SIDECARS = ("", "-wal", "-shm")
#: of a store whose header is damaged: the mark of this version, or a table as the first versions wrote it
SIGNS = (MARK.encode(), b"CREATE TABLE runs (\n        id TEXT PRIMARY KEY, created REAL NOT NULL, status TEXT")
#: damaged files that are kept, the newest ones
ASIDE = 3
#: Closing a file drops all locks that this process has on it, those of SQLite too. So nobody here looks at a file while
#: another thread opens it.
OPENING = threading.RLock()


class Found(StrEnum):
    """What is at a path: nothing (or an empty file), a store, somebody else's file, or a store that is damaged."""

    MISSING = "missing"
    OURS = "ours"
    FOREIGN = "foreign"
    DAMAGED = "damaged"


def inspect(path: str | Path, timeout: float = 1.0) -> Found:
    """Whose file this is, without changing anything. Raises `Unusable` if that cannot be seen now."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Found.MISSING
    except OSError as error:
        raise unusable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        return Found.FOREIGN
    if not found.st_size:
        return Found.MISSING
    try:
        with OPENING:
            return _inspect_file(Path(path), found, timeout)
    except OSError as error:
        raise unusable(path, error) from None


def _inspect_file(path: Path, found: os.stat_result, timeout: float) -> Found:
    here = _is_open_here(found)
    if not here:
        header = _header(path)
        if not header.startswith(MAGIC):
            return Found.DAMAGED if _has_sign(path) else Found.FOREIGN
        if _is_another_kind(header):
            return Found.FOREIGN
        if _has_log(path) and not os.path.exists(f"{path}-shm"):
            # left by a process that was killed; to read it, SQLite would have to make a file beside it
            return Found.OURS if _has_sign(path) else Found.FOREIGN
    try:
        return _inspect_tables(path, here or _has_log(path), timeout)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise unusable(path, error) from None
        return Found.DAMAGED if _has_sign(path) else Found.FOREIGN


def _is_another_kind(header: bytes) -> bool:
    """Whether a whole header has the application id of something else."""
    page = int.from_bytes(header[PAGE_AT], "big")
    whole = page == 1 or (page >= 512 and page.bit_count() == 1)
    return whole and int.from_bytes(header[ID_AT], "big") not in {0, APPLICATION_ID}


def _is_open_here(found: os.stat_result) -> bool:
    """Whether this process has the file open."""
    for descriptor in _descriptors():
        try:
            other = os.fstat(descriptor)
        except OSError:
            continue
        if os.path.samestat(found, other):
            return True
    return False


def _descriptors() -> list[int]:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return [int(name) for name in os.listdir(folder)]
        except (OSError, ValueError):
            continue
    return []


def _header(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(100)


def _has_log(path: Path) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


def _has_sign(path: Path, chunk: int = 1 << 20) -> bool:
    """Whether a file, or its log, has a text that only a store has; in whole pages, as those of a database are."""
    longest = max(map(len, SIGNS))
    for name in (path, Path(f"{path}-wal")):
        if not name.exists() or (name == path and name.stat().st_size % 512):
            continue
        with open(name, "rb") as file:
            tail = b""
            while read := file.read(chunk):
                if any(sign in tail + read for sign in SIGNS):
                    return True
                tail = read[-longest:]
    return False


def _inspect_tables(path: Path, read_only: bool, timeout: float) -> Found:
    """A file without a log is taken as it is: then SQLite makes no other file beside it."""
    mode = "mode=ro" if read_only else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=timeout)) as db:
        marked = _number(db, "application_id")
        tables = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if marked not in {0, APPLICATION_ID}:
            return Found.FOREIGN
        if not tables and (marked or not _number(db, "user_version")):
            # a store whose first process ended before it had made the tables
            return Found.OURS
        if marked and _number(db, "user_version") > len(MIGRATIONS):
            # its tables are not known here; opening it is refused
            return Found.OURS
        if not _has_tables(db, tables):
            return Found.DAMAGED if marked else Found.FOREIGN
        for table, number in (("runs", "rowid"), ("ticks", "number"), ("blocks", "last")):
            if table in tables:
                db.execute(f"SELECT max({number}), min({number}) FROM {table}").fetchone()
        return Found.OURS


def _has_tables(db: sqlite3.Connection, tables: set[str]) -> bool:
    return tables >= KNOWN.keys() and all(
        columns <= {str(name) for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
        for table, columns in KNOWN.items()
    )


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


def make_ready(path: Path, timeout: float) -> None:
    """Check that a file can become or is a store, and make it, for its owner only, if it is not there."""
    match inspect(path, timeout):
        case Found.FOREIGN:
            what = "it is a folder" if path.is_dir() else "it is somebody else's file, and is left as it is"
            raise Unusable(_sentence(path, what), Trouble.FOREIGN)
        case Found.DAMAGED:
            raise Unusable(_sentence(path, "it is damaged; move it away to begin a new one"), Trouble.DAMAGED)
        case Found.MISSING:
            _make(path)


def _make(path: Path) -> None:
    folder = path.parent
    try:
        if not folder.exists() and folder.absolute() == STORE.parent.absolute():
            folder.mkdir(mode=0o700)
        if not folder.is_dir():
            raise Unusable(_sentence(path, f"there is no folder {folder}"), Trouble.OTHER)
        # SQLite gives the files beside it the same mode
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise unusable(path, error) from None


def set_aside(path: str | Path, *, known: bool = False) -> Path:
    """Rename a store with its log to `NAME.damaged-YYYYmmdd-HHMMSS` and return that path. The newest three stay.

    Whoever has it open writes on into the renamed file: see `Store.still_there`. A file that is `known` to be ours,
    because it was opened as a store, may be overwritten beyond recognition.
    """
    path = Path(path)
    if not known and inspect(path) is Found.FOREIGN:
        raise InvalidInput(f"{path} is no store of Tidegate's, and is left as it is")
    aside = _free_name(path)
    try:
        for suffix in reversed(SIDECARS):  # the database last: a store without its log could be taken for a whole one
            if os.path.lexists(f"{path}{suffix}"):
                os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    except OSError as error:
        raise InvalidInput(f"cannot set {path} aside: {error.strerror}") from None
    _forget_old(path)
    return aside


def _free_name(path: Path) -> Path:
    stem = f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (path.with_name(f"{stem}-{n}" if n else stem) for n in range(1000))
    return next(name for name in names if not name.exists())


def _forget_old(path: Path) -> None:
    begin = f"{path.name}.damaged-"
    aside = [p for p in path.parent.iterdir() if p.name.startswith(begin) and not p.name.endswith(SIDECARS[1:])]
    # renaming a file changes its status, so that this is when it was set aside
    for old in sorted(aside, key=lambda p: p.stat().st_ctime_ns)[:-ASIDE]:
        for suffix in SIDECARS:
            Path(f"{old}{suffix}").unlink(missing_ok=True)


def identity(path: str | Path) -> tuple[int, int] | None:
    """Device and number of the file at a path; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _sentence(path: str | Path, why: object) -> str:
    return f"cannot use {path} as a store of runs: {why}"


def unusable(path: str | Path, error: OSError | sqlite3.Error) -> Unusable:
    """What the system or SQLite said of a store, as a sentence that names it."""
    if isinstance(error, sqlite3.Error):
        return Unusable(_sentence(path, error), trouble(error))
    why = Trouble.READ_ONLY if isinstance(error, PermissionError) else Trouble.OTHER
    return Unusable(_sentence(path, error.strerror or error), why)
