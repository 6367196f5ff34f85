"""Literal ticks in, exact numbers of the page out."""

import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tidegate.core import Batch, Decision, Event, ExecutorSample, Observation, Step, Tick
from tidegate.report import TICKS as WORTH_READING
from tidegate.report import page, ticks_needed
from tidegate.report.choices import Choice, Folding
from tidegate.report.digest import cpu
from tidegate.report.events import RunEvent
from tidegate.report.thinning import POINTS
from tidegate.report.view import Chart, RunPage
from tidegate.runs import KafkaSettings, RunResult, RunSpec
from tidegate.score.figures import Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.store import Run

START = 1_000_000.0
SPEC = RunSpec(
    job="q1",
    workload="increasing",
    workload_spec={"kind": "ramp", "duration": 100, "first": 0, "last": 1000},
    policy="hpa-cpu",
    options={"target": 0.7},
    engine="spark",
    master="local[2]",
    mode="active",
    duration=100,
    minimum=1,
    maximum=4,
    slo=5,
    start=START,
    quota=0.5,
)
FIGURES = Figures(
    processed=49_000,
    lost=0,
    latency=Latency(mean=1.5, p50=1.25, p95=4.26, p99=6, max=7.5),
    slo=Slo(target=5, violated=0.034),
    workers=Workers(mean=1.754, max=3, seconds=1754.4, seen_mean=1.7, seen_seconds=1700.4),
    rescales=Rescales(count=3, up=2, down=1),
    backlog=None,
    throughput=Throughput(500.0, 490.0, 0.98),
)
RESULT = replace(RunResult.of("r", "done", SPEC), duration=100, offered=50_000, figures=FIGURES, verified=True)


def steps(executors: int, *chain: tuple[str, str]) -> tuple[Step, ...]:
    return tuple(Step(by, Decision(executors, reason)) for by, reason in chain)


def seen(at: float, executors: int = 1, requested: int = 1, **figures: Any) -> Observation:
    return Observation(START + at, executors, requested, **figures)


TICKS = [
    Tick(seen(0)),
    Tick(
        seen(10, arrival_rate=95.0, processing_rate=90.0, backlog=50.0, latency=1.5),
        steps(1, ("hpa-cpu", "hold: CPU 65% is fine")),
    ),
    Tick(
        seen(20, arrival_rate=205.0, backlog=300.0),
        steps(3, ("hpa-cpu", "CPU 99%: 1 -> 6"), ("limits", "maximum 3")),
        acted=True,
    ),
    Tick(seen(30, 2, 3, latency=6.0, events=(Event(START + 28.5, "ExecutorLost", "no heartbeat"),))),
    Tick(seen(40, 3, 3), steps(2, ("hpa-cpu", "CPU 20%: 3 -> 2")), acted=True),
]


def run(status: str = "done", spec: RunSpec = SPEC, result: RunResult | None = RESULT) -> Run:
    return Run("20260101-000000", START, status, spec, result)


def chart(of: RunPage, key: str) -> Chart:
    return next(chart for chart in of.charts if chart.key == key)


def values(of: RunPage, key: str) -> dict[str, tuple[float | None, ...]]:
    return {series.key: series.values for series in chart(of, key).series}


def test_times_count_from_the_start_of_the_spec() -> None:
    assert page(run(), TICKS).times == (0.0, 10.0, 20.0, 30.0, 40.0)


def test_times_count_from_the_first_tick_where_the_spec_has_no_start() -> None:
    assert page(run(spec=RunSpec(job="q1")), TICKS[2:]).times == (0.0, 10.0, 20.0)


def test_rates_are_offered_by_the_workload_and_unknown_ones_are_gaps() -> None:
    assert values(page(run(), TICKS), "rate") == {
        "offered": (0.0, 100.0, 200.0, 300.0, 400.0),
        "arrived": (None, 95.0, 205.0, None, None),
        "processed": (None, 90.0, None, None, None),
    }


@pytest.mark.parametrize("workload", [None, {"kind": "of another version"}, {"kind": "ramp"}, {"no": "kind"}, "tide"])
def test_rates_without_a_known_workload_are_those_observed(workload: Any) -> None:
    rates = values(page(run(spec=replace(SPEC, workload_spec=workload)), TICKS), "rate")
    assert list(rates) == ["arrived", "processed"]


def test_executors_wished_stand_until_the_next_wish() -> None:
    assert values(page(run(), TICKS), "executors") == {
        "running": (1, 1, 1, 2, 3),
        "requested": (1, 1, 1, 3, 3),
        "wished": (None, 1, 3, 3, 2),
    }


def test_latency_has_the_slo_as_its_target() -> None:
    latency = chart(page(run(), TICKS), "latency")
    assert (latency.series[0].values, latency.target) == ((None, 1.5, None, 6.0, None), 5)


def test_a_chart_without_any_value_is_left_out() -> None:
    assert [chart.key for chart in page(run(), TICKS).charts] == ["rate", "executors", "latency", "backlog"]


def test_cpu_is_the_mean_with_busy_in_place_of_a_missing_meter() -> None:
    three = (ExecutorSample("1", cpu=0.25, busy=0.9), ExecutorSample("2", busy=0.75), ExecutorSample("3"))
    assert cpu(seen(0, per_executor=three)) == 0.5
    assert cpu(seen(0, per_executor=three[2:])) is None


def test_choices_tell_their_change_and_their_whole_chain() -> None:
    assert tuple(fold.last for fold in page(run(), TICKS).decisions.every.rows) == (
        Choice(10.0, 1, 1, "hold", (("hpa-cpu", "hold: CPU 65% is fine"),)),
        Choice(20.0, 1, 3, "up", (("hpa-cpu", "CPU 99%: 1 -> 6"), ("limits", "maximum 3"))),
        Choice(40.0, 3, 2, "down", (("hpa-cpu", "CPU 20%: 3 -> 2"),)),
    )


def test_a_change_that_was_not_acted_on_is_advice() -> None:
    tick = Tick(seen(0), steps(2, ("hpa-cpu", "busy")), acted=False)
    assert page(run(), [tick]).decisions.every.rows[0].last.outcome == "advised"


def test_fold_keeps_apart_what_differs_in_words_or_was_acted_on() -> None:
    def choice(time: float, reason: str, after: int = 2) -> Choice:
        return Choice(time, 2, after, "hold" if after == 2 else "up", (("p", reason),))

    five = [choice(0, "CPU 61%"), choice(1, "CPU 62.5%"), choice(2, "starting"), choice(3, "x", 3), choice(4, "x", 3)]
    folding = Folding()
    for made in five:
        folding.add(made)
    assert [(group.since, group.last.time, group.count) for group in folding.folds().rows] == [
        (0, 1, 2),
        (2, 2, 1),
        (3, 3, 1),
        (4, 4, 1),
    ]


def test_events_have_their_own_time() -> None:
    (group,) = page(run(), TICKS).events.groups
    assert (group.last, group.since, group.count) == (RunEvent(28.5, "ExecutorLost", "no heartbeat"), 28.5, 1)


def test_facts_tell_what_ran() -> None:
    assert [(fact.label, fact.value, fact.note) for fact in page(run(), TICKS).facts] == [
        ("Job", "q1", ""),
        ("Workload", "increasing", "up to 1 k/s"),
        ("Policy", "hpa-cpu", "target 0.7"),
        ("Engine", "spark", "local[2]"),
        ("Mode", "active", ""),
        ("Executors", "1 to 4", "0.5 CPU each"),
        ("SLO", "5 s", ""),
        ("Duration", "1:40", ""),
        ("Run", "20260101-000000", ""),
    ]
    assert page(run(), TICKS).facts[-1].at == START


def test_facts_leave_out_what_is_unknown_or_does_not_apply() -> None:
    attached = page(run(spec=RunSpec(job="mine", policy="hpa-cpu")), TICKS)
    assert [fact.label for fact in attached.facts] == ["Job", "Policy", "Engine", "Mode", "Executors", "SLO", "Run"]
    assert attached.title == "mine · hpa-cpu"


def test_facts_name_the_topic() -> None:
    spec = replace(SPEC, source="kafka", kafka=KafkaSettings("localhost:9092", "bids"))
    (source,) = (fact for fact in page(run(spec=spec), TICKS).facts if fact.label == "Source")
    assert (source.value, source.note) == ("kafka", "topic bids")


def test_figures_are_those_of_the_result_with_the_executors_paid_for_and_seen() -> None:
    assert [(fact.value, fact.note) for fact in page(run(), TICKS).figures] == [
        ("4.3 s", "median 1.2 s"),
        ("3.4 %", "records above 5 s"),
        ("1.75", "at most 3 seen"),
        ("1,754", "1,700 seen"),
        ("2 ↑  1 ↓", "up and down"),
        ("yes", "the output is right"),
    ]


def test_a_result_of_an_earlier_version_does_not_say_what_was_seen() -> None:
    earlier = replace(RESULT, figures=replace(FIGURES, workers=Workers(mean=1.754, max=3, seconds=1754.4)))
    assert page(run(result=earlier), TICKS).figures[3].note == "in all"


def test_scores_hold_every_value_of_the_result() -> None:
    scores = {fact.label: fact.value for fact in page(run(), TICKS).scores}
    assert {key.partition(".")[0] for key in scores} == {
        *("run", "status", "job", "workload", "policy", "engine", "mode", "source", "seed", "options", "duration"),
        *("offered", "verified", "processed", "lost", "latency", "slo", "workers", "rescales", "backlog"),
        *("throughput", "convergence", "recovery", "provision", "oracle", "cost", "rerun_tasks", "spread"),
    }
    assert (scores["offered"], scores["duration"], scores["latency.p99"]) == ("50,000", "1:40", "6.000 s")
    assert (scores["workers.seconds"], scores["workers.seen_seconds"]) == ("1,754", "1,700")
    assert (scores["options.target"], scores["backlog"], scores["throughput.ratio"]) == ("0.7", "—", "0.98")


def test_a_run_that_went_to_its_end_needs_no_notice() -> None:
    assert page(run(), TICKS).notice is None


CUT = [
    Tick(seen(10, 1)),
    Tick(seen(20, 3, batches=(Batch(0, planned=START + 10, finished=START + 12, begin=0, end=50, rows=50),))),
]


def test_a_run_without_a_result_is_scored_from_its_ticks_and_says_so() -> None:
    cut = page(run("interrupted", result=None), CUT)
    scores = {fact.label: fact.value for fact in cut.scores}
    # the rate is 10 t, so that 2000 arrived in 20 s
    assert (scores["processed"], scores["workers.seconds"], scores["throughput.offered"]) == ("50", "10", "100")
    assert (scores["job"], scores["status"], scores["verified"]) == ("q1", "interrupted", "—")
    assert cut.notice == "This run was interrupted; the figures below are computed from the ticks recorded."
    assert cut.verified is None


def test_without_a_workload_arrivals_are_read_off_the_batches() -> None:
    batch = Batch(0, planned=START + 10, finished=START + 12, begin=0, end=50, arrived=50, rows=50)
    ticks = [CUT[0], Tick(seen(20, 3, batches=(batch,)))]
    cut = page(run("interrupted", replace(SPEC, workload_spec=None), None), ticks)
    scores = {fact.label: fact.value for fact in cut.scores}
    # the first of 50 in 10 s was done after 12 s, the last after 2
    assert (scores["latency.max"], scores["latency.p50"]) == ("12.000 s", "7.000 s")


def test_in_native_mode_every_change_of_the_executors_is_a_rescale() -> None:
    cut = page(run("interrupted", replace(SPEC, mode="native"), None), CUT)
    assert cut.figures[4].value == "1 ↑  0 ↓"


def test_a_result_without_figures_is_completed_from_the_ticks() -> None:
    failed = replace(RunResult.of("r", "failed", SPEC), error="no Java")
    cut = page(run("failed", result=failed), CUT)
    scores = {fact.label: fact.value for fact in cut.scores}
    assert (scores["error"], scores["processed"]) == ("no Java", "50")
    assert cut.notice == "This run failed; the figures below are computed from the ticks recorded."


def test_a_run_without_ticks_or_result_has_an_empty_page() -> None:
    empty = page(run("failed", RunSpec(policy=""), None), [])
    assert (empty.times, empty.charts, empty.decisions.count, empty.scores) == ((), (), 0, ())
    assert [fact.value for fact in empty.figures] == ["—"] * 6
    assert empty.title == "20260101-000000"


def test_unknown_figures_are_dashes() -> None:
    nothing = replace(FIGURES, latency=None, slo=Slo(5, float("nan")), workers=None)
    unknown = page(run(result=replace(RESULT, figures=nothing, verified=None)), TICKS)
    assert [fact.value for fact in unknown.figures] == ["—", "—", "—", "—", "2 ↑  1 ↓", "—"]
    assert unknown.verified is None


def test_latencies_of_which_the_highest_is_zero_are_unknown() -> None:
    untimed = replace(FIGURES, latency=Latency(0.0, 0.0, 0.0, 0.0, 0.0))
    unknown = page(run(result=replace(RESULT, figures=untimed)), TICKS)
    assert (unknown.figures[0].value, unknown.figures[0].note) == ("—", "unknown: no record has a time")
    assert {fact.label: fact.value for fact in unknown.scores}["latency"] == "—"


def test_a_run_with_figures_is_not_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr("tidegate.report.view.score", refuse)
    assert page(run("running"), TICKS).figures[0].value == "4.3 s"
    with pytest.raises(AssertionError, match="scored again"):
        page(run("running", result=None), TICKS)


def long_run(count: int) -> Iterator[Tick]:
    """A tick per second with a single peak of each kind, a second long."""
    for number in range(count):
        peak = number == 4321
        yield Tick(
            seen(
                number,
                8 if peak else 2,
                2,
                arrival_rate=900.0 if peak else 100.0 + number % 7,
                latency=99.0 if peak else 1.0,
                backlog=0.0 if number == 5000 else 500.0,
                per_executor=(ExecutorSample("1", cpu=1.0 if peak else 0.5),),
            )
        )


def test_a_long_run_has_at_most_two_thousand_points_and_keeps_every_peak_and_dip() -> None:
    shown = page(run(spec=replace(SPEC, workload_spec=None)), long_run(6_000))
    assert 1000 <= len(shown.times) <= POINTS
    assert list(shown.times) == sorted(shown.times)
    assert (shown.times[0], shown.times[-1]) == (0.0, 5_999.0)
    for key, name, highest in (("rate", "arrived", 900.0), ("executors", "running", 8), ("latency", "latency", 99.0)):
        assert max(value for value in values(shown, key)[name] if value is not None) == highest
    assert min(value for value in values(shown, "backlog")["backlog"] if value is not None) == 0.0
    assert max(value for value in values(shown, "cpu")["cpu"] if value is not None) == 1.0
    # 2000 s in 999 intervals, then doubled until 6000 s fit into 1000 of them
    assert shown.interval == pytest.approx(2000 / 999 * 4)


def test_the_busiest_and_the_idlest_executor_show_an_uneven_pool() -> None:
    pool = (ExecutorSample("1", cpu=0.9), ExecutorSample("2", cpu=0.45), ExecutorSample("3", busy=0.45))
    ticks = [Tick(seen(0, 1, 3, per_executor=pool[:1])), Tick(seen(1, 3, 3, per_executor=pool))]
    cpu = values(page(run(), ticks), "cpu")
    assert cpu["cpu"] == (0.9, pytest.approx(0.6))
    assert (cpu["busiest"], cpu["idlest"]) == ((None, 0.9), (None, 0.45))  # one alone is neither


def test_state_partitions_are_drawn_where_there_are_some() -> None:
    pool = (ExecutorSample("1", stores=6), ExecutorSample("2", stores=0), ExecutorSample("3"))
    ticks = [Tick(seen(0, 1, 3, per_executor=pool[:1])), Tick(seen(1, 3, 3, per_executor=pool))]
    state = values(page(run(), ticks), "state")
    assert (state["most"], state["fewest"]) == ((None, 6), (None, 0))
    stateless = [Tick(seen(time, 2, 2, per_executor=pool[2:] * 2)) for time in (0, 1)]
    assert "state" not in {chart.key for chart in page(run(), stateless).charts}


def test_the_offered_rate_of_a_long_run_keeps_its_peak() -> None:
    steps_of_a_second = {"kind": "steps", "duration": 6_000.0, "levels": [*([1.0] * 2_999), 50.0, *([1.0] * 3_000)]}
    shown = page(run(spec=replace(SPEC, workload_spec=steps_of_a_second)), long_run(6_000))
    assert max(values(shown, "rate")["offered"]) == 50.0  # type: ignore[type-var]


def test_ticks_are_read_once_and_not_kept() -> None:
    """A generator can be read only once; of 50 ticks none is alive afterwards but the last."""
    alive: list[weakref.ref[object]] = []

    class Marked(Observation):
        __slots__ = ("__weakref__",)

    def ticks() -> Iterator[Tick]:
        for number in range(50):
            obs = Marked(START + number, 1, 1)
            alive.append(weakref.ref(obs))
            yield Tick(obs)

    shown = page(run(), ticks())
    assert len(shown.times) == 50
    assert sum(ref() is not None for ref in alive) <= 1


def test_an_abandoned_run_says_so_with_its_last_sign() -> None:
    left = replace(run("abandoned", result=None), seen=START + 50, ended=START + 50)
    shown = page(left, TICKS)
    assert shown.notice is not None
    assert shown.notice.startswith("This run was abandoned: its driver went away without ending it;")
    assert (shown.facts[-1].label, shown.facts[-1].at) == ("Ended", START + 50)
    running = page(replace(run("running"), seen=START + 41), TICKS)
    assert (running.facts[-1].label, running.facts[-1].at) == ("Last sign", START + 41)


CONDITIONS = {
    "AbleToScale": {"type": "AbleToScale", "status": True, "reason": "Ready", "message": "yes", "since": START + 5},
    "ScalingLimited": {"type": "ScalingLimited", "status": True, "reason": "TooManyExecutors", "message": "maximum 4"},
    "ScalingActive": {"status": False},
    "Odd": None,
}


def test_the_conditions_of_an_attached_run_are_shown() -> None:
    watched = page(replace(run("running"), health="holding: no figures", conditions=CONDITIONS), TICKS)
    assert watched.health == "holding: no figures"
    assert [(c.type, c.status, c.reason, c.message, c.since, c.tone) for c in watched.conditions] == [
        ("AbleToScale", True, "Ready", "yes", START + 5, "good"),
        ("ScalingLimited", True, "TooManyExecutors", "maximum 4", None, "warn"),
        ("ScalingActive", False, "", "", None, "warn"),
    ]
    assert page(run(), TICKS).conditions == ()


def test_ticks_that_the_store_has_folded_are_told() -> None:
    assert not page(run(), TICKS).folded
    assert page(run(), [Tick(seen(0, per_executor=(ExecutorSample("mean", cpu=0.5),)))]).folded


def test_a_tick_without_a_time_is_left_out() -> None:
    assert page(run(), [TICKS[0], Tick(Observation(float("nan"), 1, 1)), TICKS[1]]).times == (0.0, 10.0)


def test_a_run_that_must_be_scored_needs_all_ticks_and_others_few() -> None:
    """Folded ticks would give wrong figures."""
    assert ticks_needed(run()) == WORTH_READING
    assert ticks_needed(run(result=None)) is None
    assert ticks_needed(run(result=replace(RESULT, figures=None))) is None
    assert WORTH_READING >= POINTS
