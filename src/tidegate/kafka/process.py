"""A producer in a process of its own, because the driver of a run is busy and Python code uses one core."""

from __future__ import annotations

import multiprocessing
import select
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Protocol, Self

import numpy as np

from tidegate.core import EnvironmentMissing, InvalidInput, TidegateError
from tidegate.jobs import Events, events
from tidegate.kafka.producer import Load, Offer, Offers, OnProgress, ProducerResult, Progress, Target, produce
from tidegate.workloads import Shape, from_spec

#: seconds between two progress reports, and the timeout of start and stop
PERIOD, TIMEOUT = 0.25, 30.0
STOP = "stop"


class Order(Protocol):
    """What to produce, as picklable values. One that is `open` takes further workloads and never ends by itself."""

    @property
    def target(self) -> Target: ...
    @property
    def open(self) -> bool: ...
    def kind(self) -> Events: ...
    def load(self) -> Shape: ...


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """Events of a job under one workload: `events` are the arguments of `jobs.events`, `workload` is a `spec()`."""

    events: Mapping[str, Any]
    workload: Mapping[str, Any]
    target: Target
    open: bool = False

    def kind(self) -> Events:
        return events(**self.events)

    def load(self) -> Shape:
        return from_spec(self.workload)


class ProducerProcess:
    """A process that prepares itself when created, and produces from `start` until the workload ends or `close`."""

    def __init__(self, spec: Order) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._connection, child_end = spawn.Pipe()
        self._process = spawn.Process(target=_run, args=(spec, child_end), name="tidegate-producer", daemon=True)
        self._process.start()
        child_end.close()
        self._error: TidegateError | None = None
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

    def offer(self, load: Shape, since: float) -> None:
        """Produce under another workload, from this epoch time on. Only if the order is open."""
        try:
            self._connection.send(Offer(since, load))
        except OSError:
            self.poll()
            raise EnvironmentMissing("the producer process has ended: no load can be offered") from None

    def poll(self, on_progress: OnProgress = lambda progress: None) -> None:
        """Read the messages since the last call. Raises the error that ended the process, if any, each time."""
        if self._error is not None:
            raise self._error
        try:
            while self._connection.poll():
                message = self._connection.recv()
                self._receive(message)
                if isinstance(message, Progress):
                    on_progress(message)
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
            self._error = message
            raise message
        if isinstance(message, ProducerResult):
            self.result = message
        elif isinstance(message, Progress):
            self.progress = message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run(spec: Order, parent: Connection) -> None:
    # Ctrl-C and the end of the terminal are handled by the parent, which then stops this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop, last_report = threading.Event(), 0.0
    offers: Offers | None = SimpleQueue() if spec.open else None

    def report(progress: Progress) -> None:
        nonlocal last_report
        # a parent that does not read for long must not stop the producer
        if progress.time - last_report >= PERIOD and select.select([], [parent], [], 0)[1]:
            last_report = progress.time
            parent.send(progress)

    try:
        kind, workload = spec.kind(), spec.load()
        kind.make(np.arange(1))  # builds its lookup tables before the start
        parent.send("ready")
        start = parent.recv()
        if start == STOP:
            return
        threading.Thread(target=_listen, args=(parent, stop, offers), daemon=True).start()
        load = Load(kind, workload, start)
        parent.send(produce(load, spec.target, stop=stop, on_progress=report, offers=offers))
    except InvalidInput as error:
        parent.send(InvalidInput(str(error)))  # the base class, because not all subclasses can be pickled
    except TidegateError as error:
        parent.send(EnvironmentMissing(str(error)))
    except (EOFError, OSError):
        return  # the parent is gone


def _listen(parent: Connection, stop: threading.Event, offers: Offers | None) -> None:
    """Pass offers on. Stop on any other message, or when the parent ends."""
    try:
        while isinstance(message := parent.recv(), Offer) and offers is not None:
            offers.put(message)
    except (EOFError, OSError):
        pass
    finally:
        stop.set()
