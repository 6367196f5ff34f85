"""True rates, as in DS2: input and output records per second of busy time.

    true processing rate = rate in / busy        true output rate = rate out / busy

(Evaluating autoscalers, DEBS'24, 4.2.) `busy` is a number of slots, so these are rates per slot; the paper's T of an
operator with p workers is p times as much. Time in which a slot waits is excluded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.core import Observation, check, parameter
from tidegate.stats import Means


@dataclass(frozen=True, slots=True)
class TrueRate:
    """Rates of one busy slot of an operator; None if it was never busy."""

    name: str
    upstream: tuple[str, ...]
    processing: float | None
    output: float | None


def true_rate(rate: float | None, busy: float | None) -> float | None:
    """Rate per busy slot; None if it is unknown or the operator was idle.

    >>> true_rate(3000.0, 1.5), true_rate(0.0, 0.0)
    (2000.0, None)
    """
    return None if rate is None or not busy else finite(rate / busy)


def finite(value: float) -> float | None:
    """`value`, or None if it overflowed."""
    return value if math.isfinite(value) else None


def optima(rates: Sequence[TrueRate], sources: Mapping[str, float]) -> dict[str, float | None]:
    """Optimal number of slots of each operator, not rounded, for the given source rates: equation (3) of the paper.

        optimum = X * p / T        output = O * optimum / p

    evaluated in topological order, with X the output of all upstream operators. None if an operator has input but no
    true rate, and for everything downstream of it.

    >>> source = TrueRate("source", (), processing=1000.0, output=500.0)
    >>> window = TrueRate("window", ("source",), processing=100.0, output=1.0)
    >>> optima([source, window], {"source": 2500.0})  # 2.5 slots emit 1250/s
    {'source': 2.5, 'window': 12.5}
    """
    slots: dict[str, float | None] = {}
    outputs: dict[str, float | None] = {}
    pending = list(rates)
    while ready := [operator for operator in pending if all(name in outputs for name in operator.upstream)]:
        for operator in ready:
            upstream = operator.upstream
            target = _sum(outputs[name] for name in upstream) if upstream else sources.get(operator.name)
            slots[operator.name] = _optimum(operator, target)
            outputs[operator.name] = _output(operator, slots[operator.name])
        pending = [operator for operator in pending if operator.name not in slots]
    return slots | dict.fromkeys((operator.name for operator in pending), None)  # in a cycle, or upstream is missing


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _optimum(operator: TrueRate, target: float | None) -> float | None:
    if not target:  # no input needs no slots, even if the true rate is unknown
        return target
    return finite(target / operator.processing) if operator.processing else None


def _output(operator: TrueRate, optimum: float | None) -> float | None:
    if not optimum:
        return optimum
    return None if operator.output is None else finite(operator.output * optimum)


def source_rate(obs: Observation) -> float | None:
    """Records per second read from the sources in the period that the operators' busy times refer to.

    On Spark the figures of stages are those of the batches in the same observation, spread over one cycle. Stages are
    reported as a chain even where they are not, as in a join, so the records of the batches are counted, not what one
    stage passes to the next.
    """
    cycle = max(obs.trigger or 0.0, obs.batch_duration or 0.0)
    records = math.fsum([batch.end - batch.begin for batch in obs.batches])
    if records > 0 and cycle > 0:
        return finite(records / cycle)
    source_inputs = [operator.rate_in for operator in obs.operators if not operator.upstream]
    return _sum(source_inputs) or obs.processing_rate


@dataclass(slots=True)
class TrueRates:
    """True rates as means over `window` seconds, and a capacity model of slots shared by all operators:

        capacity = executors * cores / (busy slots per source record per second)

    An upper bound, reached if no slot ever waits; on Spark slots wait between stages and between batches.

    >>> from tidegate.core import OperatorSample
    >>> stages = (OperatorSample("map", rate_in=1000.0, busy=0.5), OperatorSample("sum", ("map",), busy=1.5))
    >>> model = TrueRates()
    >>> model.update(Observation(time=0, executors=4, requested=4, operators=stages))
    >>> model.capacity(3)  # 2 slots for 1000 records/s
    1500.0
    """

    window: float = parameter(15.0, "s", "span over which rates are averaged", above=0)
    _means: Means = field(default_factory=Means, repr=False)
    _cores: int = field(default=1, repr=False)

    def __post_init__(self) -> None:
        check(self, "capacity model true-rates")

    def update(self, obs: Observation) -> None:
        source = source_rate(obs)
        figures = {
            operator.name: {"in": operator.rate_in, "out": operator.rate_out, "busy": operator.busy, "source": source}
            for operator in obs.operators
        }
        cycle = 0.0 if obs.isolated else max(obs.trigger or 0.0, obs.batch_duration or 0.0)
        self._means.update(obs.time, max(self.window, 2 * cycle), figures)  # at least two batches
        self._cores = max([sample.cores for sample in obs.per_executor], default=self._cores)

    def rates(self, obs: Observation) -> tuple[TrueRate, ...]:
        return tuple(self._rate(operator.name, operator.upstream) for operator in obs.operators)

    def _rate(self, name: str, upstream: tuple[str, ...]) -> TrueRate:
        busy = self._means.of(name, "busy")
        processing, output = (true_rate(self._means.of(name, figure), busy) for figure in ("in", "out"))
        return TrueRate(name, upstream, processing, output)

    def rate_in(self, name: str) -> float | None:
        return self._means.of(name, "in")

    def shared(self, names: Iterable[str], target: float) -> dict[str, float | None]:
        """Slots that each stage needs at a source rate of `target`; None if its work per record is unknown."""
        slots: dict[str, float | None] = {}
        for name in names:
            busy, source = self._means.of(name, "busy"), self._means.of(name, "source")
            work = None if busy is None or not source else busy / source
            slots[name] = 0.0 if target == 0 else None if work is None else finite(target * work)
        return slots

    def capacity(self, executors: int) -> float | None:
        work = _sum(self.shared(self._means.names, 1.0).values())
        return finite(executors * self._cores / work) if work else None
