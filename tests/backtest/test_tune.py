from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tidegate.backtest.held_out import Tuning, check, parts, tuning
from tidegate.backtest.request import Backtest, experiment
from tidegate.backtest.search_space import knobs, turned
from tidegate.backtest.tune import Aim, Execution, Score, SearchResult, Settings, Trial, search, tune
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.presets import presets

HPA = knobs("hpa-cpu", {})


def measured(
    cost: Callable[[Settings], float], late: Callable[[Settings], float]
) -> tuple[list[Settings], Callable[..., None]]:
    """What was asked for, and a measure that needs no simulator."""
    asked: list[Settings] = []

    def measure(candidates: Sequence[Settings], keep: Callable[[Mapping[int, Score]], None]) -> None:
        asked.extend(candidates)
        keep({k: Score(late(one), cost(one), 0.0, 0.0) for k, one in enumerate(candidates)})

    return asked, measure


def test_knobs_are_the_numbers_that_matter() -> None:
    found = {knob.name: knob for knob in HPA}
    assert list(found) == ["target", "tolerance", "window", "readiness", "down-window", "cooldown-up", "cooldown-down"]
    assert (found["target"].low, found["target"].high) == (0.7 / 4, 1.0)  # a share ends at 1
    assert (found["window"].low, found["window"].high) == (3.75, 60.0)
    # off where the search starts
    assert (found["cooldown-up"].start, found["cooldown-up"].off) == (0.0, True)
    assert {knob.name: knob.start for knob in knobs("hpa-cpu", {"target": 0.5})}["target"] == 0.5
    # its switches, its text and its interval are left alone
    assert not {"interval", "shared-by", "double-ceil"} & {knob.name for knob in knobs("ds2", {})}


def test_what_is_drawn_is_always_within_the_bounds_of_its_parameter() -> None:
    random = Random(3)
    for policy in presets():
        found = knobs(policy, {})
        now = {knob.name: knob.start for knob in found}
        for _ in range(50):
            now = turned(found, now, 4.0, random) if found else {}
            for knob in found:
                value = now[knob.name]
                assert knob.parameter.admits(value), (policy, knob.name, value)
                # two digits are left of a value, which may put it beyond the range by as much
                assert (value == 0 and knob.off) or 0.94 * knob.low <= value <= 1.06 * max(knob.high, 1.0)


def test_the_search_finds_the_cheapest_that_is_allowed() -> None:
    # cheaper the higher the target, but from 0.9 on records are late: the best is just below
    _, measure = measured(lambda one: 100 / one["target"], lambda one: 0.5 if one["target"] > 0.9 else 0.0)
    found = search(HPA, measure, Aim(0.01, 60), lambda one: True)
    assert found.start is not None
    assert found.best is not None
    assert found.start.score == Score(0.0, 100 / 0.7, 0.0, 0.0)
    assert 0.86 <= found.best.settings["target"] <= 0.9
    # all else does nothing, and is left as it was
    assert list(found.options) == ["target"]
    assert found.trials <= 60
    assert not found.interrupted


def test_where_none_is_allowed_the_fewest_late_records_count() -> None:
    _, measure = measured(lambda one: 1.0, lambda one: one["target"])
    found = search(HPA, measure, Aim(0.01, 60), lambda one: True)
    assert found.best is not None
    assert found.best.settings["target"] < 0.3


def test_what_the_policy_does_not_admit_is_not_tried() -> None:
    asked, measure = measured(lambda one: one["target"], lambda one: 0.0)
    search(HPA, measure, Aim(0.01, 40), lambda one: one["target"] >= 0.5)
    assert min(one["target"] for one in asked) >= 0.5
    assert all(one not in asked[:k] for k, one in enumerate(asked))


def test_the_same_seed_asks_for_the_same_settings() -> None:
    first, measure = measured(lambda one: 100 / one["target"], lambda one: 0.0)
    search(HPA, measure, Aim(trials=30), lambda one: True)
    second, again = measured(lambda one: 100 / one["target"], lambda one: 0.0)
    search(HPA, again, Aim(trials=30), lambda one: True)
    assert first == second
    third, other = measured(lambda one: 100 / one["target"], lambda one: 0.0)
    search(HPA, other, Aim(trials=30, seed=1), lambda one: True)
    assert third != first


def test_an_interrupt_ends_it_with_the_best_so_far() -> None:
    calls = 0

    def measure(candidates: Sequence[Settings], keep: Callable[[Mapping[int, Score]], None]) -> None:
        nonlocal calls
        calls += 1
        keep({0: Score(0.0, 100.0 - calls, 0.0, 0.0)})
        if calls == 2:
            raise KeyboardInterrupt

    found = search(HPA, measure, Aim(), lambda one: True)
    assert found.interrupted
    assert found.trials == 2
    assert found.best is not None
    assert found.best.score.seconds == 98.0


@pytest.fixture
def day(tmp_path: Path) -> Experiment:
    """Nine steps of three minutes: calm, busy, calm, three times over."""
    (tmp_path / "day.csv").write_text(
        "time,rate\n" + "".join(f"{180 * k},{[90, 800, 90][k % 3]}000\n" for k in range(9))
    )
    run = {"slo": 30.0, "trigger": 10.0, "maximum": 4}
    return replace(experiment(Backtest(str(tmp_path / "day.csv"), "q1", [], run)), policy="hpa-cpu")


def test_the_last_third_is_kept_out(day: Experiment, tmp_path: Path) -> None:
    first, last = parts(day, tmp_path / "parts")
    assert (first.duration, last.duration) == (1080.0, 540.0)
    assert first.load().total(1080) + last.load().total(540) == day.load().total(1620)
    assert last.load().rate(200) == 800_000.0
    # the same query: batches as large as on the whole trace
    assert first.limit == last.limit == day.max_batch_records == 4 * 10 * 800_000


def test_a_trace_that_cannot_be_divided_is_refused(day: Experiment, tmp_path: Path) -> None:
    for name, rates, told in (
        ("short.csv", "1\n2\n3\n", "last: 1 rows, 1 of them above 0"),
        ("quiet.csv", "1\n1\n1\n1\n0\n0\n", "last: 2 rows, 0 of them above 0"),
    ):
        (tmp_path / name).write_text(rates)
        e = replace(day, workload=f"trace:{tmp_path / name}", duration=len(rates) / 2, peak=3.0)
        with pytest.raises(InvalidInput, match=f"in each part of the trace, {told}"):
            check(e)


def test_it_is_the_same_on_one_process_and_on_two(day: Experiment) -> None:
    assert tune(day, Aim(0.01, 8), Execution((0, 1), 1)) == tune(day, Aim(0.01, 8), Execution((0, 1), 2))


def test_tuning_compares_with_the_start_on_both_parts(day: Experiment, tmp_path: Path) -> None:
    found = tuning(day, tmp_path / "parts", Aim(0.01, 8), Execution())
    assert found is not None
    assert found.result.best is not None
    assert found.tuned[0] == found.result.best.score
    # what is best where it was searched is not worse there than the start
    assert (found.tuned[0].late > 0.01, found.tuned[0].seconds) <= (
        found.default[0].late > 0.01,
        found.default[0].seconds,
    )


def test_better_is_judged_on_the_part_kept_out() -> None:
    good, bad = Score(0.0, 50.0, 1.0, 0.0), Score(0.2, 40.0, 9.0, 0.0)
    nothing = SearchResult(None, Trial({}, good), {}, 1)
    assert Tuning("ds2", {}, nothing, (bad, bad), (good, good), good, 0.01).better
    # cheaper where it was searched, late where it was not
    assert not Tuning("ds2", {}, nothing, (good, good), (replace(good, seconds=30.0), bad), bad, 0.01).better
    assert not Tuning("ds2", {}, nothing, (good, good), (good, good), good, 0.01).better


def test_a_policy_without_settings_is_refused(day: Experiment) -> None:
    with pytest.raises(InvalidInput, match="policy static has no settings to search for"):
        tune(replace(day, policy="static"), Aim(), Execution())
