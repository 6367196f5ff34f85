"""Cost of a policy: time of `observe` and `decide` after six hours of one-second history, and its size after a week.

Every policy gets the observations of a query on Spark: a load that rises and falls twice a day with 5 % noise, four
executors, a batch every four seconds. The time is that of one observation and one decision, for each second of the last
ten minutes of six hours, so that it includes every forecast, fit and retraining; garbage collection stays on. The size
is that of everything a policy references, and of its memory as JSON.

    python benchmarks/policies.py [--hours 6] [--days 7] [NAME …]
"""

import argparse
import gc
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np

from tidegate.control import Autoscaler
from tidegate.core import Batch, ExecutorSample, Limits, Observation, OperatorSample
from tidegate.presets import PRESETS, autoscaler

TRIGGER, EXECUTORS, CAPACITY = 4.0, 4, 25_000.0
DAY = 86_400.0
#: the policies whose answers need a forecast, which may take longer
FORECASTING = ("daedalus", "phoebe", "twres")


def observations(seconds: float, seed: int = 0) -> Iterator[Observation]:
    draw = random.Random(seed)
    arrived = done = 0.0
    for k in range(int(seconds)):
        rate = (50_000 + 35_000 * math.sin(4 * math.pi * k / DAY)) * draw.uniform(0.95, 1.05)
        arrived += rate
        batches: tuple[Batch, ...] = ()
        if k % TRIGGER == 2:
            batches = (Batch(k // 4, k - 2.0, float(k), done, arrived, arrived),)
            done = arrived
        share = rate / (EXECUTORS * CAPACITY)
        executors = tuple(
            ExecutorSample(
                str(n), cpu=share * draw.uniform(0.9, 1.1), busy=share, rate=rate / 4, uptime=k + 600, tasks=1
            )
            for n in range(EXECUTORS)
        )
        stages = (
            OperatorSample("stage 0", (), 12, rate, rate, 0.6 * share * EXECUTORS),
            OperatorSample("stage 1", ("stage 0",), 12, rate, rate / 50, 0.4 * share * EXECUTORS),
        )
        yield Observation(
            float(k), EXECUTORS, EXECUTORS, rate, rate, arrived - done, 5.0, TRIGGER, 2.0, ceiling=12,
            per_executor=executors, operators=stages, batches=batches,
        )  # fmt: skip


def turns(scaler: Autoscaler, hours: float) -> list[float]:
    """Seconds of each turn of the last ten minutes."""
    spent, begin = [], hours * 3600 - 600
    for obs in observations(hours * 3600):
        started = time.perf_counter()
        scaler.observe(obs)
        if obs.time >= begin:
            scaler.decide(obs)
            spent.append(time.perf_counter() - started)
    return spent


def size(thing: object, seen: set[int]) -> int:
    """Bytes of an object and everything it references, except classes and modules."""
    if id(thing) in seen or isinstance(thing, type):
        return 0
    seen.add(id(thing))
    own = sys.getsizeof(thing) + (thing.nbytes if isinstance(thing, np.ndarray) and thing.base is not None else 0)
    if isinstance(thing, dict):
        return own + sum(size(key, seen) + size(value, seen) for key, value in thing.items())
    if isinstance(thing, str | bytes | int | float | np.ndarray) or thing is None:
        return own
    if is_dataclass(thing):
        return own + sum(size(getattr(thing, one.name), seen) for one in fields(thing))
    inner = thing if hasattr(thing, "__iter__") else vars(thing).values() if hasattr(thing, "__dict__") else ()
    return own + sum(size(one, seen) for one in inner)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(PRESETS))
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--days", type=float, default=7)
    given = parser.parse_args()
    print("policy           median     p99     max   limit     after a week   as JSON")
    for name in given.names:
        spent = sorted(turns(autoscaler(name, Limits(1, 16)), given.hours))
        p99, limit = spent[int(0.99 * len(spent))], 20 if name in FORECASTING else 1
        week = autoscaler(name, Limits(1, 16))
        for obs in observations(given.days * DAY):
            week.observe(obs)
            if obs.time % 15 == 0:
                week.decide(obs)
        gc.collect()
        kept = len(json.dumps(week.memory()))
        times = f"{statistics.median(spent) * 1e3:6.3f} {p99 * 1e3:7.3f} {spent[-1] * 1e3:7.3f} {limit:4} ms"
        print(f"{name:15} {times}  {size(week, set()) / 1e6:9.3f} MB {kept / 1e6:7.3f} MB", flush=True)


if __name__ == "__main__":
    main()
