"""What meters show of operators and workers at work, with the errors that meters have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tidegate.core import ExecutorSample, OperatorSample
from tidegate.sim.graph import Operator
from tidegate.sim.operatorsettings import OperatorSettings

#: errors are drawn once, and taken in turn
DRAWS = 4093


@dataclass(frozen=True, slots=True)
class Work:
    """What an operator did while it ran: records/s taken in, the share of time held up, how full its queue was.

    `luck` is how fast its workers are since this start, for what they should be.
    """

    rate: float
    held: float
    queue: float | None
    luck: float = 1.0


@dataclass(slots=True)
class Meter:
    """`errors` are factors around one, for ever; `start` is the CPU share that workers show while they start."""

    start: float
    errors: Iterator[float]

    @classmethod
    def of(cls, settings: OperatorSettings, seed: int) -> Meter:
        return cls(settings.busy_restart, _errors(settings.noise, seed))

    def operator(self, one: Operator, workers: int, work: Work | None, hot: float) -> OperatorSample:
        """`hot` is the share of the time in which the workers were starting."""
        if work is None:
            cpu = self.start * hot * workers if self.start else None
            return OperatorSample(one.name, one.upstream, workers, cpu=cpu)
        busy, errors = work.rate / (one.pace(workers) * work.luck), self.errors
        cpu = busy * one.cpu
        cpu += hot * max(0.0, self.start * workers - cpu)
        return OperatorSample(
            one.name,
            one.upstream,
            workers,
            rate_in=work.rate * next(errors),
            rate_out=work.rate * one.selectivity * next(errors),
            busy=min(float(workers), busy * next(errors)),
            cpu=min(float(workers), cpu * next(errors)),
            backpressured=work.held,
            queue=work.queue,
        )

    def workers(self, one: Operator, sample: OperatorSample, uptime: float) -> list[ExecutorSample]:
        """Those of an operator: what it shows as a whole, in parts."""
        errors, found = self.errors, []
        for k, part in enumerate(parts(one, sample.parallelism)):
            cpu = None if sample.cpu is None else min(1.0, sample.cpu * part * next(errors))
            busy = None if sample.busy is None else min(1.0, sample.busy * part)
            rate = None if sample.rate_in is None else sample.rate_in * part * next(errors)
            found.append(ExecutorSample(f"{one.name}-{k}", None, 1, cpu, busy, rate, uptime))
        return found


def parts(one: Operator, workers: int) -> list[float]:
    """What each worker has of the load: the first more than the others, by the skew.

    >>> parts(Operator("window", 1.0, skew=0.5), 4)
    [0.375, 0.20833333333333334, 0.20833333333333334, 0.20833333333333334]
    """
    if workers == 1:
        return [1.0]
    first = (1 + one.lean(workers)) / workers
    return [first, *[(1 - first) / (workers - 1)] * (workers - 1)]


def _errors(noise: float, seed: int) -> Iterator[float]:
    draws = Random(seed)
    drawn = [max(0.0, draws.gauss(1, noise)) for _ in range(DRAWS)] if noise else [1.0]
    while True:
        yield from drawn
