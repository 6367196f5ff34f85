"""A producer in a process of its own: a run's driver is busy, and one Python runs on one core."""

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
from tidegate.kafka.producer import Load, Produced, Progress, Target, produce
from tidegate.workloads import from_spec

#: seconds between two words from the producer, and for it to end when asked
PERIOD, PATIENCE = 1.0, 30.0
STOP = "stop"


@dataclass(frozen=True, slots=True)
class Order:
    """What to produce, in plain values: `events` are the arguments of `jobs.events`, `workload` is a `spec()`."""

    events: Mapping[str, Any]
    workload: Mapping[str, Any]
    target: Target


class ProducerProcess:
    """Gets ready when it is made, produces from `go` until the workload's end, or until it is closed."""

    def __init__(self, order: Order) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._ours, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(order, theirs), name="tidegate-producer", daemon=True)
        self._process.start()
        theirs.close()
        self.progress: Progress | None = None
        self.result: Produced | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def go(self, start: float) -> None:
        """Begin, with the workload's beginning at this epoch time; returns when it really does."""
        if not self._ours.poll(PATIENCE):
            raise EnvironmentMissing(f"the producer's process was not ready within {PATIENCE:g} s")
        self.look()
        self._ours.send(start)

    def look(self) -> None:
        """Take in what it said since the last look; raises what ended it."""
        try:
            while self._ours.poll():
                self._take(self._ours.recv())
        except (EOFError, OSError):
            if self.result is None:
                code = self._process.exitcode
                raise EnvironmentMissing(f"the producer's process ended before its workload (exit {code})") from None

    def close(self) -> Produced | None:
        """Let it flush and end; what it did."""
        try:
            self._ours.send(STOP)
            deadline = time.monotonic() + PATIENCE
            while self.result is None and time.monotonic() < deadline:
                self._ours.poll(0.2)
                self.look()
        except (TidegateError, OSError):
            pass
        self._process.terminate()
        self._process.join()
        self._ours.close()
        return self.result

    def _take(self, said: Any) -> None:
        if isinstance(said, TidegateError):
            raise said
        if isinstance(said, Produced):
            self.result = said
        elif isinstance(said, Progress):
            self.progress = said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _work(order: Order, parent: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes us
    stop, last = threading.Event(), 0.0

    def tell(progress: Progress) -> None:
        nonlocal last
        if progress.time - last >= PERIOD:
            last = progress.time
            parent.send(progress)

    try:
        kind, workload = events(**order.events), from_spec(order.workload)
        kind.make(np.arange(1))  # what is looked up later is made now
        parent.send("ready")
        start = parent.recv()
        if start == STOP:
            return
        threading.Thread(target=_listen, args=(parent, stop), daemon=True).start()
        parent.send(produce(Load(kind, workload, start), order.target, stop=stop, tell=tell))
    except InvalidInput as error:
        parent.send(InvalidInput(str(error)))  # whatever its class: not all of them survive the way
    except TidegateError as error:
        parent.send(EnvironmentMissing(str(error)))
    except (EOFError, OSError):
        return  # nobody listens any more


def _listen(parent: Connection, stop: threading.Event) -> None:
    """Any word, or the end of the parent, means stop."""
    try:
        parent.recv()
    except (EOFError, OSError):
        pass
    finally:
        stop.set()
