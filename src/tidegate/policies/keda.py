"""`keda-lag`: KEDA's Kafka trigger, executors in proportion to the records that wait.

    wanted = min(ceil(lag / lag_threshold), ceiling)

(KEDA 2.21, kafka scaler: an HPA metric of type AverageValue, and no more consumers than partitions.) With a lag of
at most `activation_lag` the trigger is inactive and wishes for none, which limits make the minimum. HPA's tolerance,
its stabilisation and its steps are guards.

KEDA's default threshold is 10 records. On Spark everything between two commits waits, ten seconds of input in a healthy
query with a ten-second trigger, so 10 means the maximum at all times. The default here, 100,000, is what an executor
with some 10,000 records/s lets wait under such a trigger: say what yours does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidegate.core import Decision, Observation, check, hold, parameter

#: a lag so large that only limits matter
MOST = 1e9


@dataclass(slots=True)
class KedaLag:
    """
    >>> KedaLag().decide(Observation(time=0, executors=2, requested=2, backlog=250_000))
    ... # doctest: +NORMALIZE_WHITESPACE
    Decision(executors=3, reason='lag 250000 records, 100000 per executor: 2 -> 3',
             evidence={'lag': 250000, 'lag_threshold': 100000.0}, per_operator=None)
    """

    lag_threshold: float = parameter(100_000.0, "records", "waiting records per executor (KEDA: 10)", above=0)
    activation_lag: float = parameter(0.0, "records", "up to this lag the trigger is inactive", least=0)
    interval: float = parameter(30.0, "s", "time between decisions (KEDA: pollingInterval)", above=0)

    def __post_init__(self) -> None:
        check(self, "policy keda-lag")

    def observe(self, obs: Observation) -> None:
        """Nothing to learn: KEDA looks at the lag of the moment."""

    def decide(self, obs: Observation) -> Decision:
        lag = obs.backlog
        if lag is None:
            return hold(obs, "the lag is not known yet")
        evidence = {"lag": lag, "lag_threshold": self.lag_threshold}
        if lag <= self.activation_lag:
            return Decision(1, f"inactive: lag {lag:.0f}, activated above {self.activation_lag:g}", evidence)
        wanted = max(1, math.ceil(round(min(lag / self.lag_threshold, MOST), 9)))
        told = f"lag {lag:.0f} records, {self.lag_threshold:.0f} per executor"
        if obs.ceiling is not None and wanted > max(1, obs.ceiling):
            told += f": {wanted}, but partitions for {obs.ceiling} executors only"
            wanted = max(1, obs.ceiling)
        return Decision(wanted, f"{told}: {obs.requested} -> {wanted}", evidence)
