"""How far a query is behind.

On an engine that processes record by record, every waiting record counts. On Spark, records always wait for the next
batch to start and then to finish, so only a backlog of more than two triggers' worth of arrivals counts as lag.
"""

from __future__ import annotations

from tidegate.core import Observation

#: a query waits for its trigger if it pauses for more than this share of the time between the starts of two batches
PAUSING = 0.1


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


def trigger_wait(obs: Observation) -> float:
    """Seconds between the starts of batches that are due to the trigger of the query; 0 if batches follow each other
    without a pause, because there is no trigger or because they take longer than that.

    >>> trigger_wait(Observation(0, 1, 1, trigger=60, batch_duration=12, pause=48))
    60
    >>> trigger_wait(Observation(0, 1, 1, trigger=75, batch_duration=40, pause=0))  # the batch before took 75 s
    0.0
    """
    if obs.trigger is None or obs.pause is None or obs.pause <= PAUSING * obs.trigger:
        return 0.0
    return obs.trigger
