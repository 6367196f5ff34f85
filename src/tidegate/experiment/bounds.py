"""What the numbers of an experiment may be at most. Larger ones are slips, and would exhaust memory or patience."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tidegate.core import InvalidInput
from tidegate.runs import RunSpec
from tidegate.workloads.shape import HIGHEST, LONGEST

#: field -> its smallest and its largest value
BOUNDS: Mapping[str, tuple[float, float]] = {
    "duration": (0.0, LONGEST),
    "peak": (0.0, HIGHEST),
    "trigger": (0.0, LONGEST),
    "period": (0.0, LONGEST),
    "slo": (0.0, LONGEST),
    "drain": (0.0, LONGEST),
    "grace": (0.0, LONGEST),
    "noise": (0.0, 1.0),
    "minimum": (1, 10_000),
    "maximum": (1, 10_000),
    "cores": (1, 1000),
    "memory": (1, 10_000_000),
    "limit": (0, 2**53),
    "partitions": (0, 1_000_000),
    "price": (0.0, 1e9),
    "seed": (0, 2**63),
    "workload_seed": (0, 2**63),
}
#: most observations, or triggers, of one simulated run, and most failures
STEPS, FAILURES = 5_000_000, 10_000


def check_bounds(e: RunSpec) -> None:
    for name, (least, most) in BOUNDS.items():
        value = getattr(e, name)
        if value is not None and not least <= value <= most:
            raise InvalidInput(f"run: need {least:g} <= {name} <= {most:g}, got {value:g}")
    if len(e.failures) > FAILURES or not all(0 <= time <= LONGEST for time in e.failures):
        raise InvalidInput(f"run: need at most {FAILURES:,} failures within {LONGEST:g} s, got {len(e.failures):,}")
    if e.engine != "spark":
        _check_steps(e)


def _check_steps(e: RunSpec) -> None:
    for name in ("period", "trigger"):
        length: float = getattr(e, name)
        steps = (e.duration or 0.0) / length
        if not steps <= STEPS:
            count = f"{steps:,.0f}" if math.isfinite(steps) else "endlessly many"
            raise InvalidInput(
                f"run: {e.duration:g} s have {count} steps of {length:g} s, need at most {STEPS:,}: a longer {name}"
            )
