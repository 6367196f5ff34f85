"""The cost model of a Spark micro-batch, which the simulator uses (`sim.batch_model`).

    batch time = fixed + overhead * W + cost * records * X        s = executors * cores slots
    W = sum of ceil(k / s), X = sum of share * ceil(k / s) / k    over the stages, with k tasks and a share of the work

A stage runs its tasks in ceil(k / s) waves, of which the last may be partly empty: 8 tasks on 5 slots take as long as
on 4. ceil(k / s) / k is 1 / s if all waves are full, and 1 / k from k slots on: more slots than tasks do not help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """Tasks and share of the work of each stage, and slots per executor. Without stages one full wave is assumed.

    >>> layout = Layout(stages=((8, 1.0),), cores=1)
    >>> layout.waves(4), layout.waves(5), layout.spread(4), layout.spread(5), layout.spread(16)
    (2, 2, 0.25, 0.25, 0.125)
    """

    stages: tuple[tuple[int, float], ...] = ()
    cores: int = 1

    def waves(self, executors: int) -> int:
        slots = executors * self.cores
        return sum(math.ceil(tasks / slots) for tasks, _ in self.stages) or 1

    def spread(self, executors: int) -> float:
        """Seconds per core-second of work: 1 / slots if every slot is busy until the end."""
        slots = executors * self.cores
        return math.fsum(share * math.ceil(tasks / slots) / tasks for tasks, share in self.stages) or 1 / slots
