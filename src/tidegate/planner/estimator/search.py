"""The capacity estimator (StreamBed, DEBS'24, section 4): the highest rate that a running query sustains.

A search does nothing itself. It asks for phases, which a driver carries out on a real or simulated deployment, and is
told what they showed. The same measurements give the same search, so an interrupted one goes on after they have been
told again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.core import InvalidInput
from tidegate.planner.estimator.estimate import BY_LIMIT, CapacityEstimate, Ending, undisputed
from tidegate.planner.estimator.evidence import Evidence
from tidegate.planner.estimator.phases import LEAST_RATE, MOST, Measurement, Phase, Probe, WarmUp
from tidegate.planner.estimator.search_settings import PLACE, SearchSettings
from tidegate.planner.estimator.verdict import Limit, Outcome, outcomes
from tidegate.planner.estimator.warm_up_series import WarmUpSeries

#: highest rate of a cooldown, as a share of the target
COOLDOWN_SHARE = 0.05


class CapacitySearch:
    """`warmup_rate` should be up to three times what the query can process. With less, the warm-up takes one more
    window for each time it has to be doubled. With far more, the first batch of a micro-batch engine takes minutes, as
    it has all records of a trigger interval.

    >>> search = CapacitySearch(warmup_rate=2500.0)
    >>> for phase in search:
    ...     processed = min(phase.rate, 1000.0)  # a query that processes 1000 records/s
    ...     search.tell(Measurement(phase.seconds, phase.rate, processed))
    >>> print(search.estimate())
    1 k records/s (990 to 1.02 k) after 2 probes in 4:00: the estimate is as precise as required

    It always ends, whatever is told: after `failures` failed phases, `probes` probes, or `budget` seconds. A probe that
    would exceed the budget is not begun.
    """

    def __init__(self, warmup_rate: float, settings: SearchSettings | None = None) -> None:
        if not LEAST_RATE <= warmup_rate <= MOST:
            rule = f"{LEAST_RATE:g} <= warm-up rate <= {MOST:g} records/s"
            raise InvalidInput(f"{PLACE}: need {rule}, got {warmup_rate:g}")
        self._settings = settings or SearchSettings()
        self._warm_up: WarmUpSeries | None = WarmUpSeries(self._settings, warmup_rate)
        self._evidence: Evidence | None = None
        self._phase: Phase | None = None
        self._ending = Ending.UNDERWAY
        self._probes, self._failures, self._failures_in_a_row = 0, 0, 0
        self._seconds, self._backlog, self._reached = 0.0, 0.0, 0.0

    def __iter__(self) -> Iterator[Phase]:
        """The phases to the end of the search. Each must be answered with `tell` before the next."""
        while (phase := self.next()) is not None:
            yield phase

    def next(self) -> Phase | None:
        """The phase to carry out, the same until its measurement is told. None if the search is over."""
        if self._phase is None and self._ending is Ending.UNDERWAY:
            planned = self._plan()
            if isinstance(planned, Ending):
                self._ending = planned
            else:
                self._phase = planned
        return self._phase

    def tell(self, measurement: Measurement) -> None:
        phase, self._phase = self._phase, None
        if phase is None:
            raise InvalidInput(f"{PLACE}: a measurement was told before a phase was asked for")
        seconds = measurement.seconds if 0 <= measurement.seconds <= MOST else phase.seconds
        measured = replace(measurement.credible(), seconds=seconds)
        self._seconds += seconds
        self._backlog = measured.backlog_end or 0.0
        self._reached = max(self._reached, measured.processed_rate or 0.0)
        usable = self._tell_window(measured) if isinstance(phase, WarmUp) else self._tell_probe(phase, measured)
        self._failures += not usable
        if self._failures > self._settings.failures:
            self._ending = Ending.QUERY_FAILED if measured.failure else Ending.UNMEASURED

    def estimate(self) -> CapacityEstimate:
        """What is known so far."""
        evidence = self._evidence
        lower, upper = undisputed(evidence.outcomes) if evidence else (0.0, None)
        return CapacityEstimate(
            rate=evidence.rate if evidence else None,
            interval=evidence.interval if evidence else (0.0, None),
            lower=lower,
            upper=upper,
            ending=self._ending,
            limit=evidence.limit if evidence else None,
            probes=self._probes,
            seconds=self._seconds,
            reached=self._reached,
        )

    def _plan(self) -> Phase | Ending:
        if self._warm_up is not None:
            return self._plan_window(self._warm_up)
        assert self._evidence is not None
        return self._plan_probe(self._evidence)

    def _plan_window(self, series: WarmUpSeries) -> Phase | Ending:
        if series.over and series.unchallenged:
            return self._plan_probe(self._finish(series))
        if series.over:
            return Ending.NOTHING_SUSTAINED if series.idle else Ending.NEVER_STEADY
        if not self._affordable(series.phase.seconds + self._settings.probe_seconds):
            return Ending.BUDGET
        return series.phase

    def _plan_probe(self, evidence: Evidence) -> Phase | Ending:
        if evidence.converged:
            return BY_LIMIT.get(evidence.limit, Ending.CONVERGED)
        probe = self._probe(evidence)
        if probe.rate < LEAST_RATE:
            return Ending.NOTHING_SUSTAINED
        if self._probes >= self._settings.probes or not self._affordable(probe.seconds):
            return Ending.BUDGET if evidence.sustained or not self._probes else Ending.NOTHING_SUSTAINED
        return probe

    def _probe(self, evidence: Evidence) -> Probe:
        s = self._settings
        last = self._probes + 1 >= s.probes or not self._affordable(2 * s.probe_seconds)
        target = min(MOST, evidence.target(last=last))
        # a backlog that is left over would be measured as load
        drain = min(s.drain_limit, self._backlog / evidence.accepted)
        cooldown_rate = min(s.cooldown_rate, COOLDOWN_SHARE * target)
        return Probe(target, cooldown_rate, s.cooldown + drain, s.injection, s.observation, s.batch_limit(target))

    def _affordable(self, seconds: float) -> bool:
        return self._seconds + seconds <= self._settings.budget

    def _tell_window(self, window: Measurement) -> bool:
        series = self._warm_up
        assert series is not None
        if window.failure:
            series.retreat()
            return False
        series.add(window)
        if series.steady and not series.unchallenged:
            self._finish(series)
        return True

    def _finish(self, series: WarmUpSeries) -> Evidence:
        self._warm_up = None
        if self._evidence is None:
            self._evidence = Evidence(self._settings, series.accepted, series.noise, series.overload)
        return self._evidence

    def _tell_probe(self, probe: Probe, measured: Measurement) -> bool:
        assert self._evidence is not None
        self._probes += 1
        if measured.failure:
            self._fail(probe.rate, self._evidence)
            return False
        shown = outcomes(probe.rate, measured, self._settings)
        self._evidence = self._evidence.extended(shown)
        if shown:
            self._failures_in_a_row = 0
        return bool(shown)

    def _fail(self, rate: float, evidence: Evidence) -> None:
        """A query that failed was restarted and has to warm up again. If it fails repeatedly, the rate was too much."""
        self._failures_in_a_row += 1
        if self._failures_in_a_row > self._settings.retries:
            self._failures_in_a_row = 0
            self._evidence = evidence = evidence.extended((Outcome(rate, False, 0.0, Limit.FAILURE),))
        lower, _ = undisputed(evidence.outcomes)
        self._warm_up = WarmUpSeries(self._settings, lower or rate / 2, fixed=True)
