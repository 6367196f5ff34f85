"""The exclusive right to scale an application: two owners of its executor total would undo each other's changes."""

from __future__ import annotations

import threading

from tidegate.core import InvalidInput

_lock = threading.Lock()
_owners: dict[str, str] = {}


class Ownership:
    """The right to declare an application's total, held until `release`.

    >>> first = Ownership("app-1", "query orders")
    >>> Ownership("app-1", "query clicks")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: query clicks: the executors of app-1 are scaled by query orders already: detach \
that first, or watch with mode="monitor"
    >>> first.release()
    >>> Ownership("app-1", "query clicks").release()
    """

    def __init__(self, application: str, owner: str) -> None:
        with _lock:
            if application in _owners:
                raise InvalidInput(
                    f"{owner}: the executors of {application} are scaled by {_owners[application]} already: detach that"
                    ' first, or watch with mode="monitor"'
                )
            _owners[application] = owner
        self._application: str | None = application

    def release(self) -> None:
        """A second call does nothing."""
        with _lock:
            if self._application is not None:
                _owners.pop(self._application, None)
            self._application = None
