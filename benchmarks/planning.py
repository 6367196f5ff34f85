"""Is a plan true? On real executors: what is estimated must hold, and what is predicted must be measured.

    python benchmarks/planning.py [--jobs q1 q5 q11] [--quota 0.3] [--budget 15] [--folder .tidegate/planning]

For each job: capacity searches with 1 to 3 executors, within the budget; from these a prediction for 4, written to the
folder before anything is run with 4; a search with 4; and 5 minutes with 3 executors in a session of their own, at the
lower end of what the search with 3 estimated, and then 2 minutes at 130 % of it. A step that is in the folder is not
run again, so an interrupted benchmark goes on.

Exit code 1 if a rate does not hold, 130 % of one does, or a prediction is more than 15 % off.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tidegate.experiment.settings import Experiment
from tidegate.planner.averaging import average
from tidegate.planner.estimator.phases import Measurement, Probe, WarmUp
from tidegate.planner.estimator.search_settings import SHORT, SearchSettings
from tidegate.planner.estimator.verdict import outcomes
from tidegate.planner.explorer import Exploration, ExplorationRules
from tidegate.planner.measurement import Measurement as Measured
from tidegate.planner.space import Space
from tidegate.profiling.campaign import Campaign, spark_testbed
from tidegate.profiling.search_run import Searcher, SearchRun, configured

TRAINED, PREDICTED = (1, 2, 3), 4
#: seconds of a run, and of those the ones that are measured: of the one that must hold, and of the overload after it
HELD, OVERLOADED = (300.0, 270.0), (120.0, 90.0)
#: of the search with the executors that were predicted, and windows of the warm-up of a run
FRESH = 440.0
WINDOWS = 5
OVERLOAD, ALLOWED = 1.3, 0.15
Json = dict[str, Any]


class Steps:
    """The results of a job's steps, in a file that is written after each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.done: Json = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def run(self, name: str, step: Callable[[], Json]) -> Json:
        if name not in self.done:
            began = time.monotonic()
            shown = step()
            self.done[name] = {**shown, "minutes": round((time.monotonic() - began) / 60, 2)}
            self._file.write_text(json.dumps(self.done, indent=1), encoding="utf-8")
            say(f"{name}: {json.dumps(self.done[name])}")
        result: Json = self.done[name]
        return result


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def searched(e: Experiment, executors: tuple[int, ...], minutes: float) -> Json:
    estimates: list[Json] = []

    def keep(exploration: Exploration, run: SearchRun) -> None:
        probe = exploration.probes[-1]
        say(f"{e.job}, {probe.slots} executors: {run.estimate}")
        estimates.append(asdict(probe) | {"text": str(run.estimate)})

    exploration = Exploration(Space.of([*executors], [e.memory]), ExplorationRules(minutes=minutes, worse=1e9))
    searcher = Searcher(
        e, SHORT, spark_testbed,
        lambda question, phase, seconds: say(f"  {question.slots}: {type(phase).__name__} at {phase.rate:,.0f}/s"),
    )  # fmt: skip
    Campaign(searcher, keep).run(exploration)
    return {"probes": estimates}


def predicted(e: Experiment, probes: list[Json]) -> Json:
    points = [Measured(probe["slots"], probe["memory"], probe["rate"]) for probe in probes if probe["rate"]]
    capacity = average(points)
    return {**asdict(capacity.interval(PREDICTED)), "laws": [asdict(weight) for weight in capacity.weights[:3]]}


def held(e: Experiment, rate: float, settings: SearchSettings) -> Json:
    """A run of its own at a rate, and at 130 % of it after that."""
    limit, shown = settings.batch_limit(rate), {}
    with spark_testbed(configured(e, max(TRAINED), rate)) as testbed:
        for _ in range(WINDOWS):
            testbed.measure(WarmUp(rate, settings.window, limit))
        for name, multiple, (seconds, observed) in (("held", 1.0, HELD), ("overload", OVERLOAD, OVERLOADED)):
            target, limit = multiple * rate, settings.batch_limit(multiple * rate)
            long = replace(settings, injection=seconds, observation=observed, budget=3600.0)
            measured = testbed.measure(
                Probe(target, settings.cooldown_rate, settings.cooldown, seconds, observed, limit)
            )
            shown[name] = summary(target, measured, long)
            say(f"{e.job} at {target:,.0f}/s: {shown[name]}")
    return {"rate": rate, **shown}


def summary(rate: float, measured: Measurement, settings: SearchSettings) -> Json:
    verdicts = outcomes(rate, measured, settings)
    return {
        "sustained": bool(verdicts) and verdicts[0].sustained,
        "share": None if measured.processed_rate is None else round(measured.processed_rate / rate, 4),
        "backlog_seconds": [
            None if value is None else round(value / rate, 2)
            for value in (measured.backlog_begin, measured.backlog_end)
        ],
        "latency": [measured.latency_begin, measured.latency_end],
        "failure": measured.failure,
    }


def _seconds(records: float | None, rate: float) -> float | None:
    return None if records is None else round(records / rate, 2)


def plan(e: Experiment, budget: float, folder: Path) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    settings, steps = SHORT.for_trigger(e.trigger), Steps(folder / f"{e.job}.json")
    trained = steps.run("trained", lambda: searched(e, TRAINED, budget))["probes"]
    prediction = steps.run("predicted", lambda: predicted(e, trained))
    fresh = steps.run("fresh", lambda: searched(e, (PREDICTED,), FRESH / 60))["probes"][0]
    largest = [probe for probe in trained if probe["slots"] == max(TRAINED) and probe["rate"]]
    rate = min(probe["low"] for probe in largest)
    run = steps.run("held", lambda: held(e, rate, settings))
    error = prediction["median"] / fresh["rate"] - 1 if fresh["rate"] else math.inf
    rates = ", ".join(f"{probe['slots']}: {probe['rate']:,.0f}" for probe in trained if probe["rate"])
    print(f"{e.job}: {rates}, in {steps.done['trained']['minutes']} minutes")
    interval = f"{prediction['low']:,.0f} to {prediction['high']:,.0f}"
    measured = f"measured {fresh['rate'] or 0:,.0f}"
    print(f"  with 4 predicted {prediction['median']:,.0f} ({interval}), {measured}: {error:+.1%}")
    for name in ("held", "overload"):
        print(
            f"  {name} ({rate:,.0f}/s with 3): {run[name]['share']:.1%} processed, sustained: {run[name]['sustained']}"
        )
    good = run["held"]["sustained"] and not run["overload"]["sustained"]
    return bool(abs(error) <= ALLOWED and good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="+", default=["q1", "q5", "q11"])
    parser.add_argument("--quota", type=float, default=0.3)
    parser.add_argument("--trigger", type=float, default=4.0)
    parser.add_argument("--budget", type=float, default=15.0, help="minutes of the searches with 1 to 3 executors")
    parser.add_argument("--folder", type=Path, default=Path(".tidegate/planning"))
    words = parser.parse_args()
    good = [
        plan(
            Experiment(
                job=job, engine="spark", trigger=words.trigger, quota=words.quota,
                policy="static", maximum=PREDICTED, duration=3600.0, period=1.0, memory=512,
            ),
            words.budget,
            words.folder,
        )
        for job in words.jobs
    ]  # fmt: skip
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
