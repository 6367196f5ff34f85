"""One set of ticks, scored on every path by which a run can come to its figures."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tidegate.control.sinks import KeptTicks
from tidegate.core import Tick
from tidegate.deployment.simulated import simulate
from tidegate.experiment import Experiment
from tidegate.experiment.simulation import offered
from tidegate.report.view import scored
from tidegate.runner.replay import replay
from tidegate.score import Figures, Objective, RollingScore, TraceRecorder, figures, trace_from_ticks
from tidegate.score.folding import Bounds
from tidegate.store import Run, Store, StoreSink

#: 20 minutes at a rate that two executors can just not keep up with, so that records wait at the end
E = Experiment(
    engine="sim",
    job="q1",
    workload="constant",
    duration=1200.0,
    peak=1_400_000.0,
    trigger=10.0,
    policy="static",
    options={"executors": 2},
    initial=1,
    maximum=4,
)
OBJECTIVE = Objective(slo=E.slo, price=0.1)


@pytest.fixture(scope="module")
def run() -> tuple[Figures, list[Tick]]:
    """As `tidegate run` and `compare` score a simulation: by the engine's own account of what was done when."""
    kept = KeptTicks()
    return figures(simulate(E, sinks=(kept,)), OBJECTIVE), kept.ticks


def test_the_run_has_something_to_score(run: tuple[Figures, list[Tick]]) -> None:
    scored_run, ticks = run
    assert scored_run.latency is not None
    assert scored_run.workers is not None
    assert scored_run.backlog is not None
    assert scored_run.rescales.up == 1
    assert scored_run.backlog.final > 10 * E.peak
    # what waits at the end counts: without it no record would be older than the oldest that was done
    done = max(tick.observation.latency or 0.0 for tick in ticks)
    assert scored_run.latency.max > done - E.trigger
    # the second executor is paid from being asked for, and seen when it came
    assert scored_run.workers.seconds > (scored_run.workers.seen_seconds or 0.0)


def test_from_its_ticks_as_a_live_run_is(run: tuple[Figures, list[Tick]]) -> None:
    recorder = TraceRecorder()
    for tick in run[1]:
        recorder.take(tick)
    assert figures(recorder.trace(arrivals=offered(E)), OBJECTIVE) == run[0]


def test_with_ticks_in_epoch_seconds_as_spark_has_them(run: tuple[Figures, list[Tick]]) -> None:
    start = 1_800_000_000.0
    moved = trace_from_ticks(map(later, run[1]), start, offered(E))
    assert figures(moved, OBJECTIVE).workers == run[0].workers
    assert figures(moved, OBJECTIVE).slo.violated == pytest.approx(run[0].slo.violated, rel=1e-6)


def later(tick: Tick, by: float = 1_800_000_000.0) -> Tick:
    obs = tick.observation
    batches = tuple(replace(b, planned=b.planned + by, finished=b.finished + by) for b in obs.batches)
    return replace(tick, observation=replace(obs, time=obs.time + by, batches=batches))


def test_without_a_known_load_as_an_attached_run_is(run: tuple[Figures, list[Tick]]) -> None:
    # a constant load is a straight line between what batches saw of it; only what came after the last planning is
    # not known to have arrived
    attached = figures(trace_from_ticks(run[1]), OBJECTIVE)
    assert attached.workers == run[0].workers
    assert attached.processed == run[0].processed
    assert attached.latency is not None
    assert run[0].latency is not None
    assert attached.latency.max == pytest.approx(run[0].latency.max, abs=2 * E.trigger)


def test_by_a_rolling_score_as_an_attached_run_is(run: tuple[Figures, list[Tick]]) -> None:
    whole, short = RollingScore(E.slo, start=0.0), RollingScore(E.slo, start=0.0, bounds=Bounds(kept=1000))
    for tick in run[1]:
        whole.take(tick)
        short.take(tick)
    attached = figures(trace_from_ticks(run[1]), OBJECTIVE)
    assert whole.figures(OBJECTIVE) == attached
    # with only the last ticks kept, all is the same but percentiles
    folded = short.figures(OBJECTIVE)
    assert folded.latency is not None
    assert attached.latency is not None
    assert asdict(folded.latency) == pytest.approx(asdict(attached.latency), rel=0.01)
    assert replace(folded, latency=attached.latency) == attached


def test_stored_and_read_back_as_a_report_scores_a_run_that_did_not_end(
    run: tuple[Figures, list[Tick]], tmp_path: Path
) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        spec = replace(E, price=OBJECTIVE.price).spec(start=0.0)
        sink = StoreSink(store, store.begin(spec))
        for tick in run[1]:
            sink.take(tick)
        kept = store.run(sink.run)
        ticks = [tick for _, tick in store.ticks(sink.run)]
    assert figures(trace_from_ticks(ticks, 0.0, offered(E)), OBJECTIVE) == run[0]
    result = scored(Run(kept.id, kept.created, "running", kept.spec), ticks)
    assert result is not None
    assert result.figures == run[0]


def test_replayed(run: tuple[Figures, list[Tick]]) -> None:
    ticks = replay([tick.observation for tick in run[1]], E.autoscaler(), E.period)
    assert figures(trace_from_ticks(ticks, 0.0, offered(E)), OBJECTIVE) == run[0]
