"""Operators and the slots they have, and the rule that converts the slots they need into executors.

The policies of the DEBS'24 paper work per operator. If an engine isolates operators, each has as many workers as its
parallelism, and a decision names a number for each of them. On Spark an operator is a stage, and all stages share the
executors' slots: the slots that the stages need are added up as fractions and rounded up once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core import Decision, Observation, Target


@dataclass(frozen=True, slots=True)
class Operator:
    """`slots` is its number of workers, or on shared executors its share of the slots in proportion to its work. `busy`
    is the average number of busy slots.
    """

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
    """Slots per executor; 1 if no executor reports them."""
    return max([sample.cores for sample in obs.per_executor], default=1)


def operators(obs: Observation) -> tuple[Operator, ...]:
    """The operators of an observation, sources first, in the order in which the engine reports them."""
    shared = 1.0 if obs.isolated else obs.executors * cores(obs)
    work = sum(sample.busy or 0.0 for sample in obs.operators)
    graph = []
    for sample in obs.operators:
        share = (sample.busy or 0.0) / work if work > 0 else 1 / len(obs.operators)
        slots = float(sample.parallelism) if obs.isolated else shared * share
        cpu = sample.cpu / slots if sample.cpu is not None and slots > 0 else None
        rates = (sample.rate_in, sample.rate_out, sample.busy)
        graph.append(Operator(sample.name, sample.upstream, slots, *rates, cpu, sample.backpressured, sample.queue))
    return tuple(graph)


def fold(obs: Observation, needs: Mapping[str, float]) -> int:
    """Number of executors that provide the slots the operators need.

    >>> fold(Observation(0, 2, 2), {"map": 0.4, "window": 1.7})  # shared: 2.1 slots
    3
    >>> fold(Observation(0, 2, 2, isolated=True), {"map": 0.4, "window": 1.7})  # at least one worker each
    3
    >>> fold(Observation(0, 2, 2, isolated=True), {"map": 0.4, "window": 2.1})
    4
    """
    if obs.isolated:
        return sum(whole(need) for need in needs.values())
    return whole(sum(needs.values()) / cores(obs))


def whole(need: float) -> int:
    """Rounds up, to at least 1. Differences beyond the ninth digit are rounding errors and ignored."""
    up = math.ceil(need)
    if up - need > 1 - 1e-8:  # just above a whole number: only here does `round`, which is slow, make a difference
        up = math.ceil(round(need, 9))
    return max(1, up)


def decision(obs: Observation, needs: Mapping[str, float], reason: str, evidence: Mapping[str, float]) -> Decision:
    """The decision of a policy that has computed how many slots each operator needs."""
    shares = {name: whole(need) for name, need in needs.items()}
    return Decision(Target(fold(obs, needs), shares), reason, evidence)
