"""What `tidegate plan` says beyond a rate: the peak of a trace, recovery, an autoscaled day, and files for others.

Flags are checked before anything is measured (`asked_needs`), and answered from what was measured (`needs_of`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tidegate.capacity import profiletext
from tidegate.cli import values
from tidegate.core import InvalidInput, Options, ProfilePoint, amounts
from tidegate.experiment.settings import Experiment
from tidegate.planner.averaging import AveragedCapacity, Interval
from tidegate.planner.needs.cost import checked_price, executors_for
from tidegate.planner.needs.day import AutoscaledDay
from tidegate.planner.needs.needs import Needs, TracePeak
from tidegate.planner.needs.peak import Peak, absorbed, peak_of
from tidegate.planner.needs.recovery import OUTAGE, RecoveryTarget, plan_recovery
from tidegate.planner.plan import Plan, Refusal, plan
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.presets import parsed_options
from tidegate.profiling.autoscaled_day import PERIOD, Day, autoscaled_day
from tidegate.profiling.learnt_model import learnt_model, paced
from tidegate.profiling.planned_profile import planned_profile
from tidegate.sim import batch_model
from tidegate.sim.batch_model import BatchModel
from tidegate.units import clock
from tidegate.workloads import Shape
from tidegate.workloads.trace import PREFIX, read_trace

#: what scales in the autoscaled day unless another policy is asked for
POLICY = "hpa-cpu"
#: partitions for each slot of the largest cluster, as every run without a number of its own has them
PER_SLOT = 3


@dataclass(frozen=True, slots=True)
class OfferedTrace:
    """A user's trace, and its peak."""

    name: str
    load: Shape
    peak: Peak


@dataclass(frozen=True, slots=True)
class AskedNeeds:
    """Made by `asked_needs`. What nobody asked for is None."""

    slo: float
    trace: OfferedTrace | None = None
    recovery: RecoveryTarget | None = None
    price: float | None = None
    policy: str = POLICY
    options: Options = field(default_factory=dict)

    def highest(self, rate: float) -> float:
        """The capacity that the query may have to grow to, records/s: state partitions are for it."""
        peak = max(rate, self.trace.peak.rate) if self.trace else rate
        recovering = self.recovery.capacity_for(self.trace.peak.rate if self.trace else rate) if self.recovery else 0.0
        return max(peak, recovering if math.isfinite(recovering) else 0.0)


@dataclass(frozen=True, slots=True)
class PlannedNeeds:
    """With the model that was learnt, None without figures of a run, and the profile."""

    needs: Needs
    model: BatchModel | None
    profile: tuple[ProfilePoint, ...]

    @property
    def files(self) -> Mapping[str, str]:
        """To be kept beside the measurements, by name: `--model` and `-p profile=` read them."""
        model = {} if self.model is None else {"model.json": batch_model.text(self.model)}
        return {**model, "profile.csv": profiletext.text(self.profile)}


def asked_needs(
    e: Experiment,
    trace: str | None = None,
    slo: float | None = None,
    recovery: str | None = None,
    outage: str | None = None,
    price: float | None = None,
    policy: str = POLICY,
    options: list[str] | None = None,
) -> AskedNeeds:
    """Flags as they were typed, but `slo` in seconds; without it, it is that of every run. All errors come from here.

    >>> asked_needs(Experiment(engine="sim"), recovery="0s")
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: plan: need --recovery > 0, got 0s
    """
    slo = e.slo if slo is None else slo
    return AskedNeeds(
        slo=slo,
        trace=None if trace is None else _trace(trace, e.trigger, slo),
        recovery=None if recovery is None else _recovery(recovery, outage, e.trigger),
        price=None if price is None else checked_price(price),
        policy=policy,
        options=parsed_options(policy, values.options(options or [])),
    )


def needs_of(
    e: Experiment,
    capacity: AveragedCapacity,
    figures: RunFigures | None,
    answer: Plan | Refusal,
    asked: AskedNeeds,
    partitions: int | None = None,
    no_figures: str = "",
    say: Callable[[str], None] = lambda text: None,
) -> PlannedNeeds:
    """`answer` is the one for the rate, `partitions` are those of the state, if they are planned. `no_figures` says why
    there are none, `say` is called before what takes long.
    """
    offered = asked.trace
    peak = None if offered is None else TracePeak(offered.name, offered.peak, plan(capacity, offered.peak.rate))
    rate = answer.rate if peak is None else peak.peak.rate
    recovery = None if asked.recovery is None else plan_recovery(capacity, rate, asked.recovery)
    needs = Needs(e.cores, answer, peak, recovery)
    executors = executors_for(needs.largest.slots if needs.largest else capacity.largest, e.cores)
    slots, count = executors * e.cores, partitions or capacity.tasks.partitions
    if count is not None and count < slots and needs.largest:
        needs = replace(needs, notes=(_too_few(count, slots),))
    pace = capacity.interval(slots)
    model = None if figures is None else _model(e, figures, capacity, (executors, count), pace)
    profile = planned_profile(capacity, e.cores, e.trigger, executors, model)
    planned = PlannedNeeds(needs, model, profile)
    if offered is None:
        return planned
    reason = _no_day(needs, model, no_figures)
    if reason or model is None:
        return replace(planned, needs=replace(needs, notes=(*needs.notes, f"no autoscaled day: {reason}")))
    say(f"simulating {asked.policy} on {offered.name}, {clock(offered.load.duration)}, with what was learnt")
    day = _day(e, asked, offered, planned, executors, pace)
    return replace(planned, needs=replace(needs, day=day))


def _trace(text: str, trigger: float, slo: float) -> OfferedTrace:
    load = read_trace(text if text.startswith(PREFIX) else PREFIX + text)
    file = text.removeprefix(PREFIX).partition("?")[0]
    place = f"trace {file}"
    if not load.duration > PERIOD:
        raise InvalidInput(f"{place}: need more than {PERIOD:g} s for an autoscaled day, it has {load.duration:g}")
    return OfferedTrace(file.rpartition("/")[2], load, peak_of(load, absorbed(trigger, slo), place))


def _recovery(within: str, outage: str | None, trigger: float) -> RecoveryTarget:
    seconds = amounts.duration(within)
    if not seconds > 0:
        raise InvalidInput(f"plan: need --recovery > 0, got {within}")
    return RecoveryTarget(seconds, OUTAGE if outage is None else amounts.duration(outage), trigger)


def _model(
    e: Experiment, figures: RunFigures, capacity: AveragedCapacity, size: tuple[int, int | None], pace: Interval
) -> BatchModel:
    executors, partitions = size
    slots = executors * e.cores
    count = max(partitions, slots) if partitions else PER_SLOT * slots
    model = paced(learnt_model(e.job, figures, count, _base(e)), executors, e.trigger, pace.median)
    origin = f"{model.origin}, at the pace of {len(capacity.measurements)} measurements with up to {capacity.largest}"
    return replace(model, origin=f"{origin} slots")


def _too_few(partitions: int, slots: int) -> str:
    """State partitions are planned for the rate. The peak, or recovery, may need more slots than they keep busy."""
    return (
        f"{partitions:,} state partitions keep at most {partitions:,} of {slots:,} slots busy: there must be at least "
        f"{slots:,} when the query first starts, as they are fixed from then on"
    )


def _base(e: Experiment) -> BatchModel | None:
    """For what no run of a plan shows, like the start of executors: that of the job, if it has one."""
    if e.model or e.job in batch_model.bundled():
        return batch_model.model(e.model or e.job)
    return None


def _no_day(needs: Needs, model: BatchModel | None, no_figures: str) -> str:
    if needs.peak is None or isinstance(needs.peak.answer, Refusal):
        return "there is no plan for the peak to scale within"
    if model is None:
        return no_figures or "no run showed what a batch takes"
    return ""


def _day(
    e: Experiment, asked: AskedNeeds, offered: OfferedTrace, planned: PlannedNeeds, executors: int, pace: Interval
) -> AutoscaledDay:
    assert planned.model is not None
    day = Day(
        offered.load,
        e.trigger,
        asked.slo,
        executors,
        policy=asked.policy,
        options=asked.options,
        profile=profiletext.text(planned.profile),
        seed=e.seed,
    )
    return autoscaled_day(planned.model, pace, day)
