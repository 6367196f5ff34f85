"""What is wrong with a store, from what SQLite says: decides whether to wait and retry, or to begin a new file."""

from __future__ import annotations

import sqlite3
from enum import StrEnum

from tidegate.core import InvalidInput


class Trouble(StrEnum):
    """Locked, full, read-only and other troubles can pass; a file that is damaged or gone has to be replaced."""

    LOCKED = "locked"
    FULL = "full"
    READ_ONLY = "read-only"
    DAMAGED = "damaged"
    #: deleted or moved away while it was open
    GONE = "gone"
    #: somebody else's file, or written by a later version of Tidegate
    FOREIGN = "foreign"
    #: a statement that this store does not understand
    DEFECT = "defect"
    OTHER = "other"

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed later.

        >>> Trouble.LOCKED.passes, Trouble.DAMAGED.passes
        (True, False)
        """
        return self in {Trouble.LOCKED, Trouble.FULL, Trouble.READ_ONLY, Trouble.OTHER}


class Unusable(InvalidInput):
    """A store that cannot be opened or read, in a sentence that names its file."""

    def __init__(self, message: str, trouble: Trouble) -> None:
        super().__init__(message)
        self.trouble = trouble


#: primary result codes of SQLite
_TROUBLES = {
    sqlite3.SQLITE_BUSY: Trouble.LOCKED,
    sqlite3.SQLITE_LOCKED: Trouble.LOCKED,
    sqlite3.SQLITE_FULL: Trouble.FULL,
    sqlite3.SQLITE_READONLY: Trouble.READ_ONLY,
    sqlite3.SQLITE_PERM: Trouble.READ_ONLY,
    sqlite3.SQLITE_CORRUPT: Trouble.DAMAGED,
    sqlite3.SQLITE_NOTADB: Trouble.DAMAGED,
}
#: extended ones that say more than their primary code
_EXTENDED = {
    sqlite3.SQLITE_IOERR_SHORT_READ: Trouble.DAMAGED,
    # the shared-memory file could not be made larger
    sqlite3.SQLITE_IOERR_SHMSIZE: Trouble.FULL,
    sqlite3.SQLITE_READONLY_DBMOVED: Trouble.GONE,
}


def trouble(error: BaseException) -> Trouble:
    """
    >>> try:
    ...     _ = sqlite3.connect(":memory:").execute("SELECT * FROM runs")
    ... except sqlite3.Error as error:  # the tables of an open store were there before
    ...     trouble(error)
    <Trouble.DAMAGED: 'damaged'>
    >>> trouble(ValueError("odd"))
    <Trouble.OTHER: 'other'>
    """
    if isinstance(error, Unusable):
        return error.trouble
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return Trouble.OTHER
    if code == sqlite3.SQLITE_ERROR:
        return Trouble.DAMAGED if str(error).startswith("no such table") else Trouble.DEFECT
    return _EXTENDED.get(code) or _TROUBLES.get(code & 0xFF, Trouble.OTHER)


def is_damage(error: BaseException) -> bool:
    """Whether the file has to be set aside and replaced."""
    return trouble(error) is Trouble.DAMAGED


def is_locked(error: BaseException) -> bool:
    """Whether another process held a lock for longer than the timeout."""
    return trouble(error) is Trouble.LOCKED
