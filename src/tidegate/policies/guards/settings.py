"""The guards that every policy may be given, as options, and the chain that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidegate.core import Guard, check, parameter
from tidegate.policies.guards.arriving import Arriving
from tidegate.policies.guards.caps import Ceiling, Quota
from tidegate.policies.guards.catching_up import CatchingUp
from tidegate.policies.guards.cooldown import Cooldown
from tidegate.policies.guards.effect import Effect
from tidegate.policies.guards.excluded import Excluded, periods
from tidegate.policies.guards.pause import CHOICES, Pause
from tidegate.policies.guards.small import DeadBand, Tolerance
from tidegate.policies.guards.stabilisation import Stabilisation
from tidegate.policies.guards.step import StepLimit


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Options of the guards. What is 0, "none" or empty is off, and that is the default but for two of them.

    >>> [guard.name for guard in GuardSettings().chain()]
    ['arriving', 'ceiling']
    >>> [guard.name for guard in GuardSettings(step_up=4, step_factor=2, down_window=300, pause="in").chain()]
    ['step', 'stabilisation', 'arriving', 'ceiling', 'pause']
    """

    down_window: float = parameter(0.0, "s", "go down to the largest wish of this window only", least=0)
    up_window: float = parameter(0.0, "s", "go up to the smallest wish of this window only", least=0)
    cooldown_up: float = parameter(0.0, "s", "after a rescale, wait before more executors", least=0)
    cooldown_down: float = parameter(0.0, "s", "after a rescale, wait before fewer executors", least=0)
    min_change: float = parameter(0.0, "share", "ignore wishes that differ by less than this share", least=0, most=1)
    dead_band_down: int = parameter(0, "executors", "take no step of this many or fewer downwards", least=0)
    dead_band_up: int = parameter(0, "executors", "take no step of this many or fewer upwards", least=0)
    step_up: int = parameter(0, "executors", "at most this many more at once, or the factor if that is more", least=0)
    step_factor: float = parameter(
        0.0, "", "at most this many times as many at once, or step-up if that is more", least=0, most=1000
    )
    step_down: float = parameter(0.0, "share", "at most this share fewer at once", least=0, most=1)
    catching_up: float = parameter(0.0, "s", "no fewer while the backlog is more than this of arrivals", least=0)
    ceiling: int = parameter(1, "", "1: no more executors than the partitions can keep busy", least=0, most=1)
    core_quota: int = parameter(0, "cores", "never more executors than these cores allow", least=0)
    effect: float = parameter(
        0.0,
        "share",
        "no more executors after a scale-up brought less than this share of what it should",
        least=0,
        most=1,
    )
    effect_hold: float = parameter(600.0, "s", "how long no more are added after one that did not help", above=0)
    arriving: float = parameter(60.0, "s", "wait for executors that were asked for, at most this long", least=0)
    pause: str = parameter("none", "", "no scaling in, no scaling out, or neither", choices=CHOICES)
    excluded: str = parameter("", "UTC", "no rescale within these times, like Mon-Fri 22:00-06:00, 12:00-13:00")

    def __post_init__(self) -> None:
        check(self, "guards")
        periods(self.excluded)  # refuses what it cannot read

    def chain(self, further: Iterable[Guard] = ()) -> tuple[Guard, ...]:
        """New guards, those that are on, and `further` ones where they can neither break a cap nor undo a stop.

        1. Is it worth anything? Small wishes go first, so that no step or window makes a small one of a large one.
        2. How far, how soon? Steps, then windows: what windows remember are steps that could have been taken.
        3. Is it safe? Executors on their way, a backlog, a scale-up that did not help; then what others have written.
        4. Is it possible? Partitions and quotas bound whatever came out of the above.
        5. Cooldown, after the caps: a wish that they turn into a hold is no rescale to wait for.
        6. People last, who must be able to stop anything: the pause, then excluded periods.
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
