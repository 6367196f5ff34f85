"""Operators with slots of their own, and one rule that folds what they need into executors.

Policies of the DEBS'24 paper think per operator. Where an engine isolates operators, each has as many workers as its
parallelism, and a decision names a number for each. On Spark an operator is a stage, and all stages share the
executors' slots: there the slots that the stages need are added up, fractions included, and rounded up once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core import Decision, Observation


@dataclass(frozen=True, slots=True)
class Operator:
    """`slots` are its own, or its share of the shared ones, by the work it does. `busy` of them were, on average."""

    name: str
    upstream: tuple[str, ...]
    slots: float
    rate_in: float | None
    rate_out: float | None
    busy: float | None
    #: CPU-seconds per second of each of its slots
    cpu: float | None
    backpressured: float | None
    queue: float | None

    @property
    def source(self) -> bool:
        return not self.upstream


def cores(obs: Observation) -> int:
    """Slots of an executor; one where no executor tells."""
    return max([sample.cores for sample in obs.per_executor], default=1)


def operators(obs: Observation) -> tuple[Operator, ...]:
    """Those of an observation, sources first as the engine gives them."""
    shared = 1.0 if obs.isolated else obs.executors * cores(obs)
    work = sum(one.busy or 0.0 for one in obs.operators)
    found = []
    for one in obs.operators:
        share = (one.busy or 0.0) / work if work > 0 else 1 / len(obs.operators)
        slots = float(one.parallelism) if obs.isolated else shared * share
        cpu = one.cpu / slots if one.cpu is not None and slots > 0 else None
        rates = (one.rate_in, one.rate_out, one.busy)
        found.append(Operator(one.name, one.upstream, slots, *rates, cpu, one.backpressured, one.queue))
    return tuple(found)


def fold(obs: Observation, needs: Mapping[str, float]) -> int:
    """Executors for the slots that operators need.

    >>> fold(Observation(0, 2, 2), {"map": 0.4, "window": 1.7})  # shared: 2.1 slots
    3
    >>> fold(Observation(0, 2, 2, isolated=True), {"map": 0.4, "window": 1.7})  # a worker of its own at least
    3
    >>> fold(Observation(0, 2, 2, isolated=True), {"map": 0.4, "window": 2.1})
    4
    """
    if obs.isolated:
        return sum(whole(need) for need in needs.values())
    return whole(sum(needs.values()) / cores(obs))


def whole(need: float) -> int:
    """Rounded up, one at least; what the ninth digit says is arithmetic, not need."""
    up = math.ceil(need)
    if up - need > 1 - 1e-8:  # just above a whole number: only here does rounding, which is slow, change anything
        up = math.ceil(round(need, 9))
    return max(1, up)


def decision(obs: Observation, needs: Mapping[str, float], reason: str, evidence: Mapping[str, float]) -> Decision:
    """The answer of a policy that knows how many slots each operator needs."""
    return Decision(fold(obs, needs), reason, evidence, {name: whole(need) for name, need in needs.items()})
