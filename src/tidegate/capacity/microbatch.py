"""How long Spark's micro-batches take, learned from those that finished, and the rate that follows from it.

    batch time = fixed + overhead * W + cost * records * X        s = executors * cores slots
    W = sum of ceil(k / s), X = sum of share * ceil(k / s) / k    over the stages, with k tasks and a share of the work

A stage's tasks run in ceil(k / s) waves, and the last may be half empty: 8 tasks on 5 slots take as long as on 4.
ceil(k / s) / k is 1 / s where waves are full, and 1 / k from k slots on: more slots than tasks do nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tidegate.capacity.shapes import nonnegative
from tidegate.core import Batch, InvalidInput, Observation, check, parameter

#: what is assumed of batches as long as all look alike: shares of their time that are fixed, waves, and records
ASSUMED = (0.15, 0.05, 0.8)
#: the least share that is the records': who saw only small batches must not promise the moon
LEAST_SHARE = 0.05
#: batches of one kind from which older ones fade
MEMORY = 10
#: batches before a rate is told
ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds for each batch, for each wave of tasks, and of one core for each record."""

    fixed: float
    overhead: float
    cost: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Tasks and share of the work of each stage, and the slots of an executor. Without stages one wave is assumed.

    >>> layout = Layout(stages=((8, 1.0),), cores=1)
    >>> layout.waves(4), layout.waves(5), layout.spread(4), layout.spread(5), layout.spread(16)
    (2, 2, 0.25, 0.25, 0.125)
    """

    stages: tuple[tuple[int, float], ...] = ()
    cores: int = 1

    def waves(self, executors: int) -> int:
        slots = executors * self.cores
        return sum(math.ceil(tasks / slots) for tasks, _ in self.stages) or 1

    def spread(self, executors: int) -> float:
        """Core-seconds into seconds: 1 / slots where every slot is busy to the end."""
        slots = executors * self.cores
        return math.fsum(share * math.ceil(tasks / slots) / tasks for tasks, share in self.stages) or 1 / slots

    @property
    def ceiling(self) -> int | None:
        """From this many executors on, more of them do nothing; unknown without stages."""
        return max((math.ceil(tasks / self.cores) for tasks, _ in self.stages), default=None)


def layout(obs: Observation) -> Layout:
    """Stages by their busy time; where none are seen, one with as many tasks as the observation's ceiling allows."""
    cores = max((sample.cores for sample in obs.per_executor), default=1)
    stages = [(one.parallelism, one.busy or 0.0) for one in obs.operators if one.parallelism > 0]
    if not stages and obs.ceiling:
        stages = [(obs.ceiling * cores, 1.0)]
    total = math.fsum(busy for _, busy in stages)
    shares = [busy / total if total > 0 else 1 / len(stages) for _, busy in stages]
    return Layout(tuple((tasks, share) for (tasks, _), share in zip(stages, shares, strict=True)), cores)


@dataclass(frozen=True, slots=True)
class Kind:
    """Batches with as many slots and about as many records: their means, the newest weighing at least 1 / MEMORY."""

    count: int
    waves: float
    #: records * X
    work: float
    duration: float
    #: the number of the batch seen last
    last: int

    def with_batch(self, waves: float, work: float, duration: float, number: int) -> Kind:
        count = min(self.count + 1, MEMORY)
        # a pause of the JVM is no news about the job; what lasts gets through a few batches later
        duration = min(duration, 3 * self.duration) if self.count >= ENOUGH else duration
        new = 1 / count
        return Kind(
            count,
            waves=self.waves + (waves - self.waves) * new,
            work=self.work + (work - self.work) * new,
            duration=self.duration + (duration - self.duration) * new,
            last=number,
        )


def fit(kinds: Sequence[Kind], number: int, prior: float, half_life: float) -> Costs:
    """Costs of at least 0 with the least squares of the relative error, kinds by their weight, with the prior.

    The prior is `prior` batches in which the parts have the shares `ASSUMED`. Where all batches are alike, they
    could be explained in many ways, and it decides; where they differ, it hardly counts.
    """
    faded = np.array([kind.count * 0.5 ** ((number - kind.last) / half_life) for kind in kinds])
    rows = np.array([[1.0, kind.waves, kind.work] for kind in kinds]) / np.array([[kind.duration] for kind in kinds])
    mean = faded @ rows / faded.sum()  # how much of the batch time a unit of each cost makes
    weight = np.sqrt(faded)
    rows = np.vstack([rows * weight[:, None], np.diag(mean) * math.sqrt(prior)])
    target = np.concatenate([weight, np.array(ASSUMED) * math.sqrt(prior)])
    return Costs(*nonnegative(rows, target, least=(0.0, 0.0, LEAST_SHARE / float(mean[2]))))


@dataclass(slots=True)
class MicroBatchModel:
    """A capacity model of micro-batches.

    `capacity` is the largest rate at which batches do not grow for ever. With A the part of the batch time that does
    not depend on records, and B seconds for each, a rate r is steady if some cycle c of at least `trigger` seconds
    has A + B r c <= c. The larger the batches, the less A counts, so the best are the largest allowed:
    N = min(limit, (longest - A) / B) records, and the capacity is N / max(trigger, A + B N); with neither bound 1 / B,
    which is approached and never reached.

    Batches are kept by kind (slots, and records to a factor of 1.4), at most `kinds` of them, so that a long calm does
    not drive out what other sizes have taught, as it would a window or recursive least squares. Batches planned
    within `settle` seconds of a change of executors are left out, and so are those seen with tasks that ran again.

    >>> costs = Costs(fixed=1.0, overhead=0.5, cost=0.01)
    >>> model = MicroBatchModel(limit=1000, _costs=costs, _layout=Layout(((4, 1.0),)))
    >>> model.batch_time(1000, 2), model.capacity(2), model.ceiling  # 1 + 0.5 * 2 + 1000 * 0.01 / 2 = 7 s
    (7.0, 142.85714285714286, 4)
    """

    trigger: float = parameter(0.0, "s", "trigger interval; 0: one batch after the other", least=0)
    limit: float = parameter(0.0, "records", "most records of a batch; 0: no limit", least=0)
    longest: float = parameter(0.0, "s", "longest cycle that is tolerated; 0: any", least=0)
    settle: float = parameter(30.0, "s", "time after a change of executors in which nothing is learned", least=0)
    kinds: int = parameter(64, "", "kinds of batches that are kept", least=1)
    prior: float = parameter(0.1, "batches", "weight of what is assumed of batches that are all alike", above=0)
    half_life: float = parameter(500.0, "batches", "after which a kind not seen again counts half", above=0)
    _kinds: dict[tuple[int, int], Kind] = field(default_factory=dict, repr=False)
    _costs: Costs | None = None
    _layout: Layout = field(default_factory=Layout)
    _batches: int = 0
    #: since when there are this many executors
    _executors: int | None = None
    _since: float = 0.0
    _reruns: int = 0
    #: when the last batch that was looked at was planned
    _planned: float | None = None

    def __post_init__(self) -> None:
        check(self, "micro-batch model")
        if 0 < self.longest < self.trigger:
            told = f"{self.longest:g} < {self.trigger:g}"
            raise InvalidInput(f"micro-batch model: need longest >= trigger, got {told}")

    def update(self, obs: Observation) -> None:
        if obs.executors != obs.requested or obs.executors != self._executors:
            self._executors, self._since = obs.executors, obs.time
        reran, self._reruns = obs.rerun_tasks > self._reruns, obs.rerun_tasks
        seen = layout(obs)
        self._layout = seen if seen.stages else replace(self._layout, cores=seen.cores)
        fresh = [batch for batch in obs.batches if self._planned is None or batch.planned > self._planned]
        self._planned = max((batch.planned for batch in fresh), default=self._planned)
        usable = [
            batch for batch in fresh if batch.planned >= self._since + self.settle and batch.end - batch.begin >= 1
        ]
        if obs.executors < 1 or reran or not usable:
            return
        for batch in usable:
            self._learn(batch, obs.executors)
        if self._batches >= ENOUGH:
            self._costs = fit(list(self._kinds.values()), self._batches, self.prior, self.half_life)

    def _learn(self, batch: Batch, executors: int) -> None:
        records, duration = batch.end - batch.begin, max(batch.finished - batch.planned, 0.001)
        self._batches += 1
        key = executors * self._layout.cores, round(2 * math.log2(records))
        known = self._kinds.get(key) or Kind(0, 0.0, 0.0, 0.0, 0)
        work = records * self._layout.spread(executors)
        self._kinds[key] = known.with_batch(self._layout.waves(executors), work, duration, self._batches)
        if len(self._kinds) > self.kinds:
            del self._kinds[min(self._kinds, key=lambda kind: self._kinds[kind].last)]

    @property
    def costs(self) -> Costs | None:
        return self._costs

    @property
    def ceiling(self) -> int | None:
        return self._layout.ceiling

    def batch_time(self, records: float, executors: int) -> float | None:
        parts = self._parts(executors)
        return None if parts is None else parts[0] + parts[1] * records

    def capacity(self, executors: int) -> float | None:
        parts = self._parts(executors)
        if parts is None:
            return None if executors > 0 else 0.0
        constant, each = parts
        records = min(self.limit or math.inf, ((self.longest or math.inf) - constant) / each)
        if records <= 0:
            return 0.0  # an empty batch takes longer than any may
        return records / max(self.trigger, constant + each * records) if records < math.inf else 1 / each

    def latency(self, rate: float, executors: int) -> float | None:
        """Mean age of a record when its batch is done: half a cycle until it is taken, and the batch.

        None where the rate is above the capacity, or nothing is known.
        """
        parts, capacity = self._parts(executors), self.capacity(executors)
        if parts is None or capacity is None or rate > capacity or rate * parts[1] >= 1:
            return None
        constant, each = parts
        cycle = max(self.trigger, constant / (1 - each * rate))
        return cycle / 2 + constant + each * rate * cycle

    def _parts(self, executors: int) -> tuple[float, float] | None:
        """Seconds of an empty batch, and for each record."""
        if self._costs is None or executors < 1:
            return None
        constant = self._costs.fixed + self._costs.overhead * self._layout.waves(executors)
        return constant, self._costs.cost * self._layout.spread(executors)
