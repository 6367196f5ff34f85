from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidegate.backtest.recommendation import Row, chosen, limit, rows
from tidegate.backtest.request import Backtest, backtest_grid, experiment, least_static, peak_overload
from tidegate.backtest.slo_violations import late_stretches
from tidegate.compare.cells import cells
from tidegate.core import InvalidInput
from tidegate.runs import LateStretch, ProfilingCost, RunResult
from tidegate.score.figures import AgainstOracle, Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.score.trace import Cumulative, Finished, RunTrace
from tidegate.sim.batch_model import BatchModel, text

RUN = {"slo": 30.0, "trigger": 10.0, "maximum": 4}


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Backtest]:
    """A trace of minutes, and a model in which an executor does 100,000 records/s but for 1 s of each batch."""
    (tmp_path / "plain.json").write_text(
        text(BatchModel("plain", fixed=1.0, overhead=0.0, cost=1e-5, tasks=12, noise=0.0))
    )

    def make(*rates: float, **run: Any) -> Backtest:
        # a file for each, since workloads are remembered by name
        folder = tmp_path / "-".join(map(str, rates))
        folder.mkdir(exist_ok=True)
        (folder / "day.csv").write_text("".join(f"{60 * k},{rate}\n" for k, rate in enumerate(rates)))
        return Backtest(f"{folder}/day.csv", f"{tmp_path}/plain.json", ["hpa-cpu"], {**RUN, **run})

    return make


def test_a_trace_has_its_own_rates_and_length(asked: Callable[..., Backtest]) -> None:
    made = experiment(asked(5000, 90_000, 20_000))
    assert (made.duration, made.peak, made.noise, made.job) == (180.0, 90_000.0, 0.0, "plain")
    assert asked(1, 2).workload == replace(asked(1, 2), trace=asked(1, 2).workload).workload  # with or without trace:
    assert asked(1, 2).file == "day.csv"


def test_it_starts_with_enough_for_the_first_minute(asked: Callable[..., Backtest]) -> None:
    # batches of 15 s, half the objective: 14 of them for records, so 93,333/s for each executor; 1.2 * 150,000 needs 2
    assert experiment(asked(150_000, 1)).initial == 2
    assert experiment(asked(1, 150_000)).initial == 1
    assert experiment(asked(900_000, 1)).initial == 4
    assert experiment(asked(150_000, 1, initial=3)).initial == 3


def test_a_peak_that_is_too_high_is_told_with_figures(asked: Callable[..., Backtest]) -> None:
    assert peak_overload(experiment(asked(100_000, 370_000, 370_000))) is None
    found = peak_overload(experiment(asked(100_000, 500_000, 450_000, 100_000)))
    assert found is not None
    # 4 * 14 / 15 * 100,000; five do 466,667, six 560,000
    assert found.capacity == pytest.approx(373_333.33)
    assert (found.rate, found.at, found.seconds, found.needed) == (500_000.0, 60.0, 120.0, 6)
    # 12 tasks: 12 executors do 1,120,000, and more of them no more
    over = peak_overload(experiment(asked(1, 1_200_000)))
    assert over is not None
    assert over.needed is None


def test_a_peak_shorter_than_the_objective_can_wait(tmp_path: Path, asked: Callable[..., Backtest]) -> None:
    one = replace(asked(1, 1), trace=f"{tmp_path}/seconds.csv")
    (tmp_path / "seconds.csv").write_text("\n".join(["100000"] * 60 + ["900000"] * 5 + ["100000"] * 60))
    assert peak_overload(experiment(one)) is None  # (25 * 100,000 + 5 * 900,000) / 30 = 233,333


def test_static_is_the_fewest_that_keep_the_objective(asked: Callable[..., Backtest]) -> None:
    # 250,000/s are more than 2 executors do at any size of batch, and less than 3 do
    assert least_static(experiment(asked(*[250_000] * 10)), 0.01) == 3
    assert least_static(experiment(asked(*[900_000] * 10)), 0.01) == 4
    assert least_static(experiment(asked(*[1000] * 10, minimum=2)), 0.01) == 2


def test_the_runs_are_a_comparison_with_static_beside_the_policies(asked: Callable[..., Backtest]) -> None:
    one = replace(asked(1000, 5000), policies=["ds2", {"name": "hpa-cpu", "options": {"target": 0.8}}], seeds=2)
    found = cells(backtest_grid(one, experiment(one), 2))
    assert [cell.key for cell in found] == [
        f"plain/day.csv/{policy}/{seed}" for policy in ("ds2", "hpa-cpu", "static 2") for seed in (0, 1)
    ]
    assert found[4].experiment.options == {"executors": 2}
    assert {(c.experiment.noise, c.experiment.peak, c.experiment.slo) for c in found} == {(0.0, 5000.0, 30.0)}


def test_models_that_are_none_are_refused(asked: Callable[..., Backtest]) -> None:
    with pytest.raises(InvalidInput, match=r"model nowhere\.json: cannot be read"):
        experiment(replace(asked(1, 2), model="nowhere.json"))


def trace(*portions: tuple[float, float, float]) -> RunTrace:
    """A record a second for 1,000 s; portions of them with the time they were done at."""
    begins, ends, times = (np.array(values, dtype=float) for values in zip(*portions, strict=True))
    arrivals = Cumulative(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    nothing = np.array([])
    return RunTrace(arrivals, Finished(times, begins, ends), nothing, nothing, nothing, 1000.0)


def test_stretches_are_times_in_which_late_records_arrived() -> None:
    found = trace((0, 100, 100), (100, 300, 320), (300, 400, 400), (400, 500, 620), (500, 600, 640), (600, 700, 700))
    # later than 100 s: of those done at 320 what came before 220, all that were done at 620, of 640 what came before
    # 540, and of what is still there at 1,000 what came from 700 to 900
    worst = (LateStretch(700.0, 200.0), LateStretch(400.0, 140.0), LateStretch(100.0, 120.0))
    assert late_stretches(found, 100.0) == worst
    assert late_stretches(found, 100.0, most=1) == worst[:1]
    assert late_stretches(found, 1000.0) == ()


def test_stretches_that_are_close_together_are_one() -> None:
    found = trace((0, 50, 90), (50, 100, 110), (100, 200, 240), (200, 1000, 1000))
    # within 50 s: late are 0..40, 50..60, 100..190 and 200..950; none of the gaps is more than a minute
    assert late_stretches(found, 50.0) == (LateStretch(start=0.0, seconds=950.0),)


def run(policy: str, seconds: float, late: float, **other: Any) -> RunResult:
    figures = Figures(
        processed=100,
        lost=0,
        latency=Latency(mean=5.0, p50=5.0, p95=12.0, p99=13.0, max=14.0),
        slo=Slo(30.0, late),
        workers=Workers(seconds / 43_200, 3, seconds),
        rescales=Rescales(count=5),
        backlog=None,
        throughput=Throughput(None, None, None),
        oracle=AgainstOracle(seconds=100.0, ratio=seconds / 100, violated=0.001),
        cost=seconds / 3600 * 0.5,
    )
    return replace(RunResult("", "done", policy=policy, duration=43_200.0, figures=figures), **other)


def test_rows_are_means_over_seeds_beside_the_references() -> None:
    worst = (LateStretch(60.0, 15.0),)
    runs = [
        replace(run("ds2", 120, 0.0), late=worst, profiling=ProfilingCost(10.0, 40.0, 2)),
        run("ds2", 140, 0.02, seed=1),
        run("static 3", 260, 0.0),
        run("x", 1, 0, status="failed"),
    ]
    ds2, static = rows(runs, "static 3")
    assert (ds2.policy, ds2.seconds, ds2.late, ds2.oracle, ds2.static) == ("ds2", 130.0, 0.01, pytest.approx(1.3), 0.5)
    assert ds2.cost == pytest.approx(130 / 3600 * 0.5)
    assert (ds2.p95, ds2.worst, ds2.profiling) == (12.0, worst, 40.0)
    assert ds2.rescales == 10.0  # five in half a day
    assert static.static == 1.0
    found = limit(runs, 0.5)
    assert found is not None
    assert (found.seconds, found.late) == (100.0, 0.001)
    assert found.cost == pytest.approx(100 / 3600 * 0.5)
    assert limit([], None) is None


def row(policy: str, seconds: float, late: float) -> Row:
    return Row(policy, {}, seconds, None, None, None, late, 1.0, 0.0)


def test_the_cheapest_that_is_allowed_is_chosen() -> None:
    found = [row("a", 90, 0.05), row("b", 100, 0.01), row("c", 110, 0.0)]
    assert chosen(found, 0.01) == found[1]
    assert chosen(found, 0.1) == found[0]
    assert chosen(found[:1], 0.01) == found[0]  # where none is, the fewest late records
    assert chosen([], 0.01) is None
