"""The profile of a query that was planned, for policies that take one (`phoebe`, `twres`), without profiling runs.

Measured capacities are saturated points. Beyond the testbed, up to the most executors that may be needed, there are the
medians of the averaged capacity, so that a policy and the plan agree. Latencies were not measured at rates below
capacity; they are those of the learnt model, up to the share of capacity from which on a policy should have more.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.core import ProfilePoint
from tidegate.planner.averaging import AveragedCapacity
from tidegate.sim.batch_model import BatchModel

#: of the capacity, the rates whose latency is in the profile
SHARES = (0.4, 0.7, 0.9)
#: most numbers of executors beyond the testbed
NUMBERS = 8
#: triggers that a record takes at capacity: it waits for one, and its batch lasts for one
FULL = 2.0


def planned_profile(
    capacity: AveragedCapacity, cores: int, trigger: float, most: int, model: BatchModel | None = None
) -> tuple[ProfilePoint, ...]:
    """`most` is the largest number of executors. Without a model there are capacities alone.

    >>> from tidegate.planner.averaging import average
    >>> from tidegate.planner.measurement import Measurement
    >>> capacity = average([Measurement(s, 512, 1000.0 * s) for s in (2, 4)])
    >>> planned_profile(capacity, cores=2, trigger=4.0, most=2)
    (ProfilePoint(executors=1, rate=2000.0, latency=8.0, saturated=True), \
ProfilePoint(executors=2, rate=4000.0, latency=8.0, saturated=True))
    """
    saturated = [*_measured(capacity, cores, trigger), *_expected(capacity, cores, trigger, most)]
    known = {point.executors: point.rate for point in saturated}
    return (*saturated, *(() if model is None else _latencies(model, trigger, known)))


def latency(model: BatchModel, executors: int, trigger: float, rate: float) -> float:
    """The age of the oldest record of a batch when it is done, at a constant rate below the capacity.

    >>> latency(BatchModel("q1", fixed=1.0, overhead=0.0, cost=1e-4, tasks=12), 4, trigger=4.0, rate=20_000)
    7.0
    """
    # 80,000 records take 1 + 8 / 4 s after up to 4 s of waiting
    empty, each = model.placed(executors)
    batch = empty + each * rate * trigger
    if batch > trigger and each * rate < 1:  # batches without pauses grow until they hold what arrives meanwhile
        batch = empty / (1 - each * rate)
    return max(trigger, batch) + batch


def _measured(capacity: AveragedCapacity, cores: int, trigger: float) -> Iterator[ProfilePoint]:
    for measurement in sorted(capacity.measurements, key=lambda m: m.slots):
        if measurement.memory == capacity.memory and measurement.slots % cores == 0:
            yield ProfilePoint(measurement.slots // cores, measurement.rate, FULL * trigger, saturated=True)


def _expected(capacity: AveragedCapacity, cores: int, trigger: float, most: int) -> Iterator[ProfilePoint]:
    largest = capacity.largest // cores
    numbers = range(largest + 1, most + 1)
    step = max(1, -(-len(numbers) // NUMBERS))
    for executors in reversed(numbers[::-1][::step]):
        rate = capacity.interval(executors * cores).median
        yield ProfilePoint(executors, float(f"{rate:.6g}"), FULL * trigger, saturated=True)


def _latencies(model: BatchModel, trigger: float, capacities: dict[int, float]) -> Iterator[ProfilePoint]:
    for executors, rate in capacities.items():
        for share in SHARES:
            offered = share * rate
            seconds = latency(model, executors, trigger, offered)
            yield ProfilePoint(executors, float(f"{offered:.6g}"), round(seconds, 3))
