"""Which levers a target changes. This is the only place that compares a target with the current state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidegate.core.model import Observation
from tidegate.core.target import Lever, Target


def changed_levers(target: Target, obs: Observation) -> tuple[Lever, ...]:
    """The levers whose target value differs from the current one (for executors: from the last request).

    >>> changed_levers(Target(4, batch_limit=100), Observation(0, executors=4, requested=4, batch_limit=500))
    (<Lever.BATCH_LIMIT: 'records per batch'>,)
    """
    if target.per_operator is None and target.batch_limit is None and target.shape is None:
        return (Lever.EXECUTORS,) if target.executors != obs.requested else ()
    changed = []
    if target.executors != obs.requested:
        changed.append(Lever.EXECUTORS)
    if _operators_change(target, obs):
        changed.append(Lever.OPERATORS)
    if target.batch_limit is not None and target.batch_limit != obs.batch_limit:
        changed.append(Lever.BATCH_LIMIT)
    if target.shape is not None and target.shape != obs.shape:
        changed.append(Lever.SHAPE)
    return tuple(changed)


def _operators_change(target: Target, obs: Observation) -> bool:
    """Per-operator parallelism counts only for engines whose operators have their own workers."""
    if not (obs.isolated and target.per_operator and obs.operators):
        return False
    current = parallelisms(obs)
    return any(parallelism != current.get(name, 0) for name, parallelism in target.per_operator.items())


def parallelisms(obs: Observation) -> dict[str, int]:
    """Current parallelism by operator name."""
    return {operator.name: operator.parallelism for operator in obs.operators}


def rescales(target: Target, obs: Observation) -> bool:
    """Whether workers are added, removed or replaced. A new batch limit costs nothing and is not a rescale."""
    return any(lever is not Lever.BATCH_LIMIT for lever in changed_levers(target, obs))


def without(target: Target, levers: Collection[Lever], obs: Observation) -> Target:
    """The target without changes to the given levers."""
    return replace(
        target,
        executors=obs.requested if Lever.EXECUTORS in levers else target.executors,
        per_operator=None if Lever.OPERATORS in levers else target.per_operator,
        batch_limit=None if Lever.BATCH_LIMIT in levers else target.batch_limit,
        shape=None if Lever.SHAPE in levers else target.shape,
    )
