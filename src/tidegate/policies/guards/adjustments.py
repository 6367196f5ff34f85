"""How a guard changes a wish: to a hold, or to another total. All guards use these functions, so that their reasons
have the same form.

A wish may name a number of workers for each operator. If the engine isolates operators, those numbers are adjusted
together with the total, and a wish with an unchanged total may still move workers from one operator to another. A new
limit per batch needs no rescale, so it passes every guard. A new shape of executors is held together with the total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidegate.core import Decision, Observation, Target, rescales
from tidegate.core.levers import parallelisms


def held(wish: Decision, obs: Observation, rule: str) -> Decision:
    """Keep what was requested. The reason names the wish, the policy's reason for it, and the rule.

    >>> held(Decision(6, "busy"), Observation(0, 2, 2), "but it is Sunday").reason
    'hold: 6 wished (busy), but it is Sunday'
    """
    target = Target(obs.requested, batch_limit=wish.target.batch_limit)
    return Decision(target, f"hold: {_wish_text(wish, obs)}, {rule}", wish.evidence)


def moved(wish: Decision, obs: Observation, total: int, rule: str) -> Decision:
    """Change the total, and the operators with it. A hold if that is what was already requested.

    Isolated operators keep at least one worker each, so a total below their number is raised to that number.

    >>> two = Observation(0, 2, 2)
    >>> moved(Decision(6, "busy"), two, 4, "but 4 are enough").reason
    '4 for now: 6 wished (busy), but 4 are enough'
    >>> moved(Decision(6, "busy"), two, 2, "but 2 are enough").reason
    'hold: 6 wished (busy), but 2 are enough'
    """
    if not wish.per_operator:
        return _adjusted(wish, obs, total, None, rule)
    if obs.isolated:
        return shared(wish, obs, spread(wish.per_operator, total), rule)
    return _adjusted(wish, obs, total, spread(wish.per_operator, _slots(wish, total)), rule)


def shared(wish: Decision, obs: Observation, shares: dict[str, int], rule: str) -> Decision:
    """Change the number of workers of each isolated operator; the total is their sum."""
    return _adjusted(wish, obs, sum(shares.values()), shares, rule)


def _adjusted(wish: Decision, obs: Observation, total: int, shares: dict[str, int] | None, rule: str) -> Decision:
    target = replace(wish.target, executors=total, per_operator=shares)
    if not rescales(target, obs):
        return held(wish, obs, rule)
    return Decision(target, f"{total} for now: {_wish_text(wish, obs)}, {rule}", wish.evidence)


def spread(shares: Mapping[str, int], total: int) -> dict[str, int]:
    """Scale the workers of operators to a total (DEBS'24: one each, the rest in proportion, the largest corrected).

    >>> spread({"source": 2, "map": 5, "window": 9}, 10)  # 1 + round(7/13 x 1, 4, 8); the sum is 10
    {'source': 2, 'map': 3, 'window': 5}
    >>> spread({"source": 1, "map": 1}, 4)  # no proportion to keep: evenly
    {'source': 2, 'map': 2}
    """
    surplus = {name: max(share, 1) - 1 for name, share in shares.items()}
    if not any(surplus.values()):
        surplus = dict.fromkeys(shares, 1)
    left = max(total - len(shares), 0)
    factor = left / sum(surplus.values())
    scaled = {name: 1 + round(factor * more) for name, more in surplus.items()}
    missing = len(shares) + left - sum(scaled.values())
    for _ in range(abs(missing)):
        scaled[max(scaled, key=scaled.__getitem__)] += 1 if missing > 0 else -1
    return scaled


def _slots(wish: Decision, total: int) -> int:
    # the slots that operators share do not add up to the number of executors, so both change by the same factor
    slots = sum((wish.per_operator or {}).values())
    return round(slots * total / wish.executors) if wish.executors > 0 else slots


def change(wish: Decision, obs: Observation) -> tuple[int, int]:
    """How many workers are added and how many removed. Both are positive if workers move between operators.

    >>> change(Decision(6, "busy"), Observation(0, 2, 2))
    (4, 0)
    """
    now = parallelisms(obs)
    if obs.isolated and wish.per_operator and now:
        steps = [share - now.get(name, 0) for name, share in wish.per_operator.items()]
    else:
        steps = [wish.executors - obs.requested]
    return sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)


def stays(wish: Decision, obs: Observation) -> bool:
    """Whether the wish changes neither the total, nor any isolated operator, nor the shape of executors."""
    return not rescales(wish.target, obs)


def _wish_text(wish: Decision, obs: Observation) -> str:
    """The wish as text: its total, or its operators if only they would change."""
    number = str(wish.executors)
    if wish.executors == obs.requested and wish.per_operator and not stays(wish, obs):
        number = ", ".join(f"{name} {share}" for name, share in wish.per_operator.items())
    return f"{number} wished ({wish.reason})"
