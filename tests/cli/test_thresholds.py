from collections.abc import Sequence
from dataclasses import replace

import pytest

from tidegate.cli.thresholds import FIGURES, Place, problems, thresholds
from tidegate.core import InvalidInput
from tidegate.runs import KafkaCounts, RunResult
from tidegate.score.figures import (
    AgainstOracle,
    Backlog,
    Figures,
    Latency,
    Rescales,
    Slo,
    Throughput,
    Workers,
)

KNOWN = Figures(
    processed=9_000,
    lost=3,
    latency=Latency(mean=2.0, p50=1.5, p95=20.0, p99=30.0, max=60.0),
    slo=Slo(10.0, 0.02),
    workers=Workers(mean=2.5, max=4, seconds=7200.0),
    rescales=Rescales(count=12, up=6, down=6),
    backlog=Backlog(max=5_000.0, final=10.0),
    throughput=Throughput(100.0, 90.0, 0.9),
    oracle=AgainstOracle(3600.0, 2.0, 0.0),
    cost=0.24,
    rerun_tasks=1,
)
UNKNOWN = replace(
    KNOWN,
    latency=None,
    slo=Slo(10.0, None),
    workers=None,
    backlog=None,
    throughput=Throughput(None, None, None),
    oracle=None,
    cost=None,
)
TOPIC = KafkaCounts("ads", 100, 0, produced=100, duplicates=2)


def run(figures: Figures | None = KNOWN, verified: bool | None = True) -> RunResult:
    return RunResult("r1", "done", policy="ds2", figures=figures, verified=verified, kafka=TOPIC)


def broken(text: str, *runs: RunResult) -> str | None:
    (threshold,) = thresholds([text])
    return threshold.problem(runs or (run(),))


#: a threshold that just holds and one that just does not, and the figure in the message
CASES = [
    ("late", ">1.9%", ">2%", "2 %"),
    ("p50", ">1.4s", ">1.5s", "1.5 s"),
    ("p95", ">=20s", ">20s", "20 s"),
    ("p99", ">0.4m", ">30", "30 s"),
    ("mean-latency", ">1999ms", ">2s", "2 s"),
    ("max-latency", ">59s", ">1m", "60 s"),
    ("lost", ">2", ">3", "3"),
    ("processed", "<9001", "<9k", "9,000"),
    ("processed-share", "<91%", "<0.9", "90 %"),
    ("throughput", "<91", "<90", "90/s"),
    ("backlog", ">4.9k", ">5k", "5,000"),
    ("final-backlog", "!=0", "!=10", "10"),
    ("executors", ">2.4", ">2.5", "2.50"),
    ("max-executors", "==4", "==3", "4"),
    ("worker-hours", ">1.9", ">2", "2"),
    ("cost", ">0.2", ">0.25", "0.24"),
    ("oracle", ">1.9", ">2", "2"),
    ("rescales", ">11", ">12", "12"),
    ("rerun-tasks", ">0", ">1", "1"),
    ("duplicates", ">0", ">2", "2"),
    ("verified", "==true", "==false", "true"),
]


@pytest.mark.parametrize(("name", "breaks", "holds", "figure"), CASES)
def test_each_figure_can_break_a_threshold(name: str, breaks: str, holds: str, figure: str) -> None:
    assert broken(name + breaks) == f'{name} is {figure}: --fail-if "{name}{breaks}"'
    assert broken(name + holds) is None


def test_all_figures_are_tried() -> None:
    assert {case[0] for case in CASES} == set(FIGURES)


@pytest.mark.parametrize("name", ["late", "p95", "executors", "cost", "oracle", "backlog", "throughput"])
@pytest.mark.parametrize("figures", [UNKNOWN, None])
def test_a_figure_that_is_not_known_fails(name: str, figures: Figures | None) -> None:
    sentence = f'{name} is not known, so --fail-if "{name}<1" cannot be checked'
    assert broken(f"{name}<1", run(figures)) == sentence
    assert broken(f"{name}<1", run(), run(figures)) == sentence  # of one seed is enough


def test_a_latency_of_nothing_is_not_known() -> None:
    none = replace(KNOWN, latency=Latency(0.0, 0.0, 0.0, 0.0, 0.0))
    assert broken("p95>1s", run(none)) == 'p95 is not known, so --fail-if "p95>1s" cannot be checked'


def test_what_was_not_checked_is_not_verified() -> None:
    assert broken("verified==false", run(verified=None)) is not None
    assert broken("verified!=true", run(verified=False)) == 'verified is false: --fail-if "verified!=true"'
    assert broken("verified==false", run(), run(verified=False)) is not None  # one seed is enough


def test_figures_are_means_over_the_seeds() -> None:
    calm, late = run(replace(KNOWN, slo=Slo(10.0, 0.0))), run(replace(KNOWN, slo=Slo(10.0, 0.04)))
    assert broken("late>1.9%", calm, late) == 'late is 2 %: --fail-if "late>1.9%"'
    assert broken("late>2.1%", calm, late) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lat>1%", "no figure for --fail-if is named 'lat'; did you mean 'late'?"),
        ("latency>1s", "no figure for --fail-if is named 'latency'; did you mean 'max-latency'?"),
        ("late", "--fail-if 'late' is not NAME OPERATOR VALUE, like \"late>1%\""),
        ("late=1%", "--fail-if 'late=1%' is not NAME OPERATOR VALUE"),
        ("late=>1%", "--fail-if 'late=>1%' is not NAME OPERATOR VALUE"),
        ("late>", "--fail-if 'late>': need a value like 1% or 0.01, got ''"),
        ("late>much", "--fail-if 'late>much': need a value like 1% or 0.01, got 'much'"),
        ("late>nan", "--fail-if 'late>nan': need a finite value, got 'nan'"),
        ("cost>inf", "--fail-if 'cost>inf': need a finite value, got 'inf'"),
        ("p95>1%", "--fail-if 'p95>1%': need a value like 30s or 2m, got '1%'"),
        ("verified>true", "--fail-if 'verified>true': verified is true or false, compare it with == or !="),
        ("verified==maybe", "--fail-if 'verified==maybe': need a value like true or false, got 'maybe'"),
        ("ds2:late>1%", "--fail-if 'ds2:late>1%': there is one run, so no policy can stand before the condition"),
        ("", "--fail-if '' is not NAME OPERATOR VALUE"),
    ],
)
def test_what_is_no_threshold_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        thresholds([text])
    assert str(caught.value).startswith(sentence)


def test_an_unknown_policy_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="no policy for --fail-if is named 'dst'; did you mean 'ds2'"):
        thresholds(["dst:late>1%"], ["ds2", "HPA: 80"])
    assert thresholds(["HPA: 80:late > 1 %"], ["ds2", "HPA: 80"])[0].policy == "HPA: 80"


def places(best: str | None) -> Sequence[Place]:
    return [Place(f"{name} on q1", name, name == best, [run()]) for name in ("ds2", "hpa-cpu")]


@pytest.mark.parametrize(
    ("text", "names"),
    [("late>1%", ["hpa-cpu"]), ("ds2:late>1%", ["ds2"]), ("*:late>1%", ["ds2", "hpa-cpu"]), ("*:late>2%", [])],
)
def test_a_condition_without_a_policy_is_for_the_best(text: str, names: list[str]) -> None:
    found = problems(thresholds([text], ["ds2", "hpa-cpu"]), places("hpa-cpu"))
    assert found == [f'{name} on q1: late is 2 %: --fail-if "{text}"' for name in names]


def test_where_there_is_no_best_nothing_passes() -> None:
    sentence = 'no run has figures, so --fail-if "late>1%" cannot be checked'
    assert problems(thresholds(["late>1%"]), places(None)) == [sentence]
    assert problems(thresholds(["late>1%"]), []) == [sentence]
