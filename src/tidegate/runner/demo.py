"""The demo: a load that suits the machine it runs on, whichever that is.

What one executor can do here and now is measured first, with everything waiting; then a tide is offered that needs one
executor at its lowest and two to three at its highest. Both run on one Spark session.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Protocol

from tidegate.cluster.session import workspace
from tidegate.control import drive
from tidegate.core import EnvironmentMissing, Sink, Tick
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host, warm_up
from tidegate.experiment.settings import Experiment
from tidegate.runner.outcome import Outcome
from tidegate.runner.spark_run import run_on
from tidegate.score.recorder import TraceRecorder
from tidegate.store import Store

#: of the tide, s
DURATION = 150.0
#: batches of the measurement that count, after the first, and how long it may take, s
BATCHES, LONGEST = 4, 40.0
#: more than any executor can do, records/s
PLENTY = 20_000_000.0
#: the tide's height, in executors at full speed: at the policy's target that takes three
PEAK = 1.5
#: of a core, all executors together; the rest is for the driver and whoever else is there
SHARE = 0.55


class View(Sink, Protocol):
    def say(self, message: str) -> None: ...


def demo_experiment(duration: float = DURATION) -> Experiment:
    """Of which only the rate is still to be found.

    A tide of minutes, not of a day: everything that Kubernetes counts in minutes is counted in seconds.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Experiment(
        duration=duration,
        maximum=3,
        quota=round(min(0.35, SHARE * cores / 3), 2),
        partitions=6,
        options={"interval": 5, "window": 10, "readiness": 10, "down-window": 15, "target": 0.6},
        slo=15.0,
    )


def run(e: Experiment, store: Store, view: View) -> Outcome:
    """Start Spark, measure, run."""
    with workspace() as folder:
        view.say("starting Spark on an embedded cluster with 1 executor")
        try:
            with spark_host(e, folder) as host:
                view.say("warming up")
                warm_up(host, e)
                host.bind()
                view.say("measuring what one executor can do here")
                rate = float(f"{PEAK * capacity(host, e):.2g}")
                view.say(f"the tide will rise to {rate:,.0f} records/s")
                outcome = run_on(host, replace(e, peak=rate), store, view.say, (view,))
                view.say("stopping Spark")
                return outcome
        except KeyboardInterrupt:
            return Outcome("", "interrupted")


def capacity(host: SparkHost, e: Experiment) -> float:
    """Records per second of one executor under its quota, with more waiting than it can do."""
    if host.quotas is not None:
        host.quotas.bind_now()
    probe = replace(
        e, workload="constant", duration=LONGEST, peak=PLENTY, limit=200_000, trigger=0.1, policy="static",
        options={"executors": 1}, verify=False, mode="monitor",
    )  # fmt: skip
    deployment, recorder = SparkDeployment(host, probe), TraceRecorder()
    try:
        deployment.start()

        def enough(tick: Tick | None) -> bool:
            return len(recorder.trace().finished.times) > BATCHES or time.time() > deployment.start_time + LONGEST

        drive(deployment.engine, probe.autoscaler(), deployment.clock, (recorder,), period=0.5, act=False, until=enough)
        finished = recorder.trace(deployment.start_time).finished
    finally:
        deployment.close()
    if len(finished.times) < 2:
        raise EnvironmentMissing(
            f"one executor of {e.quota} cores did not finish two batches of {probe.limit:,} records in {LONGEST:g} s:"
            " this machine is too busy for the demo"
        )
    return float((finished.ends[-1] - finished.ends[0]) / (finished.times[-1] - finished.times[0]))
