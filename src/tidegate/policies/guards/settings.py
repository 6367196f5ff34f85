"""The guards that can be added to every policy, as options, and the chain they form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidegate.core import Guard, Options, check, parameter
from tidegate.policies.guards.arriving import Arriving
from tidegate.policies.guards.caps import Ceiling, Quota
from tidegate.policies.guards.catching_up import CatchingUp
from tidegate.policies.guards.cooldown import Cooldown
from tidegate.policies.guards.effect import Effect
from tidegate.policies.guards.excluded import Excluded, periods
from tidegate.policies.guards.late import Late
from tidegate.policies.guards.pause import CHOICES, Pause
from tidegate.policies.guards.small import DeadBand, Tolerance
from tidegate.policies.guards.stabilisation import Stabilisation
from tidegate.policies.guards.stalled import Stalled
from tidegate.policies.guards.step import StepLimit
from tidegate.policies.guards.uneven import Uneven


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Options of the guards. 0, "none" or an empty text turns a guard off, which is the default for all but four.
    `live_defaults` turns on two more for a policy that acts on a query.

    >>> [guard.name for guard in GuardSettings().chain()]
    ['arriving', 'uneven', 'stalled', 'ceiling']
    >>> [guard.name for guard in GuardSettings(step_up=4, step_factor=2, down_window=300, pause="in").chain()]
    ['step', 'stabilisation', 'arriving', 'uneven', 'stalled', 'ceiling', 'pause']
    """

    down_window: float = parameter(0.0, "s", "scale in only to the largest wish of this window", least=0)
    up_window: float = parameter(0.0, "s", "scale out only to the smallest wish of this window", least=0)
    cooldown_up: float = parameter(0.0, "s", "after a rescale, wait before a scale-out", least=0)
    cooldown_down: float = parameter(0.0, "s", "after a rescale, wait before a scale-in", least=0)
    min_change: float = parameter(0.0, "share", "ignore wishes that differ by less than this share", least=0, most=1)
    dead_band_down: int = parameter(0, "executors", "no scale-in by this many or fewer", least=0)
    dead_band_up: int = parameter(0, "executors", "no scale-out by this many or fewer", least=0)
    step_up: int = parameter(0, "executors", "at most this many more at once, or the factor if that is more", least=0)
    step_factor: float = parameter(
        0.0, "", "at most this many times as many at once, or step-up if that is more", least=0, most=1000
    )
    step_down: float = parameter(0.0, "share", "at most this share fewer at once", least=0, most=1)
    late: float = parameter(0.0, "s", "no scale-in while the last batch's latency is above this", least=0, live="SLO")
    catching_up: float = parameter(
        0.0, "s", "no scale-in while the backlog is more than this of arrivals", least=0, live="SLO / 2"
    )
    stalled: int = parameter(1, "", "1: no scale-in while an executor does not respond", least=0, most=1)
    ceiling: int = parameter(1, "", "1: no more executors than the partitions can keep busy", least=0, most=1)
    core_quota: int = parameter(0, "cores", "never more executors than these cores allow", least=0)
    effect: float = parameter(
        0.0,
        "share",
        "no scale-out after one that achieved less than this share of the expected gain",
        least=0,
        most=1,
    )
    effect_hold: float = parameter(600.0, "s", "how long there is no scale-out after one that did not help", above=0)
    arriving: float = parameter(60.0, "s", "wait for executors that were asked for, at most this long", least=0)
    uneven: float = parameter(60.0, "s", "wait for state to spread over the executors, at most this long", least=0)
    pause: str = parameter("none", "", "no scaling in, no scaling out, or neither", choices=CHOICES)
    excluded: str = parameter("", "UTC", "no rescale in these periods, e.g. Mon-Fri 22:00-06:00, 12:00-13:00")

    def __post_init__(self) -> None:
        check(self, "guards")
        periods(self.excluded)  # raises if a period is invalid

    def chain(self, further: Iterable[Guard] = ()) -> tuple[Guard, ...]:
        """New instances of all enabled guards, with the `further` ones placed before caps and stops, which they can
        therefore not override.

        1. Is the change large enough? This comes first, because after a step limit every change is small.
        2. How far and how soon? Steps before windows, so that windows remember steps that could have been taken.
        3. Is it safe? Executors that are missing, uneven or stalled, late records, a backlog, a scale-up that did not
           help; then the guards of plug-ins.
        4. Is it possible? Partitions and quotas limit the result of all the above.
        5. Cooldown after the caps, because a wish that a cap turns into a hold is not a rescale.
        6. The user last, who must be able to stop anything: the pause, then excluded periods.
        """
        return (*self._shape(), *self._safety(), *further, *self._caps(), *self._stops())

    def _shape(self) -> Iterator[Guard]:
        if self.min_change:
            yield Tolerance(self.min_change)
        if self.dead_band_down or self.dead_band_up:
            yield DeadBand(self.dead_band_down, self.dead_band_up)
        if self.step_up or self.step_factor or self.step_down:
            yield StepLimit(self.step_up, self.step_factor, self.step_down)
        if self.down_window or self.up_window:
            yield Stabilisation(self.down_window, self.up_window)

    def _safety(self) -> Iterator[Guard]:
        if self.arriving:
            yield Arriving(self.arriving)
        if self.uneven:
            yield Uneven(self.uneven)
        if self.stalled:
            yield Stalled()
        if self.late:
            yield Late(self.late)
        if self.catching_up:
            yield CatchingUp(self.catching_up)
        if self.effect:
            yield Effect(self.effect, self.effect_hold)

    def _caps(self) -> Iterator[Guard]:
        if self.ceiling:
            yield Ceiling()
        if self.core_quota:
            yield Quota(self.core_quota)

    def _stops(self) -> Iterator[Guard]:
        if self.cooldown_up or self.cooldown_down:
            yield Cooldown(self.cooldown_up, self.cooldown_down)
        if self.pause != "none":
            yield Pause(self.pause)
        if periods(self.excluded):
            yield Excluded(self.excluded)


def live_defaults(slo: float) -> Options:
    """Defaults where a policy acts on a query whose records may take `slo` seconds: no scale-in while they take longer,
    or are about to.

    >>> live_defaults(10.0)
    {'late': 10.0, 'catching-up': 5.0}
    """
    return {"late": slo, "catching-up": slo / 2}
