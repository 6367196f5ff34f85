"""Load as a function of time: `rate(t)`, its exact integral `total(t)` and the inverse, `created(record)`.

Times are in seconds since the start, rates in records per second. After its duration a workload offers no more
records. The same object drives the embedded Spark source and the simulators. `named` returns a workload by its name;
only `trace:FILE` reads a file.
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
