"""Collects the progress reports of one query without delaying it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener


class ProgressListener(StreamingQueryListener):
    """The query waits for the callbacks, so they only append and set flags; parsing is left to the reader's thread."""

    def __init__(self, run_id: str, *boundaries: threading.Event) -> None:
        self._run_id = run_id
        self._reports: deque[str] = deque(maxlen=10_000)
        #: set at the end of each batch, when no task of the query runs
        self.boundaries = boundaries
        self.ended = threading.Event()

    def follow(self, run_id: str) -> None:
        """Collect the reports of another run of the query from now on."""
        self._run_id = run_id
        self.ended.clear()

    def onQueryStarted(self, event: Any) -> None:
        """Nothing to do."""

    def onQueryProgress(self, event: Any) -> None:
        if str(event.progress.runId) == self._run_id:
            self._reports.append(event.progress.json)
            self._wake()

    def onQueryIdle(self, event: Any) -> None:
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:
        if str(event.runId) == self._run_id:
            self.ended.set()
            self._wake()

    def _wake(self) -> None:
        for boundary in self.boundaries:
            boundary.set()

    def drain(self) -> list[str]:
        """The reports since the last call."""
        reports = []
        while self._reports:
            reports.append(self._reports.popleft())
        return reports
