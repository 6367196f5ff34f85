"""Whole capacity searches on small deterministic queries, and on the project's simulator."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import Batch, Decision, InvalidInput, Target
from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment.settings import Experiment
from tidegate.planner.estimator.estimate import CapacityEstimate, Ending
from tidegate.planner.estimator.phases import Measurement, Phase, Probe, WarmUp
from tidegate.planner.estimator.search import CapacitySearch
from tidegate.planner.estimator.search_settings import SHORT, SearchSettings
from tidegate.planner.estimator.verdict import Limit
from tidegate.planner.estimator.whole_batches import measurement
from tidegate.sim.batch_model import BatchModel, text
from tidegate.sim.pace import Pace
from tidegate.workloads import Constant

CAPACITY = 10_000.0


@dataclass
class Fluid:
    """Processes up to `capacity` at the machine's pace, slower while cold, and lets the rest wait. State fills up."""

    capacity: float = CAPACITY
    seed: int = 0
    noise: float = 0.0
    cold: float = 0.5
    state: float = 1e6
    time: float = 0.0
    backlog: float = 0.0

    def measure(self, phase: Phase) -> Measurement:
        if isinstance(phase, Probe):
            self.run(phase.cooldown_rate, phase.cooldown)
            self.run(phase.rate, phase.injection - phase.observation)
        seconds = phase.observation if isinstance(phase, Probe) else phase.seconds
        begin = self.backlog
        processed = self.run(phase.rate, seconds) / seconds
        rows = self.state * -math.expm1(-self.time / 30)
        return Measurement(phase.seconds, phase.rate, processed, begin, self.backlog, state_rows=rows)

    def run(self, rate: float, seconds: float) -> float:
        processed = 0.0
        pace, end = Pace(self.seed, self.noise), self.time + seconds
        while self.time < end:
            step = min(5.0, end - self.time)
            warm = 1 - self.cold * math.exp(-self.time / 30)
            able = self.capacity * warm * pace.worth(self.time, self.time + step)
            done = min(self.backlog + rate * step, able)
            self.backlog += rate * step - done
            self.time += step
            processed += done
        return processed


@dataclass
class MicroBatches:
    """Batches on the grid of a trigger, each with a fixed time and a time per record. Its capacity is the rate at which
    a batch of the records of 1.1 triggers takes as long.
    """

    seed: int = 0
    noise: float = 0.0
    trigger: float = 4.0
    fixed: float = 0.5
    time: float = 0.0
    free: float = 0.0
    #: (since when, records by then, rate)
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)
    batches: list[Batch] = field(default_factory=list)

    @property
    def cost(self) -> float:
        longest = 1.1 * self.trigger
        return (longest - self.fixed) / (CAPACITY * longest)

    def measure(self, phase: Phase) -> Measurement:
        assert phase.batch_limit is not None
        if isinstance(phase, Probe):
            self.run(phase.cooldown_rate, phase.cooldown, phase.batch_limit)
            self.run(phase.rate, phase.injection - phase.observation, phase.batch_limit)
        begin = self.time
        self.run(phase.rate, phase.observation if isinstance(phase, Probe) else phase.seconds, phase.batch_limit)
        finished = [batch for batch in self.batches if batch.finished <= self.time]
        return replace(measurement(finished, begin, self.time, phase.rate), seconds=phase.seconds)

    def run(self, rate: float, seconds: float, limit: int) -> None:
        since, records, before = self.load
        self.load = (self.time, records + before * (self.time - since), rate)
        end = self.time + seconds
        while (planned := self.planned()) < end:
            self.batch(planned, limit)
        self.time = end

    def planned(self) -> float:
        """At the next trigger after the last planning, or at once if that is over."""
        if not self.batches:
            return 0.0
        return max(self.free, (math.floor(self.batches[-1].planned / self.trigger + 1e-9) + 1) * self.trigger)

    def batch(self, planned: float, limit: int) -> None:
        since, records, rate = self.load
        arrived = records + rate * (planned - since)
        begin = self.batches[-1].end if self.batches else 0.0
        end = min(arrived, begin + limit)
        warm = 1 + 0.5 * math.exp(-planned / 30)
        self.free = Pace(self.seed, self.noise).after(planned, self.fixed + self.cost * (end - begin) * warm)
        self.batches.append(Batch(len(self.batches), planned, self.free, begin, end, arrived))


def search(
    measure: Callable[[Phase], Measurement], settings: SearchSettings = SHORT, warmup_rate: float = 2.5 * CAPACITY
) -> tuple[CapacityEstimate, list[Phase]]:
    asked = CapacitySearch(warmup_rate, settings)
    phases = []
    for phase in asked:
        phases.append(phase)
        asked.tell(measure(phase))
    return asked.estimate(), phases


def probes(phases: list[Phase]) -> list[Probe]:
    return [phase for phase in phases if isinstance(phase, Probe)]


# what is estimated


def test_a_query_without_noise_takes_few_probes() -> None:
    estimate, phases = search(lambda phase: Measurement(phase.seconds, phase.rate, min(phase.rate, CAPACITY)))
    assert estimate.ending is Ending.CONVERGED
    assert estimate.rate == pytest.approx(CAPACITY, rel=0.01)
    assert estimate.probes == len(probes(phases)) <= 3
    assert estimate.seconds == sum(phase.seconds for phase in phases)
    assert estimate.lower <= CAPACITY <= (estimate.upper or 0)
    assert not estimate.lower_bound_only


def test_the_first_target_is_what_the_warm_up_accepted() -> None:
    _, phases = search(lambda phase: Measurement(phase.seconds, phase.rate, min(phase.rate, 8000.0)))
    assert [type(phase) for phase in phases[:7]] == [WarmUp] * 6 + [Probe]
    assert phases[6].rate == 8000


def fluid(seed: int) -> CapacityEstimate:
    return search(Fluid(seed=seed, noise=0.03).measure)[0]


def batches(seed: int) -> CapacityEstimate:
    return search(MicroBatches(seed=seed, noise=0.03).measure, SHORT.for_trigger(4.0))[0]


@pytest.mark.parametrize("estimated", [fluid, batches])
def test_within_3_percent_of_the_truth_for_95_percent_of_200_seeds(
    estimated: Callable[[int], CapacityEstimate],
) -> None:
    rates = [estimated(seed).rate or 0.0 for seed in range(200)]
    assert sum(abs(rate / CAPACITY - 1) <= 0.03 for rate in rates) >= 190


def test_the_whole_search_on_the_simulator(tmp_path: Path) -> None:
    """A batch takes 1 s and 10 µs per record and executor, so the records of 11 s take 11 s at
    10 / (11 * 1e-5 / 2) = 181,818 records/s.
    """
    path = tmp_path / "plain.json"
    path.write_text(text(BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-5, tasks=12, noise=0.03)))
    e = Experiment(engine="sim", job="plain", model=str(path), policy="static", initial=2, maximum=2, trigger=10.0)
    for seed in range(5):
        driver = SimulatedDriver(SimulatedDeployment(replace(e, seed=seed)))
        estimate, _ = search(driver.measure, SHORT.for_trigger(10.0), warmup_rate=500_000.0)
        assert estimate.rate == pytest.approx(181_818, rel=0.04)


@dataclass
class SimulatedDriver:
    """Carries out phases on a simulated deployment."""

    deployment: SimulatedDeployment
    batches: list[Batch] = field(default_factory=list)

    def measure(self, phase: Phase) -> Measurement:
        engine = self.deployment.engine
        engine.scale(Decision(Target(2, batch_limit=phase.batch_limit), "limit of the phase"))
        start = engine.now()
        if isinstance(phase, Probe):
            self.offer(phase.cooldown_rate, phase.cooldown)
            self.offer(phase.rate, phase.injection)
        else:
            self.offer(phase.rate, phase.seconds)
        end = engine.now()
        begin = end - phase.observation if isinstance(phase, Probe) else start
        self.batches += engine.observe().batches
        return replace(measurement(self.batches, begin, end, phase.rate), seconds=end - start)

    def offer(self, rate: float, seconds: float) -> None:
        self.deployment.offer(Constant(seconds, rate))
        self.deployment.clock.sleep_until(self.deployment.clock.now() + seconds)


# which rates are asked


def test_a_warm_up_that_the_query_keeps_up_with_doubles() -> None:
    _, phases = search(lambda phase: Measurement(phase.seconds, phase.rate, min(phase.rate, 1000.0)), warmup_rate=300.0)
    # 1200 is too much; then the 1000 that were processed, and 0.3 of 1000, as no backlog is known
    assert [phase.rate for phase in phases[:5]] == [300, 600, 1200, 1300, 1300]


def test_a_warm_up_keeps_a_backlog_of_about_a_window() -> None:
    _, phases = search(Fluid(cold=0.0).measure)
    # 15 s of 25,000/s leave 15 * 15,000; 10,000 + 0.3 * (10,000 - 15,000) = 8500; then 15 * 13,500 are left: 8950
    assert [phase.rate for phase in phases[:4]] == pytest.approx([25_000, 8500, 8950, 9265])


def test_a_backlog_is_processed_before_a_probe() -> None:
    _, phases = search(Fluid(cold=0.0).measure)
    # the first of ten windows leaves 15 s of 15,000/s; each takes away 0.3 of what is more than 15 s of 10,000/s
    assert probes(phases)[0].cooldown == pytest.approx(8 + 15 * (1 + 0.5 * 0.7**9))
    assert probes(phases)[0].cooldown_rate == 200
    _, phases = search(Fluid(capacity=100.0, cold=0.0).measure, warmup_rate=250.0)
    assert probes(phases)[0].cooldown_rate == pytest.approx(5)  # a twentieth of 100


def test_the_rate_that_was_reached_under_overload_is_the_next_guess() -> None:
    rates = iter([1000.0, 620.0])

    def measure(phase: Phase) -> Measurement:
        processed = 1000.0 if isinstance(phase, WarmUp) else min(phase.rate, next(rates, 620.0) * 0.62)
        return Measurement(phase.seconds, phase.rate, processed)

    _, phases = search(measure, warmup_rate=2000.0)
    first, second, *_ = probes(phases)
    # the warm-up promised 1000, of which 620 were reached
    assert first.rate == 1000
    assert 550 < second.rate < 700


def test_a_warm_up_may_promise_far_too_much() -> None:
    """Overloaded, this query processes 95 % of anything: each hint is wrong."""

    def measure(phase: Phase) -> Measurement:
        processed = 1000.0 if isinstance(phase, WarmUp) else phase.rate * (1.0 if phase.rate <= 700 else 0.95)
        return Measurement(phase.seconds, phase.rate, processed)

    _, phases = search(measure, warmup_rate=2000.0)
    # 2 %, 4 %, 8 % ... at least below the lowest so far
    first, second, third, fourth, fifth, *_ = [probe.rate for probe in probes(phases)]
    assert first == 1000
    assert second <= 0.98 * first
    assert third <= 0.96 * second
    assert fourth <= 0.92 * third
    assert fifth <= 0.84 * fourth


def test_targets_double_while_nothing_fails() -> None:
    estimate, phases = search(
        lambda phase: Measurement(phase.seconds, phase.rate, phase.rate),
        replace(SHORT, warmup_limit=90.0, budget=90 + 4 * 53),
        warmup_rate=100.0,
    )
    # six windows of the warm-up, and four probes
    assert [phase.rate for phase in phases] == [100, 200, 400, 800, 1600, 3200, 3200, 6400, 12_800, 25_600]
    assert (estimate.rate, estimate.lower, estimate.upper, estimate.limit) == (25_600, 25_600, None, None)
    assert estimate.ending is Ending.BUDGET
    assert estimate.lower_bound_only


def test_rates_that_contradict_each_other_are_probed_again() -> None:
    """The machine is slow in the first probe. A plain bisection would not ask for 1000 again, and end below."""
    count = 0

    def measure(phase: Phase) -> Measurement:
        nonlocal count
        count += 1
        # the windows of the warm-up say how much the machine varies
        capacity = {1: 970.0, 2: 1030.0, 3: 970.0, 4: 1030.0, 5: 970.0, 6: 1030.0, 7: 950.0}.get(count, 1000.0)
        return Measurement(phase.seconds, phase.rate, min(phase.rate, capacity))

    estimate, phases = search(measure, replace(SHORT, budget=1200.0), warmup_rate=2000.0)
    first, *others = probes(phases)
    assert first.rate == pytest.approx(1010)  # the mean of 1030, 970 and 1030
    assert max(probe.rate for probe in others) > 1000
    assert estimate.rate == pytest.approx(1000, rel=0.02)
    assert estimate.interval[0] < 1000 < (estimate.interval[1] or 0)


def test_the_same_measurements_give_the_same_search() -> None:
    query, first = Fluid(seed=1, noise=0.05), CapacitySearch(25_000.0, SHORT)
    measured = []
    for phase in first:
        measured.append((phase, query.measure(phase)))
        first.tell(measured[-1][1])
    again = CapacitySearch(25_000.0, SHORT)
    for phase, result in measured:
        assert again.next() == phase == again.next()
        again.tell(result)
    assert again.next() is None
    assert again.estimate() == first.estimate()


# why it ends


def test_a_budget_is_never_exceeded() -> None:
    for budget in (143.0, 200.0, 300.0, 450.0):
        estimate, phases = search(Fluid(noise=0.05, cold=0.0).measure, replace(SHORT, budget=budget))
        assert sum(phase.seconds for phase in phases) <= budget
        assert estimate.seconds <= budget


def test_a_driver_that_takes_longer_uses_up_the_budget() -> None:
    def measure(phase: Phase) -> Measurement:
        return Measurement(4 * phase.seconds, phase.rate, min(phase.rate, CAPACITY))

    # six windows take 6 * 60 s and a probe 4 * 53 s: 572 s, and no second one fits
    estimate, _ = search(measure, replace(SHORT, warmup_limit=500.0))
    assert (estimate.ending, estimate.probes, estimate.seconds) == (Ending.BUDGET, 1, 572)
    assert estimate.rate == pytest.approx(CAPACITY, rel=0.05)


def test_a_number_of_probes_is_a_budget_too() -> None:
    estimate, _ = search(Fluid(noise=0.05).measure, replace(SHORT, probes=2))
    assert (estimate.ending, estimate.probes) == (Ending.BUDGET, 2)


def test_without_capacity_nothing_is_sustained() -> None:
    estimate, _ = search(lambda phase: Measurement(phase.seconds, phase.rate, 0.0))
    assert (estimate.ending, estimate.rate, estimate.probes) == (Ending.NOTHING_SUSTAINED, None, 0)
    assert str(estimate) == "no sustainable rate after 0 probes in 4:00: no rate was sustained"


def test_a_query_that_sustains_nothing_is_asked_for_less_and_less() -> None:
    def measure(phase: Phase) -> Measurement:
        return Measurement(phase.seconds, phase.rate, 1000.0 if isinstance(phase, WarmUp) else 0.5 * phase.rate)

    estimate, phases = search(measure, warmup_rate=2000.0)
    rates = [probe.rate for probe in probes(phases)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 200
    assert (estimate.ending, estimate.rate, estimate.lower) == (Ending.NOTHING_SUSTAINED, None, 0)
    assert estimate.reached == 1000


def test_a_query_that_fades_away_ends_the_search() -> None:
    def measure(phase: Phase) -> Measurement:
        return Measurement(phase.seconds, phase.rate, 0.02 if isinstance(phase, WarmUp) else 0.0)

    estimate, _ = search(measure, replace(SHORT, budget=10_000.0, probes=100), warmup_rate=2000.0)
    assert estimate.ending is Ending.NOTHING_SUSTAINED


def test_the_source_is_the_limit() -> None:
    def measure(phase: Phase) -> Measurement:
        offered = min(phase.rate, 6000.0)
        return Measurement(phase.seconds, offered, offered, source_able=phase.rate <= 6000)

    estimate, _ = search(measure)
    assert (estimate.ending, estimate.limit, estimate.rate) == (Ending.SOURCE, Limit.SOURCE, 6000)
    assert estimate.interval == (6000, None)
    assert estimate.lower_bound_only
    assert str(estimate).startswith("at least 6 k records/s (6 k to —)")


@pytest.mark.parametrize(
    ("symptom", "ending", "limit"),
    [
        ({"driver_share": 0.6}, Ending.DRIVER, Limit.DRIVER),
        ({"machine_saturated": True}, Ending.MACHINE, Limit.MACHINE),
        ({"driver_share": 0.6, "machine_saturated": True}, Ending.MACHINE, Limit.MACHINE),
        ({"driver_share": 0.4}, Ending.CONVERGED, Limit.QUERY),
    ],
)
def test_something_else_than_the_query_is_the_limit(symptom: dict[str, float], ending: Ending, limit: Limit) -> None:
    def measure(phase: Phase) -> Measurement:
        measured = Measurement(phase.seconds, phase.rate, min(phase.rate, CAPACITY))
        return replace(measured, **symptom) if phase.rate > CAPACITY else measured  # type: ignore[arg-type]

    estimate, _ = search(measure)
    assert (estimate.ending, estimate.limit) == (ending, limit)
    assert estimate.rate == pytest.approx(CAPACITY, rel=0.01)
    assert estimate.lower_bound_only == (limit is not Limit.QUERY)


def test_a_query_that_gets_slower_and_slower_never_becomes_steady() -> None:
    def windows() -> Iterator[float]:
        rate = CAPACITY
        while True:
            yield rate
            rate *= 0.95

    rates = windows()
    estimate, _ = search(lambda phase: Measurement(phase.seconds, phase.rate, next(rates)))
    assert (estimate.ending, estimate.rate, estimate.reached) == (Ending.NEVER_STEADY, None, CAPACITY)
    assert estimate.seconds == 240  # the limit of the warm-up


def test_state_that_grows_faster_and_faster_is_not_steady() -> None:
    query = Fluid(cold=0.0)

    def measure(phase: Phase) -> Measurement:
        return replace(query.measure(phase), state_rows=query.time**3)

    assert search(measure)[0].ending is Ending.NEVER_STEADY


def test_a_probe_that_fails_costs_its_probe_and_a_warm_up() -> None:
    query, count = Fluid(cold=0.0), 0

    def measure(phase: Phase) -> Measurement:
        nonlocal count
        count += isinstance(phase, Probe)
        measured = query.measure(phase)
        return replace(measured, failure="executor lost") if count == 2 and isinstance(phase, Probe) else measured

    estimate, phases = search(measure, replace(SHORT, budget=900.0))
    after = phases.index(probes(phases)[1]) + 1
    # warmed up at the rate that was sustained before, and probed again
    assert [type(phase) for phase in phases[after : after + 7]] == [WarmUp] * 6 + [Probe]
    assert phases[after].rate == probes(phases)[0].rate
    assert phases[after + 6].rate == probes(phases)[1].rate
    assert estimate.ending is Ending.CONVERGED
    assert estimate.rate == pytest.approx(CAPACITY, rel=0.03)


def test_a_rate_at_which_the_query_fails_repeatedly_is_too_much() -> None:
    def measure(phase: Phase) -> Measurement:
        if phase.rate > 700 and isinstance(phase, Probe):
            return Measurement(phase.seconds, failure="out of memory")
        return Measurement(phase.seconds, phase.rate, min(phase.rate, 1000.0))

    settings = replace(SHORT, budget=5000.0, failures=20, tolerance=0.03)
    estimate, _ = search(measure, settings, warmup_rate=2000.0)
    assert estimate.ending is Ending.CONVERGED
    assert estimate.limit is Limit.FAILURE
    assert 600 < (estimate.rate or 0) < 730
    assert not estimate.lower_bound_only


def test_a_query_that_fails_always_ends_the_search() -> None:
    estimate, phases = search(lambda phase: Measurement(phase.seconds, failure="no such column"))
    assert (estimate.ending, estimate.rate) == (Ending.QUERY_FAILED, None)
    # at half the rate each time, as the rate may be the reason
    assert [phase.rate for phase in phases] == [25_000, 12_500, 6250, 3125, 1562.5]


def test_a_warm_up_at_a_rate_that_kills_the_query_goes_on_at_half_of_it() -> None:
    def measure(phase: Phase) -> Measurement:
        if phase.rate > 2000:
            return Measurement(phase.seconds, failure="out of memory")
        return Measurement(phase.seconds, phase.rate, min(phase.rate, 1000.0))

    estimate, _ = search(measure, warmup_rate=2500.0)
    assert estimate.rate == pytest.approx(1000, rel=0.02)
    assert estimate.upper is not None


def test_measurements_that_show_nothing_end_the_search() -> None:
    def measure(phase: Phase) -> Measurement:
        processed = 1000.0 if isinstance(phase, WarmUp) else math.nan
        return Measurement(phase.seconds, phase.rate, processed)

    estimate, phases = search(measure, warmup_rate=2000.0)
    assert (estimate.ending, estimate.rate, estimate.reached) == (Ending.UNMEASURED, None, 1000)
    assert [probe.rate for probe in probes(phases)] == [1000] * 5  # four failures are forgiven


def test_what_is_told_must_have_been_asked_for() -> None:
    asked = CapacitySearch(1000.0)
    with pytest.raises(InvalidInput, match="capacity search: a measurement was told before a phase was asked for"):
        asked.tell(Measurement(15.0))
    assert asked.estimate().ending is Ending.UNDERWAY


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_warm_up_rate_must_be_positive_and_finite(rate: float) -> None:
    with pytest.raises(InvalidInput, match=f"warm-up rate <= 1e\\+18 records/s, got {rate:g}"):
        CapacitySearch(rate)


numbers = st.one_of(
    st.none(), st.floats(), st.floats(0, 1e5), st.sampled_from([0.0, 1000.0, 5e-324, 1e18, 1.7e308, math.nan, math.inf])
)
measurements = st.builds(
    Measurement,
    seconds=st.one_of(st.floats(), st.sampled_from([0.0, 15.0, 53.0])),
    offered_rate=numbers,
    processed_rate=numbers,
    backlog_begin=numbers,
    backlog_end=numbers,
    latency_begin=numbers,
    latency_end=numbers,
    state_rows=numbers,
    source_able=st.booleans(),
    driver_share=numbers,
    machine_saturated=st.booleans(),
    failure=st.sampled_from(["", "", "", "failed"]),
)
rates = st.floats(0, 2).map(lambda share: share * 1000)


@settings(deadline=None, max_examples=150)
@given(st.data(), st.booleans())
def test_a_search_ends_whatever_it_is_told(data: st.DataObject, plausible: bool) -> None:
    limits = SearchSettings(probes=8, trigger=data.draw(st.sampled_from([0.0, 4.0])))
    asked = CapacitySearch(2000.0, limits)
    phases, planned = 0, 0.0
    for phase in asked:
        measured = data.draw(measurements)
        if plausible:  # so that probes are reached
            measured = Measurement(phase.seconds, phase.rate, data.draw(rates) if isinstance(phase, Probe) else 1000.0)
        assert 0 < phase.rate <= 1e18
        assert phase.seconds > 0
        assert planned + phase.seconds <= 600 or not plausible
        planned += phase.seconds
        phases += 1
        asked.tell(measured)
    estimate = asked.estimate()
    # at most 20 windows for the first warm-up and each one after a failure, and 8 probes
    assert phases <= 6 * 20 + 8
    assert estimate.ending is not Ending.UNDERWAY
    assert estimate.rate is None or 0 < estimate.rate <= 1e18
    assert estimate.upper is None or estimate.lower < estimate.upper
    assert str(estimate)
