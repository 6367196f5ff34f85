"""Load as a function of time: `rate(t)`, its exact integral `total(t)` and the inverse, `created(record)`.

Times are seconds since the start, rates records per second. A workload stands still after its duration: nothing more
is offered. The same object drives the embedded Spark source and a simulator. `named` makes one by its name.
"""

from __future__ import annotations

from tidegate.workloads.curve import Curve
from tidegate.workloads.names import NAMED, Pattern, named
from tidegate.workloads.noise import Noisy
from tidegate.workloads.plain import Constant, Ramp, Wave
from tidegate.workloads.shape import KINDS, Shape, from_spec
from tidegate.workloads.steps import Steps

__all__ = [
    "KINDS",
    "NAMED",
    "Constant",
    "Curve",
    "Noisy",
    "Pattern",
    "Ramp",
    "Shape",
    "Steps",
    "Wave",
    "from_spec",
    "named",
]
