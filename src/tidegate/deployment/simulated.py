"""Deployments on a simulator, and whole simulated runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tidegate.control import Autoscaler, drive
from tidegate.core import InvalidInput, Sink
from tidegate.deployment.port import ClusterShape
from tidegate.experiment.settings import Experiment
from tidegate.experiment.simulation import SimulatedEngine, offered, run_length, simulator
from tidegate.planner.estimator.phases import Supply
from tidegate.score.recorder import TraceRecorder
from tidegate.score.trace import Cumulative, RunTrace
from tidegate.workloads import Shape


class SimulatedDeployment:
    """Offers the experiment's own load from the start; its policy is not used."""

    def __init__(self, e: Experiment) -> None:
        self._experiment = e
        self._arrivals = offered(e)
        self._until = run_length(e)
        self.engine: SimulatedEngine = simulator(e)

    @property
    def clock(self) -> SimulatedEngine:
        """The engine is its own clock."""
        return self.engine

    def offer(self, load: Shape) -> None:
        now = self.engine.time
        self.engine.offer(load)
        self._arrivals = _joined(self._arrivals, now, Cumulative.of(load))
        self._until = now + load.duration

    def supplied(self, rate: float, begin: float, end: float) -> Supply | None:
        return None

    def redeploy(self, shape: ClusterShape) -> None:
        """Only before the run has started, and not with another executor size, as a model is fitted to one size."""
        e = self._experiment
        if shape.executor != replace(shape.executor, cores=e.cores, memory=e.memory):
            raise InvalidInput(f"engine {e.engine}: its model has executors of {e.cores} cores, got {shape.executor}")
        if self.engine.time > 0:
            raise InvalidInput(f"engine {e.engine}: it can be redeployed only before it has run")
        self._experiment = replace(e, initial=shape.executors, partitions=shape.partitions or e.partitions)
        self.engine = simulator(self._experiment)

    def trace(self, recorder: TraceRecorder) -> RunTrace:
        recorded = recorder.trace(arrivals=self._arrivals, until=self._until, finished=self.engine.finished())
        return replace(recorded, failures=self._experiment.failures)

    def close(self) -> None:
        """Nothing to do."""


def _joined(before: Cumulative, now: float, after: Cumulative) -> Cumulative:
    """One load until `now`, then another."""
    if now == 0.0:
        return after
    base, past = float(before.by(now)), before.times < now
    times = np.concatenate([before.times[past], after.times + now])
    return Cumulative(times, np.concatenate([before.totals[past], after.totals + base]))


def simulate(e: Experiment, scaler: Autoscaler | None = None, sinks: Sequence[Sink] = ()) -> RunTrace:
    """Run the experiment on its simulator, with its own policy unless another autoscaler is passed.

    A policy that needs a profile must have one: see `profiling.with_profile`.
    """
    deployment, recorder = SimulatedDeployment(e), TraceRecorder(batches=False)
    autoscaler = e.autoscaler() if scaler is None else scaler
    engine = deployment.engine
    drive(engine, autoscaler, engine, (recorder, *sinks), period=e.period, act=e.mode == "active")
    return deployment.trace(recorder)
