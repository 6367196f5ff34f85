"""True rates, DS2's notion: what an operator takes in and puts out for each second in which it is busy.

    true processing rate = rate in / busy        true output rate = rate out / busy

(Evaluating autoscalers, DEBS'24, 4.2.) `busy` counts slots, so these are the rates of one slot; the paper's T of an
operator with p workers is p times as much. A slot that waits counts for nothing: that is what makes the rates true.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.core import Observation, check, parameter
from tidegate.stats import Means


@dataclass(frozen=True, slots=True)
class TrueRate:
    """Of one busy slot of an operator; unknown where it was never busy."""

    name: str
    upstream: tuple[str, ...]
    processing: float | None
    output: float | None


def true_rate(rate: float | None, busy: float | None) -> float | None:
    """
    >>> true_rate(3000.0, 1.5), true_rate(0.0, 0.0)
    (2000.0, None)
    """
    return None if rate is None or not busy else finite(rate / busy)


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def optima(rates: Sequence[TrueRate], sources: Mapping[str, float]) -> dict[str, float | None]:
    """Slots for each operator, not rounded, if the sources are to take in so much: equation (3), from the sources down.

        optimum = X * p / T        passed on = O * optimum / p

    with X what all operators upstream pass on. None where there is input and no true rate for it, and below that.

    >>> source = TrueRate("source", (), processing=1000.0, output=500.0)
    >>> window = TrueRate("window", ("source",), processing=100.0, output=1.0)
    >>> optima([source, window], {"source": 2500.0})  # 2.5 slots pass on 1250
    {'source': 2.5, 'window': 12.5}
    """
    found: dict[str, float | None] = {}
    passed: dict[str, float | None] = {}
    waiting = list(rates)
    while ready := [one for one in waiting if all(name in passed for name in one.upstream)]:
        for one in ready:
            target = _sum(passed[name] for name in one.upstream) if one.upstream else sources.get(one.name)
            found[one.name] = _optimum(one, target)
            passed[one.name] = _output(one, found[one.name])
        waiting = [one for one in waiting if one.name not in found]
    return found | dict.fromkeys((one.name for one in waiting), None)  # circles, or fed by what is not there


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _optimum(one: TrueRate, target: float | None) -> float | None:
    if not target:  # no input needs no slots, whatever the true rate
        return target
    return finite(target / one.processing) if one.processing else None


def _output(one: TrueRate, optimum: float | None) -> float | None:
    if not optimum:
        return optimum
    return None if one.output is None else finite(one.output * optimum)


def taken(obs: Observation) -> float | None:
    """Records that the source gave per second while the operators were as busy as they say.

    On Spark figures of stages are those of the batches that came with them, spread over one cycle. Stages stand in a
    row there, though a join's do not, so the records of the batches count and not what one stage passes to the next.
    """
    cycle = max(obs.trigger or 0.0, obs.batch_duration or 0.0)
    records = math.fsum([batch.end - batch.begin for batch in obs.batches])
    if records > 0 and cycle > 0:
        return finite(records / cycle)
    first = [one.rate_in for one in obs.operators if not one.upstream]
    return _sum(first) or obs.processing_rate


@dataclass(slots=True)
class TrueRates:
    """Learns true rates as means over `window` seconds, and as a capacity model what slots that all share can do:

        capacity = executors * cores / (busy slots per record of the source and second)

    This is the most they could do if no slot ever waited; on Spark they do, between stages and between batches.

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
        source = taken(obs)
        figures = {
            one.name: {"in": one.rate_in, "out": one.rate_out, "busy": one.busy, "source": source}
            for one in obs.operators
        }
        cycle = 0.0 if obs.isolated else max(obs.trigger or 0.0, obs.batch_duration or 0.0)
        self._means.update(obs.time, max(self.window, 2 * cycle), figures)  # two batches at least
        self._cores = max([sample.cores for sample in obs.per_executor], default=self._cores)

    def rates(self, obs: Observation) -> tuple[TrueRate, ...]:
        return tuple(self._rate(one.name, one.upstream) for one in obs.operators)

    def _rate(self, name: str, upstream: tuple[str, ...]) -> TrueRate:
        busy = self._means.of(name, "busy")
        processing, output = (true_rate(self._means.of(name, figure), busy) for figure in ("in", "out"))
        return TrueRate(name, upstream, processing, output)

    def rate_in(self, name: str) -> float | None:
        return self._means.of(name, "in")

    def shared(self, names: Iterable[str], target: float) -> dict[str, float | None]:
        """Slots for each stage if the source is to give so much. None where its work per record is not known."""
        found: dict[str, float | None] = {}
        for name in names:
            busy, source = self._means.of(name, "busy"), self._means.of(name, "source")
            work = None if busy is None or not source else busy / source
            found[name] = 0.0 if target == 0 else None if work is None else finite(target * work)
        return found

    def capacity(self, executors: int) -> float | None:
        work = _sum(self.shared(self._means.names, 1.0).values())
        return finite(executors * self._cores / work) if work else None
