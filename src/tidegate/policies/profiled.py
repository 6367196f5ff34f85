"""What the policies with a profile have in common: the profile of the job, updated while it runs, and a forecast."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.capacity.profile import Profile, ProfileCapacity, saturated
from tidegate.capacity.profiletext import parse
from tidegate.core import Forecast, Observation, ProfilePoint, check, parameter
from tidegate.forecast import Outlook, forecaster
from tidegate.stats import Window

#: seconds over which the load and latency of a new point are averaged
AVERAGE = 120.0


@dataclass(slots=True)
class Profiled:
    """Builds a forecast and a profile from observations. `profile` is the text of an initial profile, or empty."""

    profile: str = parameter("", "file", "CSV with executors,rate,latency,saturated; required, except in simulations")
    forecaster: str = parameter("chooser", "", "name of the forecaster (see docs/forecasts.md)")
    capacity: ProfileCapacity = field(init=False)
    outlook: Outlook = field(init=False)
    _latency: Window = field(default_factory=lambda: Window(AVERAGE))
    _rate: Window = field(default_factory=lambda: Window(AVERAGE))
    _requested: int | None = None
    #: when the number of executors last changed
    _changed: float | None = None
    _learned: float | None = None

    def __post_init__(self) -> None:
        check(self, "profile")
        self.capacity = ProfileCapacity(Profile.of(parse(self.profile) if self.profile else ()))
        self.outlook = Outlook(forecaster(self.forecaster))

    def observe(self, obs: Observation) -> None:
        lost = any(event.kind == "ExecutorLost" for event in obs.events)
        if obs.requested != self._requested or lost:
            self._changed = obs.time if self._requested is not None else None
            self._latency, self._rate = Window(AVERAGE), Window(AVERAGE)
        self._requested = obs.requested
        self.capacity.update(obs)
        if obs.arrival_rate is not None:
            self.outlook.observe(obs.time, obs.arrival_rate)
            self._rate.update(obs.time, obs.arrival_rate)
        if obs.latency is not None:
            self._latency.update(obs.time, obs.latency)
        self._learn(obs)

    def settled(self, time: float) -> float | None:
        """Seconds since the last rescale or loss of an executor; None if there was none."""
        return None if self._changed is None else time - self._changed

    def ahead(self, seconds: float) -> Forecast | None:
        return self.outlook.ahead(seconds)

    @property
    def latency(self) -> float | None:
        return self._latency.mean

    def _learn(self, obs: Observation) -> None:
        """Adds a point to the profile after every two minutes of steady operation."""
        since = self._learned if self._learned is not None else -AVERAGE
        settled = self.settled(obs.time)
        if 0 <= obs.time - since < AVERAGE or (settled is not None and settled < AVERAGE):
            return
        rate, latency = self._rate.mean, self._latency.mean
        if rate and latency is not None and obs.executors == obs.requested >= 1 and not saturated(obs):
            self._learned = obs.time
            self.capacity.profile.add(ProfilePoint(obs.executors, rate, latency))
