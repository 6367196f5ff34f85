"""The patterns of "Evaluating Stream Processing Autoscalers" (DEBS'24, section 5.3): one integer rate per minute.

The paper shows them as figures. Formulas, seeds and the order of draws are those of the authors' generator, which
uses `java.util.Random`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tidegate.workloads.draws import JavaRandom
from tidegate.workloads.steps import Steps

MINUTES = 140
#: period of the cosine, minutes
PERIOD = 60
#: lowest height of a spike, and the range drawn on top of it
SPIKE = (500_000, 1_500_000)


def per_minute(rates: Iterable[int]) -> Steps:
    levels = tuple(rates)
    return Steps(duration=60 * len(levels), levels=levels)


def cosine(
    mean: float = 1_200_000, swing: float = 1_000_000, noise: float = 100_000, seed: int = 1066, chance: float = 0.0
) -> Steps:
    """`mean + swing * cos(2 pi minute / 60)`, plus or minus `noise`.

    In each minute an upward spike starts with probability `chance`, and likewise a downward one; spikes last one or two
    minutes. Three numbers are drawn per minute (noise, upward, downward), and two more when a spike starts (length,
    height).

    >>> cosine().levels[:3]
    (2227166, 2160889, 2231904)
    """
    draws = JavaRandom(seed)
    spike, remaining, rates = 0.0, 0, []
    for minute in range(MINUTES):
        base = mean + swing * math.cos(2 * math.pi * minute / PERIOD) + draws.double() * 2 * noise - noise
        up, down = draws.double() < chance, draws.double() < chance
        if not remaining and (up or down):
            remaining = 1 + int(2 * draws.double())
            height = SPIKE[0] + SPIKE[1] * draws.double()
            spike = height if up else -height
        rates.append(max(0, int(base + spike * (remaining > 0))))
        remaining = max(0, remaining - 1)
    return per_minute(rates)


def random(start: int = 1_250_000, step: int = 500_000, cap: int = 2_500_000, seed: int = 1073) -> Steps:
    """A random walk in steps of up to `step`, between 0 and `cap`. One number is drawn per minute except the first.

    >>> random().levels[:3]
    (1250000, 1387713, 1623965)
    """
    draws, rates = JavaRandom(seed), [start]
    for _ in range(MINUTES - 1):
        rates.append(min(cap, max(0, int(rates[-1] + draws.double() * 2 * step - step))))
    return per_minute(rates)


def increasing(top: int = 2_500_000, seed: int = 1066) -> Steps:
    """A drift from 0, each minute by `-top / 30` to `+top / 22`. One number is drawn per minute.

    >>> rates = increasing().levels
    >>> rates[0], max(rates), rates[-1]
    (41906, 2402018, 2273322)
    """
    return _drift(0, top // 30, top // 22, seed)


def decreasing(top: int = 2_500_000, seed: int = 1066) -> Steps:
    """A drift from `top + 2000`, each minute by `-top / 21` to `+top / 28`. One number is drawn per minute.

    >>> rates = decreasing().levels
    >>> rates[0], rates[-1]
    (2515417, 551491)
    """
    return _drift(top + 2000, top // 21, top // 28, seed)


def _drift(start: int, down: int, up: int, seed: int) -> Steps:
    draws, rate, rates = JavaRandom(seed), float(start), []
    for _ in range(MINUTES):
        rate = max(0.0, rate + draws.double() * (up + down) - down)
        rates.append(int(rate))
    return per_minute(rates)


def three_levels(rates: tuple[int, int, int] = (0, 2_000_000, 1_000_000)) -> Steps:
    """Three levels in 90 minutes: the first for 11 minutes, the second for 40, the third for 39.

    >>> [three_levels().levels[minute] for minute in (0, 10, 11, 50, 51, 89)]
    [0, 0, 2000000, 2000000, 1000000, 1000000]
    """
    first, second, third = rates
    return per_minute([first] * 11 + [second] * 40 + [third] * 39)
