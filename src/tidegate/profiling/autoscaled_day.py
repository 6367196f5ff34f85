"""The autoscaled day: a policy on a trace, simulated with the model that was learnt, against static executors.

How fast the query is at scale is known within an interval. So the day is simulated three times, with models whose pace
at the planned slots is the lower bound, the median and the upper bound of the averaged capacity. The policy does not
know which of them is true. The static executors, as many as the peak needs, are simulated at the median.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.control import drive
from tidegate.core import InvalidInput, Limits, Options
from tidegate.planner.averaging import Interval
from tidegate.planner.needs.day import AutoscaledDay, Outcome
from tidegate.presets import autoscaler, preset
from tidegate.presets.definition import PROFILE
from tidegate.profiling.learnt_model import capacity_of, paced
from tidegate.score.figures import Objective, figures
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import Cumulative
from tidegate.sim.batch_model import BatchModel, Query
from tidegate.sim.microbatch import MicroBatchEngine
from tidegate.workloads import Shape

#: seconds between observations
PERIOD = 15.0
#: capacity of the first executors over the load of the first minute
SPARE, FIRST = 1.2, 60.0
#: triggers of the peak that a batch has at most, as in every other simulation
LARGEST = 4.0
#: of the share of late records, which is never finer than that
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Day:
    """What is simulated: `policy` scales between `minimum` and `maximum` executors. `profile` is for policies that
    take one and have none in `options`.
    """

    load: Shape
    trigger: float
    slo: float
    maximum: int
    minimum: int = 1
    policy: str = "hpa-cpu"
    options: Options = field(default_factory=dict)
    profile: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.minimum <= self.maximum:
            raise InvalidInput(f"autoscaled day: need 1 <= minimum <= {self.maximum} executors, got {self.minimum}")


def autoscaled_day(model: BatchModel, pace: Interval, day: Day) -> AutoscaledDay:
    """`pace` is the capacity of the maximum number of executors.

    >>> from tidegate.workloads import Steps
    >>> day = Day(Steps(3600, levels=(20_000.0, 60_000.0)), trigger=4.0, slo=15.0, maximum=8)
    >>> compared = autoscaled_day(BatchModel("q1", tasks=24, noise=0.0), Interval(75_000, 80_000, 85_000), day)
    >>> compared.static.worker_seconds, compared.scaled.mean < 8
    (28800.0, True)
    """
    options: Mapping[str, Any] = day.options
    if day.profile and PROFILE in preset(day.policy).own and not options.get(PROFILE):
        options = {**options, PROFILE: day.profile}
    weak, usual, strong = (paced(model, day.maximum, day.trigger, rate) for rate in (pace.low, pace.median, pace.high))
    return AutoscaledDay(
        policy=day.policy,
        seconds=float(day.load.duration),
        minimum=day.minimum,
        maximum=day.maximum,
        slo=day.slo,
        static=_outcome(usual, day, "static", {"executors": day.maximum}),
        scaled=_outcome(usual, day, day.policy, options),
        weak=_outcome(weak, day, day.policy, options),
        strong=_outcome(strong, day, day.policy, options),
    )


def _outcome(model: BatchModel, day: Day, policy: str, options: Options) -> Outcome:
    first = day.maximum if policy == "static" else _first(model, day)
    arrivals = Cumulative.of(day.load)
    query = Query(day.trigger, LARGEST * day.trigger * day.load.highest(), load_seconds=day.slo / 2)
    engine = MicroBatchEngine(model, query, arrivals, first, seed=day.seed)
    scaler = autoscaler(policy, Limits(day.minimum, day.maximum), options, slo=day.slo, simulated=True)
    recorder = TraceRecorder(batches=False)
    drive(engine, scaler, engine, (recorder,), period=PERIOD)
    trace = recorder.trace(arrivals=arrivals, until=float(day.load.duration), finished=engine.finished())
    scored = figures(trace, Objective(day.slo))
    if scored.workers is None:
        raise InvalidInput(f"autoscaled day: need a trace of more than {PERIOD:g} s, it has {day.load.duration:g}")
    workers, late = scored.workers, scored.slo.violated
    return Outcome(workers.mean, workers.max, workers.seconds, None if late is None else round(late, DIGITS))


def _first(model: BatchModel, day: Day) -> int:
    """Executors at the start: enough for the first minute."""
    span = min(FIRST, day.load.duration)
    wanted = SPARE * day.load.integral(span) / span
    numbers = range(day.minimum, day.maximum + 1)
    return next((n for n in numbers if capacity_of(model, n, day.trigger) >= wanted), day.maximum)
