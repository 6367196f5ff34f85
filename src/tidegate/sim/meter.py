"""Simulated metrics of operators and workers, with measurement errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tidegate.core import ExecutorSample, OperatorSample
from tidegate.sim.graph import Operator
from tidegate.sim.operatorsettings import OperatorSettings

#: number of errors that are drawn once and then used in turn
DRAWS = 4093


@dataclass(frozen=True, slots=True)
class Work:
    """The actual work of an operator: records/s taken in, the share of time held up, how full its queue was.

    `luck` is the speed of its workers since the last start, relative to the nominal speed.
    """

    rate: float
    held: float
    queue: float | None
    luck: float = 1.0


@dataclass(slots=True)
class Meter:
    """`errors` is an endless sequence of factors around 1, `start` the CPU share of workers that are starting up."""

    start: float
    errors: Iterator[float]

    @classmethod
    def of(cls, settings: OperatorSettings, seed: int) -> Meter:
        return cls(settings.busy_restart, _errors(settings.noise, seed))

    def operator(self, operator: Operator, workers: int, work: Work | None, hot: float) -> OperatorSample:
        """The metrics of an operator. `hot` is the share of the time in which its workers were starting up."""
        if work is None:
            cpu = self.start * hot * workers if self.start else None
            return OperatorSample(operator.name, operator.upstream, workers, cpu=cpu)
        busy, errors = work.rate / (operator.pace(workers) * work.luck), self.errors
        cpu = busy * operator.cpu
        cpu += hot * max(0.0, self.start * workers - cpu)
        return OperatorSample(
            operator.name,
            operator.upstream,
            workers,
            rate_in=work.rate * next(errors),
            rate_out=work.rate * operator.selectivity * next(errors),
            busy=min(float(workers), busy * next(errors)),
            cpu=min(float(workers), cpu * next(errors)),
            backpressured=work.held,
            queue=work.queue,
        )

    def workers(self, operator: Operator, sample: OperatorSample, uptime: float) -> list[ExecutorSample]:
        """The metrics of an operator, divided among its workers."""
        errors, samples = self.errors, []
        for k, share in enumerate(load_shares(operator, sample.parallelism)):
            cpu = None if sample.cpu is None else min(1.0, sample.cpu * share * next(errors))
            busy = None if sample.busy is None else min(1.0, sample.busy * share)
            rate = None if sample.rate_in is None else sample.rate_in * share * next(errors)
            samples.append(ExecutorSample(f"{operator.name}-{k}", None, 1, cpu, busy, rate, uptime))
        return samples


def load_shares(operator: Operator, workers: int) -> list[float]:
    """Share of the load of each worker. The first has more than the others, according to the skew.

    >>> load_shares(Operator("window", 1.0, skew=0.5), 4)
    [0.375, 0.20833333333333334, 0.20833333333333334, 0.20833333333333334]
    """
    if workers == 1:
        return [1.0]
    first = (1 + operator.lean(workers)) / workers
    return [first, *[(1 - first) / (workers - 1)] * (workers - 1)]


def _errors(noise: float, seed: int) -> Iterator[float]:
    draws = Random(seed)
    errors = [max(0.0, draws.gauss(1, noise)) for _ in range(DRAWS)] if noise else [1.0]
    while True:
        yield from errors
