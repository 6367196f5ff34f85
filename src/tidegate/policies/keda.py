"""`keda-lag`: KEDA's Kafka trigger, executors in proportion to the number of waiting records.

    wanted = min(ceil(lag / lag_threshold), ceiling)

(KEDA 2.21, kafka scaler: an HPA metric of type AverageValue, and no more consumers than partitions.) If the lag is at
most `activation_lag`, the trigger is inactive and the query runs with the minimum. The HPA's tolerance, stabilisation
and step limits are guards.

KEDA's default threshold is 10 records. On Spark, everything that arrives between two commits is waiting: ten seconds of
input in a healthy query with a ten-second trigger. A threshold of 10 would always mean the maximum. The default here,
100,000, fits an executor that processes about 10,000 records/s under such a trigger. Set it to match your own query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import Decision, Observation, check, hold, parameter
from tidegate.policies.entry import KUBERNETES, Entry

#: cap on the computed number of executors; beyond it only the limits matter
MOST = 1e9


@dataclass(slots=True)
class KedaLag:
    """
    >>> KedaLag().decide(Observation(time=0, executors=2, requested=2, backlog=250_000))
    ... # doctest: +NORMALIZE_WHITESPACE
    Decision(target=Target(3), reason='lag 250000 records, 100000 per executor: 2 -> 3',
             evidence={'lag': 250000, 'lag_threshold': 100000.0})
    """

    lag_threshold: float = parameter(100_000.0, "records", "waiting records per executor (KEDA: 10)", above=0)
    activation_lag: float = parameter(0.0, "records", "up to this lag the trigger is inactive", least=0)
    interval: float = parameter(30.0, "s", "time between decisions (KEDA: pollingInterval)", above=0)

    def __post_init__(self) -> None:
        check(self, "policy keda-lag")

    def observe(self, obs: Observation) -> None:
        """Nothing to learn: KEDA only considers the current lag."""

    def decide(self, obs: Observation) -> Decision:
        lag = obs.backlog
        if lag is None:
            return hold(obs, "the lag is not known yet")
        evidence = {"lag": lag, "lag_threshold": self.lag_threshold}
        if lag <= self.activation_lag:
            return Decision(1, f"inactive: lag {lag:.0f}, activated above {self.activation_lag:g}", evidence)
        wish = max(1, math.ceil(round(min(lag / self.lag_threshold, MOST), 9)))
        reason = f"lag {lag:.0f} records, {self.lag_threshold:.0f} per executor"
        if obs.ceiling is not None and wish > max(1, obs.ceiling):
            reason += f": {wish}, but partitions for {obs.ceiling} executors only"
            wish = max(1, obs.ceiling)
        return Decision(wish, f"{reason}: {obs.requested} -> {wish}", evidence)


NAMES = {"keda-lag": Entry("ceil(lag / threshold)", "KEDA's Kafka trigger", KedaLag, KUBERNETES)}
