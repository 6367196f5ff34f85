"""`dstreams`: the dynamic allocation rule of Spark Streaming (DStreams), applied to Structured Streaming's batches.

    ratio = mean(batch processing time) / batch interval
    ratio >= 0.9: add max(round(ratio), 1) executors;  ratio <= 0.3: remove one

every 60 s (Spark, ExecutorAllocationManager of org.apache.spark.streaming.scheduler). Spark Streaming removes an
executor that has no receiver. Structured Streaming has no receivers, so any executor may be removed.

The batch interval is the trigger interval, which a query does not report. It cannot be read off the time between two
starts: a batch that overruns delays the next one, and the one after that comes early, back on Spark's grid of triggers.
It is therefore taken as the shortest time between two consecutive starts that both waited for their trigger. Until
there are two such starts, the shortest time between any two is used, which gives back-to-back batches a ratio of 1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.core import Batch, Decision, Observation, check, hold, parameter
from tidegate.policies.entry import AS_IS, Entry

#: a batch that starts at least this many seconds after the previous one ended has waited for its trigger
PAUSE = 0.1
#: maximum number of batches kept per interval
MOST = 1000


@dataclass(slots=True)
class Spacing:
    """Learns the trigger interval from the start times of batches.

    >>> spacing = Spacing()
    >>> for id, start, end in [(0, 3, 4), (1, 10, 24), (2, 24, 25), (3, 30, 31), (4, 40, 41)]:
    ...     spacing.update(Batch(id, start, end, begin=0, end=1))
    >>> spacing.shortest, spacing.waited  # 24 to 30 is shorter, but 24 did not wait; nor had the first batch at 3
    (6, 10)
    """

    shortest: float | None = None
    waited: float | None = None
    last: Batch | None = None
    last_waited: bool = False

    def update(self, batch: Batch) -> None:
        before, gap = self.last, None if self.last is None else batch.planned - self.last.planned
        follows = before is not None and batch.id == before.id + 1 and gap is not None and gap > 0
        paused = follows and before is not None and batch.planned - before.finished >= PAUSE
        if follows and gap is not None:
            self.shortest = gap if self.shortest is None else min(self.shortest, gap)
            if paused and self.last_waited:
                self.waited = gap if self.waited is None else min(self.waited, gap)
        self.last, self.last_waited = batch, paused

    @property
    def value(self) -> float | None:
        return self.waited if self.waited is not None else self.shortest


@dataclass(slots=True)
class DStreams:
    """
    >>> policy = DStreams(trigger=10)
    >>> late = Batch(1, planned=40, finished=54.5, begin=0, end=9)
    >>> obs = Observation(time=60, executors=2, requested=2, batches=(late,))
    >>> policy.observe(obs)
    >>> policy.decide(obs).reason
    'batches take 14.50 s, 1.45 of the interval of 10 s: 2 -> 3'
    """

    interval: float = parameter(60.0, "s", "time between decisions, and span over which batches are averaged", above=0)
    scaling_up_ratio: float = parameter(0.9, "", "add executors at this ratio and above", above=0)
    scaling_down_ratio: float = parameter(0.3, "", "remove an executor at this ratio and below", least=0)
    trigger: float = parameter(0.0, "s", "trigger interval of the query; 0: learned from its batches", least=0)
    _batches: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST), repr=False)
    _spacing: Spacing = field(default_factory=Spacing, repr=False)

    def __post_init__(self) -> None:
        check(self, "policy dstreams")

    def observe(self, obs: Observation) -> None:
        if self._batches and obs.time < self._batches[-1][0] - self.interval:
            self._batches.clear()  # the clock went back
        for batch in obs.batches:
            self._spacing.update(batch)
            self._batches.append((obs.time, max(0.0, batch.finished - batch.planned)))
        while self._batches and self._batches[0][0] <= obs.time - self.interval:
            self._batches.popleft()

    def decide(self, obs: Observation) -> Decision:
        durations = [duration for time, duration in self._batches if time > obs.time - self.interval]
        if not durations:
            return hold(obs, f"no batch finished within the last {self.interval:g} s")
        spacing = self.trigger or self._spacing.value
        if not spacing:
            return hold(obs, "the batch interval is not known before the second batch")
        mean = sum(durations) / len(durations)
        return self._by_ratio(obs, mean, spacing)

    def _by_ratio(self, obs: Observation, mean: float, spacing: float) -> Decision:
        ratio = mean / spacing
        evidence = {"batch_duration": mean, "batch_interval": spacing, "ratio": ratio}
        load = f"batches take {mean:.2f} s, {ratio:.2f} of the interval of {spacing:.4g} s"
        if ratio >= self.scaling_up_ratio:
            wish = obs.requested + max(round(min(ratio, 1e9)), 1)
        elif ratio <= self.scaling_down_ratio:
            wish = max(1, obs.requested - 1)
        else:
            return hold(obs, f"{load}, between {self.scaling_down_ratio:g} and {self.scaling_up_ratio:g}", **evidence)
        return Decision(wish, f"{load}: {obs.requested} -> {wish}", evidence)


NAMES = {"dstreams": Entry("batch time over interval", "Spark Streaming's dynamic allocation", DStreams, AS_IS)}
