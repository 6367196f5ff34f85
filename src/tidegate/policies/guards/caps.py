"""Hard caps on the number of executors: the query's partitions, and a quota of cores."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core import Decision, Observation
from tidegate.policies.guards.adjustments import moved
from tidegate.policies.operators import cores


@dataclass(frozen=True, slots=True)
class Ceiling:
    """No scale-out beyond the executors that the query's partitions can keep busy (KEDA: no more than partitions).

    It never removes executors: if there are more already, they stay until the policy scales in.

    >>> Ceiling().temper(Decision(8, "busy"), Observation(time=0, executors=2, requested=2, ceiling=4)).reason
    '4 for now: 8 wished (busy), but 4 executors at most have work: more partitions, or more even keys, would help'
    """

    name: str = "ceiling"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        if obs.ceiling is None or wish.executors <= obs.requested:
            return wish
        busy = max(obs.ceiling, 1)
        most = max(busy, obs.requested)
        if wish.executors <= most:
            return wish
        work = f"but {_executors(busy)} at most {'has' if busy == 1 else 'have'} work"
        return moved(wish, obs, most, f"{work}: more partitions, or more even keys, would help")


@dataclass(frozen=True, slots=True)
class Quota:
    """Never more executors than `cores` allow; if there are more, they are removed (Flink's operator: quota.cpu).

    One executor is always allowed. Each is assumed to have as many cores as the largest one reports, or 1 if none does.

    >>> Quota(cores=10).temper(Decision(12, "busy"), Observation(time=0, executors=2, requested=2)).reason
    '10 for now: 12 wished (busy), but the quota of 10 cores is 10 executors of 1'
    """

    cores: int
    name: str = "quota"

    def temper(self, wish: Decision, obs: Observation) -> Decision:
        size = max(cores(obs), 1)
        allowed = max(self.cores // size, 1)
        if wish.executors <= allowed:
            return wish
        return moved(wish, obs, allowed, f"but the quota of {self.cores} cores is {_executors(allowed)} of {size}")


def _executors(number: int) -> str:
    return "1 executor" if number == 1 else f"{number} executors"
