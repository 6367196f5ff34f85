"""How long a job's micro-batches take, how its executors come and go: what a simulated Spark needs to know of a job.

    batch time = fixed + (first + state + what a change of executors adds) * pace
    first      = (overhead * W + cost * records * X * share) * n / speed
    state      = the largest of (overhead * W + cost * records * X * share) / speed over the executors

The tasks of the first stage go to whoever is free: W are their waves over the slots of n executors, X is the part of
the records in the largest sum of tasks of a slot, and `speed` is that of all executors. The tasks of later stages run
where their state is: W and X are those of the partitions that an executor holds (`sim.state_placement`), and the
largest counts. Executors that have just come are slow and get faster with what they do: after `worked` seconds of tasks
they have 1 / (1 + young * exp(-worked / fade)) of their later speed. The machine's own pace varies by `noise`
(`sim.pace`). Seconds, records, shares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from tidegate.capacity.placement import spread
from tidegate.core import InvalidInput, UnknownName, check, parameter
from tidegate.core.reading import parse_json, read_text, shown

#: keys of a model that are no numbers
TEXTS = frozenset({"job", "origin"})
#: keys that are lists of numbers, with the largest value
LISTS = {"shares": 1.0, "startups": 86_400.0, "colds": 86_400.0}
#: what models had before state partitions had shares
FORMER = "skew"
#: a partition that exceeds the mean of the others so many times is hot: it bounds the number of executors that help
HOT = 3.0
#: bounds of a model: a day, and what no cluster has
DAY, MANY = 86_400, 1_000_000


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A job on Spark, in numbers. `tidegate calibrate` fits them to stored runs.

    >>> model = BatchModel("q1", fixed=0.5, overhead=0.0, cost=1e-5, tasks=12)
    >>> model.batch_time(100_000, 1), model.batch_time(100_000, 4), model.batch_time(100_000, 99)
    (1.5, 0.75, 0.5833333333333334)
    """

    job: str
    fixed: float = parameter(0.3, "s", "time of a batch without tasks: planning and commit", least=0, most=DAY)
    overhead: float = parameter(0.02, "s", "time of a wave of tasks apart from records", least=0, most=DAY)
    cost: float = parameter(1e-5, "s", "time of a slot for a record", above=0, most=DAY)
    tasks: int = parameter(12, "", "tasks of each stage: its partitions", least=1, most=MANY)
    stages: int = parameter(1, "", "stages of a batch", least=1, most=MANY)
    #: of the work, what is done in the first stage; and what it passes on for a record
    first: float = parameter(1.0, "share", "of the work in the first stage", least=0, most=1)
    passed: float = parameter(1.0, "", "records that the first stage passes on for each it reads", least=0, most=1e12)
    cores: int = parameter(1, "", "slots of an executor", least=1, most=MANY)
    cpu: float = parameter(0.95, "share", "of a slot's time that its CPU is busy", above=0, most=1)
    idle: float = parameter(0.02, "share", "CPU of an executor without tasks", least=0, most=1)
    startup: float = parameter(4.0, "s", "from asking for an executor until it can be used", least=0, most=DAY)
    leave: float = parameter(
        2.0, "s", "for which executors that must go and have no more tasks are still there", least=0, most=DAY
    )
    cold: float = parameter(
        1.0, "s", "in which a new executor loads and compiles: its first batch waits for it", least=0, most=DAY
    )
    reload: float = parameter(
        0.0, "s", "in which an executor loads the state of a partition, apart from its size", least=0, most=DAY
    )
    load_rate: float = parameter(50e6, "bytes/s", "at which an executor loads state", least=1, most=1e15)
    #: below 0 where it is faster, as under a quota that holds only after a while
    young: float = parameter(
        0.0, "share", "by how much an executor that has done nothing needs more time", above=-1, most=MANY
    )
    fade: float = parameter(60.0, "s", "of work after which 63 % of that has gone", least=0.001, most=MANY)
    noise: float = parameter(0.03, "share", "by how much the machine's pace varies, up and down", least=0, most=0.25)
    state: float = parameter(0.0, "rows", "of state for each record a second", least=0, most=1e12)
    row_bytes: float = parameter(100.0, "bytes", "of state in a row", least=0, most=1e12)
    #: of the records that state partitions get, the share of each; empty if all get the same
    shares: tuple[float, ...] = ()
    #: what `startup` and `cold` were seen to be, as quantiles from least to most; empty if they always are the same
    startups: tuple[float, ...] = ()
    colds: tuple[float, ...] = ()
    #: where the numbers come from
    origin: str = ""

    def __post_init__(self) -> None:
        check(self, f"model of {self.job}")

    @property
    def stateful(self) -> bool:
        """Whether later stages exist, whose tasks run where their state is."""
        return self.stages > 1

    @property
    def ceiling(self) -> int:
        """From so many executors on, more of them do nothing."""
        slots = self.tasks
        if len(self.shares) == self.tasks > 1:
            hot = max(self.shares)
            if hot > HOT * (1 - hot) / (self.tasks - 1):
                slots = math.ceil(1 / hot)
        return -(-slots // self.cores)

    def weights(self) -> tuple[float, ...]:
        """The share of each state partition. For another number of them than was recorded, they are distributed alike:
        more partitions divide the load of the large ones, but a single hot key would stay as it is.
        """
        if len(self.shares) in (0, self.tasks):
            return self.shares or (1 / self.tasks,) * self.tasks
        return _resampled(self.shares, self.tasks)

    def free(self, executors: int) -> tuple[float, float]:
        """Seconds of the first stage without records, and for each record."""
        waves = -(-self.tasks // (executors * self.cores))
        share = self.first if self.stateful else 1.0
        return self.overhead * waves, self.cost * share * waves / self.tasks

    def bound(self, weights: Sequence[float]) -> tuple[float, float]:
        """Seconds of later stages on an executor that holds partitions of these weights, and for each record."""
        if not self.stateful or not weights:
            return 0.0, 0.0
        slot = max(math.fsum(weights) / self.cores, *weights)
        return self.overhead * -(-len(weights) // self.cores), self.cost * (1 - self.first) * slot

    def longest_task(self, records: float) -> float:
        """Seconds of the task of the state partition that has most of the records."""
        return self.cost * (1 - self.first) * records * max(self.weights()) if self.stateful else 0.0

    def parts(self, executors: int) -> tuple[float, float]:
        """Seconds of an empty batch, and for each record, with executors that are not young and the best placement of
        state there could be.
        """
        empty, each = self.free(executors)
        if not self.stateful:
            return self.fixed + empty, each
        weights = sorted(self.weights())
        least = weights[: -(-len(weights) // executors)]  # an executor holds so many at least
        waves, _ = self.bound(least)
        slot = max(math.fsum(least) / self.cores, 1 / (executors * self.cores), weights[-1])
        return self.fixed + empty + waves, each + self.cost * (1 - self.first) * slot

    def placed(self, executors: int) -> tuple[float, float]:
        """Like `parts`, with state where it is placed: as many partitions on each executor, however large they are."""
        empty, each = self.free(executors)
        if not self.stateful:
            return self.fixed + empty, each
        weights: dict[str, list[float]] = {}
        nobody = [(None,)] * self.tasks
        slots = {str(number): self.cores for number in range(executors)}
        for executor, weight in zip(spread(nobody, slots), self.weights(), strict=True):
            weights.setdefault(executor, []).append(weight)
        bounds = [self.bound(held) for held in weights.values()]
        waves, most = max(waves for waves, _ in bounds), max(cost for _, cost in bounds)
        return self.fixed + empty + waves, each + most

    def loading(self, rate: float) -> float:
        """Seconds in which an executor loads the state of a partition at so many records per second."""
        return self.reload + self.partition_bytes(rate) / self.load_rate

    def partition_bytes(self, rate: float) -> float:
        return self.state * rate * self.row_bytes / self.tasks

    def starting(self, quantile: float) -> float:
        """Seconds from asking for an executor until it can be used."""
        return quantile_of(self.startups, quantile, self.startup)

    def warming(self, quantile: float) -> float:
        """Seconds by which the first batch of a new executor is longer."""
        return quantile_of(self.colds, quantile, self.cold)

    @property
    def quickest(self) -> float:
        """The shortest start of an executor."""
        return min(self.startups, default=self.startup)

    def speed(self, worked: float) -> float:
        """Of an executor after so many seconds of tasks, as a share of its later speed."""
        return 1 / (1 + self.young * math.exp(-worked / self.fade))

    def batch_time(self, records: float, executors: int) -> float:
        empty, each = self.parts(executors)
        return empty + each * records

    def capacity(self, executors: int, trigger: float, limit: float) -> float:
        """The largest rate that can be kept up, with batches of at most `limit` records."""
        if executors < 1:
            return 0.0
        return limit / max(trigger, self.batch_time(limit, executors))


@cache
def _resampled(shares: tuple[float, ...], count: int) -> tuple[float, ...]:
    """So many shares with the same distribution, in an order drawn once.

    >>> sorted(_resampled((0.5, 0.25, 0.25), 2), reverse=True), sorted(_resampled((0.75, 0.25), 4))
    ([0.625, 0.375], [0.125, 0.125, 0.375, 0.375])
    """
    ranked = sorted(shares, reverse=True)
    cumulative = [0.0, *accumulate(ranked)]

    def until(share: float) -> float:
        """Of the records, what the largest such share of the partitions has."""
        place = min(int(share * len(ranked)), len(ranked) - 1)
        return cumulative[place] + (share * len(ranked) - place) * ranked[place]

    parts = [round(until((k + 1) / count) - until(k / count), 9) for k in range(count)]
    return tuple(Random(0).sample(parts, count))


def quantile_of(values: Sequence[float], quantile: float, usual: float) -> float:
    """Interpolated between evenly spaced quantiles.

    >>> quantile_of((2.0, 4.0, 8.0), 0.25, usual=5.0), quantile_of((), 0.25, usual=5.0)
    (3.0, 5.0)
    """
    if not values:
        return usual
    place = quantile * (len(values) - 1)
    low = min(int(place), len(values) - 1)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def text(model: BatchModel) -> str:
    return json.dumps(asdict(model), indent=2) + "\n"


def parse(found: str, place: str) -> BatchModel:
    """A model from JSON; unknown keys and values out of bounds are refused with the place."""
    values = parse_json(found, place)
    if not isinstance(values, Mapping) or not isinstance(values.get("job"), str):
        raise InvalidInput(f"{place}: need an object with the key 'job', got {found.strip()[:40]!r}")
    return _model(dict(values), place)


def _model(values: dict[str, Any], place: str) -> BatchModel:
    known = {field.name: field for field in fields(BatchModel)}
    for key, value in values.items():
        if key == FORMER:
            raise InvalidInput(f"{place}: a model of an earlier version, with {key}: fit it again, with calibrate")
        if key not in known:
            raise UnknownName(f"key of the model {place}", key[:60], known)
        if key in TEXTS and not isinstance(value, str):
            raise InvalidInput(f"{place}: need text for {key}, got {shown(value)}")
        if key in LISTS:
            _check_list(key, value, place)
        elif key not in TEXTS and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InvalidInput(f"{place}: need a number for {key}, got {shown(value)}")
        if isinstance(known[key].default, int) and value != int(value):
            raise InvalidInput(f"{place}: need a whole number for {key}, got {value:g}")
    wholes = {key: int(value) for key, value in values.items() if isinstance(known[key].default, int)}
    lists = {key: tuple(values[key]) for key in LISTS if key in values}
    return BatchModel(**{**values, **wholes, **lists})


def _check_list(key: str, values: Any, place: str) -> None:
    if not isinstance(values, list) or any(
        isinstance(value, bool) or not isinstance(value, int | float) for value in values
    ):
        raise InvalidInput(f"{place}: need a list of numbers for {key}, got {shown(values)}")
    for value in values:
        if not 0 <= value <= LISTS[key]:
            raise InvalidInput(f"{place}: need 0 <= {key} <= {LISTS[key]:g}, got {value:g}")
    if key == "shares" and values and not 0.99 <= math.fsum(values) <= 1.01:
        raise InvalidInput(f"{place}: need shares that add up to 1, got {math.fsum(values):g}")
    if key != "shares" and values != sorted(values):
        raise InvalidInput(f"{place}: need {key} from least to most, got {shown(values)}")


def bundled() -> dict[str, str]:
    """The models that come with the project, by job: fitted to runs on real Spark (docs/simulator.md)."""
    folder = files("tidegate.sim") / "models"
    return {one.name.removesuffix(".json"): one.read_text() for one in folder.iterdir() if one.name.endswith(".json")}


@cache
def _bundled(name: str) -> BatchModel | None:
    known = bundled()
    return parse(known[name], f"the model of {name}") if name in known else None


def model(name: str) -> BatchModel:
    """Of a job by its name, or from a file that `tidegate calibrate` wrote."""
    found = _bundled(name)
    if found is not None:
        return found
    path = Path(name)
    if path.suffix != ".json":
        raise UnknownName("model", name, [*sorted(bundled()), "FILE.json"])
    return parse(read_text(path, f"model {name}: cannot be read"), f"model {name}")


#: records: what no batch ever has
UNLIMITED = 1e18


@dataclass(frozen=True, slots=True)
class Query:
    """How a job is run: its trigger, the most records of a batch, and where the grid of triggers begins."""

    trigger: float = 10.0
    limit: float = UNLIMITED
    phase: float = 0.0
    #: seconds after the workload's end until which the query goes on
    drain: float = 0.0
    #: seconds of tasks that the executors of the start have done
    worked: float = math.inf
    #: when an executor dies
    failures: tuple[float, ...] = field(default=())
    #: whether state is spread over the executors, and how much longer a batch may take for what it loads
    spread: bool = True
    load_seconds: float = 5.0
