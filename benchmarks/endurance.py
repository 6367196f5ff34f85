"""Memory of a score and of policies over months of an attached run.

The ticks are those of `synthetic`, a daily wave with peaks, failures and lost executors, shown to each as `attach`
would show them. Printed after 1, 7, 30 and 90 days: the memory that each holds (`tracemalloc`), that of what a policy
saves (`memory()`), and of the score the seconds that a look at its figures takes.

    python benchmarks/endurance.py [--days 90] [--period 1] [--policies hpa-cpu daedalus]
"""

import argparse
import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from synthetic import DAY, LongRun
from tidegate.control import Autoscaler
from tidegate.core import Limits, Tick
from tidegate.presets import autoscaler
from tidegate.score import RollingScore

#: days after which memory is read
LOOKS = (1, 7, 30, 90)


class Watching(Protocol):
    def take(self, tick: Tick) -> None: ...


Watcher = TypeVar("Watcher", bound=Watching)


def held(make: Callable[[], Watcher], days: float, period: float) -> Iterator[tuple[Watcher, float, float]]:
    """A watcher of ticks after some days, and the MB that it holds by then."""
    first = make()
    for tick in LongRun(seconds=5000 * period, period=period).ticks():  # whatever is imported at the first use
        first.take(tick)
    looks = [look for look in LOOKS if look <= days] or [days]
    tracemalloc.start()
    watcher = make()
    for number, tick in enumerate(LongRun(seconds=looks[-1] * DAY, period=period).ticks(), 1):
        watcher.take(tick)
        if number * period >= looks[0] * DAY:
            del tick
            gc.collect()
            yield watcher, looks.pop(0), tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()


def score(days: float, period: float) -> None:
    start = LongRun().start
    for rolling, day, memory in held(lambda: RollingScore(slo=10.0, start=start), days, period):
        begun = time.process_time()
        found = rolling.figures()
        took = time.process_time() - begun
        p95 = found.latency.p95 if found.latency else None
        print(f"score      {day:3} days {memory:6.2f} MB; {found.processed:,} records, p95 {p95} s, in {took:.3f} s")


class Deciding:
    """Observes every tick and decides when it is due, without an engine to act on."""

    def __init__(self, scaler: Autoscaler) -> None:
        self.scaler, self._due = scaler, 0.0

    def take(self, tick: Tick) -> None:
        obs = tick.observation
        self.scaler.observe(obs)
        if obs.time >= self._due:
            self.scaler.decide(obs)
            self._due = obs.time + self.scaler.interval


def policy(name: str, days: float, period: float) -> None:
    limits = Limits(1, LongRun().executors)
    for deciding, day, memory in held(lambda: Deciding(autoscaler(name, limits, slo=10.0)), days, period):
        saved = len(json.dumps(deciding.scaler.memory())) / 1e6
        print(f"{name:10} {day:3} days {memory:6.2f} MB; saved {saved:.3f} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=float, default=90)
    parser.add_argument("--period", type=float, default=1.0)
    parser.add_argument("--policies", nargs="*", default=["hpa-cpu", "daedalus"])
    given = parser.parse_args()
    score(given.days, given.period)
    for name in given.policies:
        policy(name, given.days, given.period)


if __name__ == "__main__":
    main()
