"""The varying speed of a machine, drawn from a seed and therefore the same for every policy that runs on it.

Batch times vary because the machine does: other tenants, clock frequency, garbage collection. The noise is therefore a
function of time and not of the batch, so that the oracle can know it as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random

#: seconds for which the speed stays constant
SLOT = 15.0
#: number of values that are drawn once and then used in turn
DRAWS = 4096


@lru_cache(maxsize=64)
def draws(seed: int) -> tuple[float, ...]:
    """Standard normal values, clipped at two standard deviations."""
    random = Random(seed)
    return tuple(min(2.0, max(-2.0, random.gauss(0.0, 1.0))) for _ in range(DRAWS))


@lru_cache(maxsize=64)
def _slowness(seed: int, noise: float) -> tuple[float, ...]:
    return tuple(1 + noise * draw for draw in draws(seed))


@lru_cache(maxsize=64)
def _round_trip(seed: int, noise: float) -> float:
    """Seconds of work that are done while every draw is used once."""
    return math.fsum(SLOT / slowness for slowness in _slowness(seed, noise))


@dataclass(frozen=True, slots=True)
class Pace:
    """Work in a slot of time takes `1 + noise * draw` times its nominal time. `draw` is between -2 and 2.

    >>> even = Pace(seed=1, noise=0.0)
    >>> even.after(10.0, 20.0), even.worth(10.0, 30.0)
    (30.0, 20.0)
    """

    seed: int
    noise: float

    def slowness(self, slot: int) -> float:
        return _slowness(self.seed, self.noise)[slot % DRAWS]

    def after(self, time: float, work: float) -> float:
        """The time at which an amount of work, in seconds, is done if it starts at `time`."""
        if not self.noise:
            return time + work
        slow = _slowness(self.seed, self.noise)
        round_trip = _round_trip(self.seed, self.noise)
        if work > round_trip:  # whole rounds of draws at once, however many years they last
            rounds = math.floor(work / round_trip)
            time, work = time + rounds * DRAWS * SLOT, work - rounds * round_trip
        slot = int(time / SLOT)
        while True:
            end = (slot + 1) * SLOT
            factor = slow[slot % DRAWS]
            if work * factor <= end - time:
                return time + work * factor
            work -= (end - time) / factor
            time, slot = end, slot + 1

    def worth(self, begin: float, end: float) -> float:
        """Seconds of work that can be done between two times."""
        if not self.noise or end <= begin:
            return max(0.0, end - begin)
        rounds = math.floor((end - begin) / (DRAWS * SLOT))
        if rounds:
            end -= rounds * DRAWS * SLOT
            return rounds * _round_trip(self.seed, self.noise) + self.worth(begin, end)
        slots = range(int(begin / SLOT), math.ceil(end / SLOT))
        return math.fsum((min(end, (k + 1) * SLOT) - max(begin, k * SLOT)) / self.slowness(k) for k in slots)
