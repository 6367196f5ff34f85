"""Carries out the phases of a capacity search on a deployment, real or simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from tidegate.core import Batch, Decision, Lever, Observation, QueryEnded, QueryFailed, Target
from tidegate.deployment.port import Deployment
from tidegate.experiment.settings import Experiment
from tidegate.planner.estimator.phases import Measurement, Phase, Probe
from tidegate.planner.estimator.whole_batches import measurement
from tidegate.profiling.machine_load import ReadCpuTimes, saturated
from tidegate.workloads import Constant

#: seconds between two observations
PERIOD = 1.0
#: seconds for which a load lasts longer than its phase, whenever the next one is offered
SLACK = 120.0
#: triggers' worth of records that wait even if nothing is left over: one arrives while the other is processed
USUAL_WAIT = 2.0
#: most observations that are kept of a warm-up, its last ones, and in total
KEPT_WARM_UP, KEPT = 45, 900


class Testbed:
    """A deployment whose load changes while it runs, with a fixed number of executors. `resume` starts a query that has
    failed from its checkpoint, `restart` a new one. `machine` reads the CPU times of this machine; None if executors
    run elsewhere, or nowhere.
    """

    __test__ = False  # its name begins as pytest's classes do

    def __init__(
        self,
        deployment: Deployment,
        executors: int,
        trigger: float,
        resume: Callable[[], None] | None = None,
        restart: Callable[[float], Testbed] | None = None,
    ) -> None:
        self._deployment, self._executors, self._trigger, self._resume = deployment, executors, trigger, resume
        self._restart = restart
        self.machine: ReadCpuTimes | None = None
        self._batches: list[Batch] = []
        self._kept: list[Observation] = []
        self._probed = False

    @property
    def observations(self) -> Sequence[Observation]:
        """Of the probes and of the last windows of the warm-up, in order of time: loads that differ, on warm executors.
        They have figures of state only where the load had been the same for a while.
        """
        return tuple(self._kept)

    def begin_again(self, rate: float) -> Testbed:
        """The query from its first record, with event time that advances at `rate`, on the same executors."""
        return self if self._restart is None else self._restart(rate)

    def measure(self, phase: Phase) -> Measurement:
        clock = self._deployment.clock
        start = clock.now()
        try:
            observed, busy = self._carry_out(phase)
        except (QueryFailed, QueryEnded) as error:
            if self._resume is not None:
                self._resume()
            return Measurement(clock.now() - start, failure=str(error) or "the query ended")
        end = clock.now()
        begin = end - phase.observation if isinstance(phase, Probe) else start
        shown = measurement(self._batches, begin, end, phase.rate)
        supply = self._deployment.supplied(phase.rate, begin, end)
        shown = supply.limits(shown) if supply else shown
        return replace(
            shown,
            seconds=end - start,
            state_rows=observed[-1].state_rows if observed else None,
            driver_share=_driver_share(observed),
            machine_saturated=busy,
        )

    def _carry_out(self, phase: Phase) -> tuple[list[Observation], bool]:
        """The observations of the part that is measured, and whether the machine had no CPU time left during it."""
        if Lever.BATCH_LIMIT in self._deployment.engine.levers and phase.batch_limit:
            target = Target(self._executors, batch_limit=phase.batch_limit)
            self._deployment.engine.scale(Decision(target, "limit of the phase"))
        before: list[Observation] = []
        seconds = phase.seconds
        if isinstance(phase, Probe):
            before += self._offer(phase.cooldown_rate, phase.cooldown, until_idle=True)
            before += self._offer(phase.rate, phase.injection - phase.observation)
            seconds = phase.observation
        begun = self.machine() if self.machine else None
        observed = self._offer(phase.rate, seconds)
        busy = self.machine is not None and saturated(begun, self.machine())
        self._keep(phase, before, observed)
        return observed, busy

    def _keep(self, phase: Phase, before: Sequence[Observation], observed: Sequence[Observation]) -> None:
        """A warm-up after a probe is that of a query that had failed, and shows nothing new."""
        if isinstance(phase, Probe):
            self._probed = True
            self._kept += [*map(_without_state, before), *observed]
            del self._kept[:-KEPT]
        elif not self._probed:
            self._kept += map(_without_state, observed)
            del self._kept[:-KEPT_WARM_UP]

    def _offer(self, rate: float, seconds: float, *, until_idle: bool = False) -> list[Observation]:
        clock = self._deployment.clock
        self._deployment.offer(Constant(seconds + SLACK, rate))
        end = clock.now() + seconds
        observed = []
        while clock.now() < end:
            clock.sleep_until(min(end, clock.now() + PERIOD))
            obs = self._deployment.engine.observe()
            self._batches += obs.batches
            observed.append(obs)
            if (
                until_idle
                and obs.batches
                and obs.backlog is not None
                and obs.backlog <= USUAL_WAIT * rate * self._trigger
            ):
                break
        # older batches are not looked at again
        del self._batches[:-1000]
        return observed


def _without_state(obs: Observation) -> Observation:
    """Where the load is another than before, state is still that of the other one."""
    return replace(obs, state_rows=None, state_bytes=None)


def _driver_share(observed: Sequence[Observation]) -> float | None:
    """The share of a cycle in which a batch ran, but not even the busiest executor worked."""
    shares = []
    for obs in observed:
        busy = [sample.busy for sample in obs.per_executor if sample.busy is not None]
        if busy and obs.batch_duration is not None and obs.trigger:
            shares.append(max(0.0, min(1.0, obs.batch_duration / obs.trigger) - max(busy)))
    return sum(shares) / len(shares) if shares else None


#: a deployment of an experiment with its executors, ready for the first phase
OpenTestbed = Callable[[Experiment], AbstractContextManager[Testbed]]
