"""How good is an estimate of capacity? Searches on simulated micro-batches whose capacity is known.

    python benchmarks/estimator.py [--seeds 200]

A batch takes 0.5 s and 0.1 ms of an executor for each record, at a trigger of 4 s on two executors. What counts as the
truth is the rate at which a batch of 1.1 triggers' records takes as long as those triggers, as probes allow batches of
that size. The machine's pace differs from one 15 s to the next by `noise`. Then the bundled models of four jobs, as
they are: how many searches with 1, 3 and 6 executors found a rate at all, and how long they warmed up.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.experiment import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate
from tidegate.planner.estimator.phases import WarmUp
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SHORT, SearchSettings
from tidegate.profiling.campaign import simulated_testbed
from tidegate.profiling.search_run import CHALLENGE, configured
from tidegate.sim.batch_model import BatchModel, text

TRIGGER, FIXED, COST, EXECUTORS = 4.0, 0.5, 1e-4, 2
CAPACITY = (1.1 * TRIGGER - FIXED) / (1.1 * TRIGGER) * EXECUTORS / COST
#: about what an executor of each can do, records/s
JOBS = {"q1": 500e3, "q11": 130e3, "q5": 25e3, "ysb": 60e3}
SIZES = (1, 3, 6)


@dataclass(frozen=True)
class Case:
    settings: SearchSettings
    noise: float
    seed: int


def searched(e: Experiment, executors: int, rate: float, settings: SearchSettings) -> tuple[CapacityEstimate, float]:
    """The estimate, and the seconds of its warm-up."""
    warm = 0.0
    with simulated_testbed(configured(e, executors, rate)) as testbed:
        search = CapacitySearch(CHALLENGE * rate, settings.for_trigger(TRIGGER))
        for phase in search:
            shown = testbed.measure(phase)
            warm += shown.seconds if isinstance(phase, WarmUp) else 0.0
            search.tell(shown)
    return search.estimate(), warm


def known(case: Case) -> CapacityEstimate:
    model = BatchModel("plain", fixed=FIXED, overhead=0.0, cost=COST, tasks=12, cold=0.0, noise=case.noise)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        file.write_text(text(model), encoding="utf-8")
        return searched(_experiment(str(file), EXECUTORS, case.seed), EXECUTORS, CAPACITY, case.settings)[0]


def _experiment(model: str, executors: int, seed: int) -> Experiment:
    return Experiment(
        job="q1", engine="sim", model=model, policy="static", maximum=executors, trigger=TRIGGER, period=1.0, seed=seed
    )


def bundled(job: str, seed: int, executors: int) -> tuple[bool, float]:
    estimate, warm = searched(_experiment(job, executors, seed), executors, JOBS[job] * executors, SHORT)
    return estimate.rate is not None, warm


def rows(pool: ProcessPoolExecutor, seeds: int) -> Iterator[str]:
    ours, long = replace(SHORT, budget=600.0), replace(SHORT, budget=1200.0)
    named = {"ours, 600 s": ours, "StreamBed's durations, 600 s": SearchSettings(), "ours, 1200 s": long}
    named |= {f"ours, {minutes} min": replace(SHORT, budget=60.0 * minutes) for minutes in (4, 5, 6)}
    yield "| search | noise | found a rate | within 3 % | 90 % interval holds | mean error |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, settings in named.items():
        for noise in (0.03, 0.05):
            estimates = [*pool.map(known, [Case(settings, noise, seed) for seed in range(seeds)], chunksize=8)]
            errors = [e.rate / CAPACITY - 1 for e in estimates if e.rate is not None]
            held = sum(e.interval[0] <= CAPACITY <= (e.interval[1] or 1e12) for e in estimates if e.rate is not None)
            cells = (len(errors) / seeds, sum(abs(error) <= 0.03 for error in errors) / seeds, held / seeds)
            shares = " | ".join(f"{cell:.1%}" for cell in cells)
            yield f"| {name} | {noise:.0%} | {shares} | {statistics.mean(errors):+.1%} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = parser.parse_args().seeds
    with ProcessPoolExecutor(2) as pool:
        for row in rows(pool, seeds):
            print(row, flush=True)
        print("| job | searches | found a rate | warm-up, mean |\n| --- | ---: | ---: | ---: |")
        for job in JOBS:
            cases = [(job, seed, executors) for seed in range(min(seeds, 12)) for executors in SIZES]
            shown = [*pool.map(bundled, *zip(*cases, strict=True))]
            warm = statistics.mean(seconds for _, seconds in shown)
            print(f"| `{job}` | {len(cases)} | {sum(found for found, _ in shown)} | {warm:.0f} s |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
