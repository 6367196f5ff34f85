"""Workloads by name, in their native size or scaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate.core import InvalidInput, UnknownName
from tidegate.workloads import minutes
from tidegate.workloads.curve import Curve
from tidegate.workloads.plain import Constant, Wave
from tidegate.workloads.shape import Shape
from tidegate.workloads.trace import PREFIX, read_trace

#: "Evaluating Stream Processing Autoscalers", DEBS 2024
DEBS = "DEBS'24"
#: "Daedalus: Self-Adaptive Horizontal Autoscaling for Resource Efficiency of Distributed Stream Processing", ICPE 2024
DAEDALUS = "Daedalus"
OURS = "Tidegate"

# A website's day: low at night, rising through the morning, peak at 55 % of the day, a smaller peak in the evening.
ADVERTISING = ((0, 72e3), (0.17, 0), (0.4, 192e3), (0.55, 400e3), (0.72, 136e3), (0.82, 160e3), (1, 72e3))
# A city's roads: a quiet night, a sharp morning peak, moderate traffic at noon, an evening peak.
TRAFFIC = ((0, 2e3), (0.2, 6e3), (0.28, 100e3), (0.37, 22e3), (0.6, 28e3), (0.7, 92e3), (0.82, 12e3), (1, 4e3))
SIX_HOURS = 21_600


@dataclass(frozen=True, slots=True)
class Pattern:
    """A named workload. `make` takes a seed; None stands for the seed that the authors used."""

    summary: str
    source: str
    make: Callable[[int | None], Shape]


def _seeded(pattern: Callable[..., Shape], **values: float) -> Callable[[int | None], Shape]:
    return lambda seed: pattern(**values) if seed is None else pattern(**values, seed=seed)


def _fixed(shape: Shape) -> Callable[[int | None], Shape]:
    return lambda seed: shape


NAMED: Mapping[str, Pattern] = {
    # one period of the cosine below, from low to high and back
    "tide": Pattern("low, high and low again", OURS, _fixed(Wave(3600, 1.2e6, 1.0e6, period=3600, shift=0.5))),
    "constant": Pattern("the peak all the time", OURS, _fixed(Constant(3600, level=1e6))),
    "increasing": Pattern("drifts from 0 up to the peak", DEBS, _seeded(minutes.increasing)),
    "decreasing": Pattern("drifts down from the peak to a fifth of it", DEBS, _seeded(minutes.decreasing)),
    "cosine": Pattern("two and a third uneven waves, high first", DEBS, _seeded(minutes.cosine)),
    "random": Pattern("a random walk between 0 and the peak", DEBS, _seeded(minutes.random)),
    "steps": Pattern("0, then the peak, then half of it", DEBS, _fixed(minutes.three_levels())),
    "spikes": Pattern("the cosine with sudden spikes up and down", OURS, _seeded(minutes.cosine, chance=0.05)),
    "sine": Pattern("two waves, the lowest an eighth of the peak", DAEDALUS, _fixed(
        Wave(SIX_HOURS, mean=22_500, swing=17_500, period=SIX_HOURS / 2, shift=0.25))),
    "advertising": Pattern("a day of clicks: one smooth peak after noon", f"{OURS}, after {DAEDALUS}", _fixed(
        Curve(SIX_HOURS, ADVERTISING))),
    "traffic": Pattern("a day of a city's cars: two sharp peaks", f"{OURS}, after {DAEDALUS}", _fixed(
        Curve(SIX_HOURS, TRAFFIC))),
}  # fmt: skip


def named(
    name: str,
    duration: float | None = None,
    peak: float | None = None,
    *,
    seed: int | None = None,
    noise: float = 0.0,
) -> Shape:
    """The workload with this name, or that of a file (`trace:FILE`), stretched to `duration` and scaled to `peak`.

    None keeps the native duration or peak. `noise` is a share of the rate, and rates may exceed the peak by that share.
    `seed` is for the noise and for random patterns.

    >>> named("constant", duration=60, peak=100)
    Constant(duration=60, level=100.0)
    >>> named("steps").duration, named("steps").highest()
    (5400, 2000000)
    """
    native = read_trace(name) if name.startswith(PREFIX) else _pattern(name).make(seed)
    if duration is not None and not duration > 0:
        raise InvalidInput(f"workload {name}: need duration > 0 s, got {duration}")
    if peak is not None and not peak > 0:
        raise InvalidInput(f"workload {name}: need a peak rate > 0 records/s, got {peak}")
    shape = native.scaled(duration, peak)
    return shape.noisy(seed or 0, noise) if noise else shape


def _pattern(name: str) -> Pattern:
    if name not in NAMED:
        raise UnknownName("workload", name, [*NAMED, f"{PREFIX}FILE"])
    return NAMED[name]
