"""The demo: a load that is adapted to the machine it runs on.

First the capacity of one executor is measured with a full backlog; then a tide is offered that needs one executor at
its lowest and two to three at its highest point. Both run on the same Spark session.
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

#: length of the tide, s
DURATION = 150.0
#: batches to measure, after the first one, and maximum length of the measurement, s
BATCHES, LONGEST = 4, 40.0
#: more than any executor can process, records/s
PLENTY = 20_000_000.0
#: height of the tide in executors at full speed; the policy's target requires three for it
PEAK = 1.3
#: share of the machine's cores for all executors; the rest is for the driver and other processes
SHARE = 0.55


class View(Sink, Protocol):
    def say(self, message: str) -> None: ...


def demo_experiment(duration: float = DURATION) -> Experiment:
    """The experiment of the demo, without its rate.

    The tide takes minutes instead of a day, so everything that takes minutes on Kubernetes takes seconds here.
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
    """Start Spark, measure the capacity, and run the demo."""
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
    """Records per second of one executor under its quota, with a full backlog."""
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
