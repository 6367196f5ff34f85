"""A producer in a process of its own, because the driver of a run is busy and Python code uses one core."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

import numpy as np

from tidegate.core import EnvironmentMissing, InvalidInput, TidegateError
from tidegate.jobs import events
from tidegate.kafka.producer import Load, ProducerResult, Progress, Target, produce
from tidegate.workloads import from_spec

#: seconds between two progress reports, and the timeout of start and stop
PERIOD, TIMEOUT = 1.0, 30.0
STOP = "stop"


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """What to produce, as picklable values: `events` are the arguments of `jobs.events`, `workload` is a `spec()`."""

    events: Mapping[str, Any]
    workload: Mapping[str, Any]
    target: Target


class ProducerProcess:
    """A process that prepares itself when created, and produces from `start` until the workload ends or `close`."""

    def __init__(self, spec: ProducerSpec) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._connection, child_end = spawn.Pipe()
        self._process = spawn.Process(target=_run, args=(spec, child_end), name="tidegate-producer", daemon=True)
        self._process.start()
        child_end.close()
        self.progress: Progress | None = None
        self.result: ProducerResult | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def start(self, start_time: float) -> None:
        """Start producing, with the start of the workload at this epoch time."""
        if not self._connection.poll(TIMEOUT):
            raise EnvironmentMissing(f"the producer process was not ready within {TIMEOUT:g} s")
        self.poll()
        self._connection.send(start_time)

    def poll(self) -> None:
        """Read the messages since the last call. Raises the error that ended the process, if any."""
        try:
            while self._connection.poll():
                self._receive(self._connection.recv())
        except (EOFError, OSError):
            if self.result is None:
                code = self._process.exitcode
                raise EnvironmentMissing(f"the producer process ended before its workload (exit {code})") from None

    def close(self) -> ProducerResult | None:
        """Let it flush and end. Returns its result; None if it never started."""
        try:
            self._connection.send(STOP)
            deadline = time.monotonic() + TIMEOUT
            while self.result is None and time.monotonic() < deadline:
                self._connection.poll(0.2)
                self.poll()
        except (TidegateError, OSError):
            pass
        self._process.terminate()
        self._process.join()
        self._connection.close()
        return self.result

    def _receive(self, message: Any) -> None:
        if isinstance(message, TidegateError):
            raise message
        if isinstance(message, ProducerResult):
            self.result = message
        elif isinstance(message, Progress):
            self.progress = message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run(spec: ProducerSpec, parent: Connection) -> None:
    # Ctrl-C and the end of the terminal are handled by the parent, which then stops this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop, last_report = threading.Event(), 0.0

    def report(progress: Progress) -> None:
        nonlocal last_report
        if progress.time - last_report >= PERIOD:
            last_report = progress.time
            parent.send(progress)

    try:
        kind, workload = events(**spec.events), from_spec(spec.workload)
        kind.make(np.arange(1))  # builds its lookup tables before the start
        parent.send("ready")
        start = parent.recv()
        if start == STOP:
            return
        threading.Thread(target=_wait_for_stop, args=(parent, stop), daemon=True).start()
        parent.send(produce(Load(kind, workload, start), spec.target, stop=stop, on_progress=report))
    except InvalidInput as error:
        parent.send(InvalidInput(str(error)))  # the base class, because not all subclasses can be pickled
    except TidegateError as error:
        parent.send(EnvironmentMissing(str(error)))
    except (EOFError, OSError):
        return  # the parent is gone


def _wait_for_stop(parent: Connection, stop: threading.Event) -> None:
    """Stop on any message, or when the parent ends."""
    try:
        parent.recv()
    except (EOFError, OSError):
        pass
    finally:
        stop.set()
