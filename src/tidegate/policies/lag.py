"""How far a query is behind.

On an engine that processes record by record, every waiting record counts. On Spark, records always wait for the next
batch to start and then to finish, so only a backlog of more than two triggers' worth of arrivals counts as lag.
"""

from __future__ import annotations

from tidegate.core import Observation


def behind(obs: Observation) -> float | None:
    """Number of records that the query is behind; None if the backlog is unknown.

    >>> behind(Observation(0, 1, 1, backlog=500.0))
    500.0
    >>> behind(Observation(0, 1, 1, backlog=500.0, arrival_rate=100, trigger=4, batch_duration=1.5))  # 500 < 2 x 400
    0.0
    """
    if obs.backlog is None:
        return None
    cycle = max(obs.trigger or 0.0, obs.batch_duration or 0.0)
    return max(0.0, obs.backlog - 2 * cycle * (obs.arrival_rate or 0.0))
