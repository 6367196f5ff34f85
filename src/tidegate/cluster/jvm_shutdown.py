"""Final calls into the JVM that must work even after Ctrl-C."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


def finish(what: str, call: Callable[[], object], patience: float = 60.0) -> None:
    """Make a final call to Spark in a new thread; errors are logged, and after `patience` seconds it is abandoned.

    A thread that was interrupted while waiting for the JVM would take the answer of the interrupted call for that of
    its next call. A new thread has a new connection.
    """
    thread = threading.Thread(target=_quietly, args=(what, call), daemon=True)
    thread.start()
    thread.join(patience)
    if thread.is_alive():
        log.warning("%s has not ended after %g s", what, patience)


def _quietly(what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:
        log.warning("%s: %s", what, error)
