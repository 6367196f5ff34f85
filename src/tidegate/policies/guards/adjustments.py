"""How a guard changes a wish: to a hold, or to another total. Every guard does it here, so that all read alike.

A wish may name a number for each operator. Where the engine isolates operators those are what counts, so they follow
the total, and a total that stays may still move workers from one operator to another.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.core import Decision, Observation


def held(wish: Decision, obs: Observation, rule: str) -> Decision:
    """Stay with what was asked for; the reason names the wish, why it was wished, and the rule.

    >>> held(Decision(6, "busy"), Observation(0, 2, 2), "but it is Sunday").reason
    'hold: 6 wished (busy), but it is Sunday'
    """
    return Decision(obs.requested, f"hold: {wished(wish, obs)}, {rule}", wish.evidence)


def moved(wish: Decision, obs: Observation, total: int, rule: str) -> Decision:
    """Another total, and the operators with it; a hold where that is what there is.

    Where operators are isolated, each keeps one worker, and so a total below their number becomes that number.

    >>> two = Observation(0, 2, 2)
    >>> moved(Decision(6, "busy"), two, 4, "but 4 are enough").reason
    '4 for now: 6 wished (busy), but 4 are enough'
    >>> moved(Decision(6, "busy"), two, 2, "but 2 are enough").reason
    'hold: 6 wished (busy), but 2 are enough'
    """
    if not wish.per_operator:
        return _made(wish, obs, total, None, rule)
    if obs.isolated:
        return shared(wish, obs, spread(wish.per_operator, total), rule)
    return _made(wish, obs, total, spread(wish.per_operator, _slots(wish, total)), rule)


def shared(wish: Decision, obs: Observation, shares: dict[str, int], rule: str) -> Decision:
    """Another number for each of the isolated operators, and their sum as the total."""
    return _made(wish, obs, sum(shares.values()), shares, rule)


def _made(wish: Decision, obs: Observation, total: int, shares: dict[str, int] | None, rule: str) -> Decision:
    if _same(total, shares, obs):
        return held(wish, obs, rule)
    return Decision(total, f"{total} for now: {wished(wish, obs)}, {rule}", wish.evidence, shares)


def spread(shares: Mapping[str, int], total: int) -> dict[str, int]:
    """Workers of operators, scaled to a total (DEBS'24: one each, the rest in proportion, the largest corrected).

    >>> spread({"source": 2, "map": 5, "window": 9}, 10)  # 1 + round(7/13 x 1, 4, 8); the sum is 10
    {'source': 2, 'map': 3, 'window': 5}
    >>> spread({"source": 1, "map": 1}, 4)  # nothing to be in proportion to: alike
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
    # Slots that operators share do not add up to executors: both change by the same factor.
    slots = sum((wish.per_operator or {}).values())
    return round(slots * total / wish.executors) if wish.executors > 0 else slots


def change(wish: Decision, obs: Observation) -> tuple[int, int]:
    """How many workers come and how many go. Both are above zero where operators give to each other.

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
    """Whether it changes nothing: neither the total nor, where they are isolated, any operator."""
    return _same(wish.executors, wish.per_operator, obs)


def _same(total: int, shares: Mapping[str, int] | None, obs: Observation) -> bool:
    if total != obs.requested or not (obs.isolated and shares and obs.operators):
        return total == obs.requested
    now = parallelisms(obs)
    return all(share == now.get(name, 0) for name, share in shares.items())


def parallelisms(obs: Observation) -> dict[str, int]:
    """What each operator has now."""
    return {one.name: one.parallelism for one in obs.operators}


def wished(wish: Decision, obs: Observation) -> str:
    """The wish in a few words: its total, or its operators where only they would change."""
    number = str(wish.executors)
    if wish.executors == obs.requested and wish.per_operator and not stays(wish, obs):
        number = ", ".join(f"{name} {share}" for name, share in wish.per_operator.items())
    return f"{number} wished ({wish.reason})"
