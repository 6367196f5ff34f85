"""What the papers report and comes out again, from the files under `examples/`. `docs/evaluation.md` has all of it, and
what does not come out; a test here is no claim beyond the settings it runs under.
"""

import math
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from tidegate.compare.cells import Cell, cells
from tidegate.compare.grid import grid, read
from tidegate.control.sinks import Callback
from tidegate.core import Tick
from tidegate.deployment.simulated import simulate
from tidegate.profiling.profile import with_profile
from tidegate.score.figures import distribution, workers
from tidegate.score.recovery import recovery

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.toml"))


@cache
def experiment(name: str) -> tuple[Cell, ...]:
    return tuple(cells(grid(read(EXAMPLES / f"{name}.toml"), name)))


@cache
def run(name: str, job: str, policy: str, seed: int) -> tuple[float, float, float]:
    """Mean workers, mean latency over records, and latency as ICDEW'23 measures it: of what came out last, each 15 s,
    times without output left out.
    """
    cell = next(one for one in experiment(name) if (one.job, one.policy, one.seed) == (job, policy, seed))
    seen: list[float] = []

    def watch(tick: Tick) -> None:
        obs = tick.observation
        if obs.latency is not None and obs.processing_rate:
            seen.append(obs.latency)

    trace = simulate(with_profile(cell.experiment), sinks=(Callback(watch),))
    spent, latencies = workers(trace), distribution(trace)
    assert spent is not None
    assert latencies is not None
    return spent.mean, latencies.mean, mean(seen)


def figures(name: str, job: str, policy: str, seeds: int = 1) -> tuple[float, float, float]:
    runs = [run(name, job, policy, seed) for seed in range(seeds)]
    return mean(one[0] for one in runs), mean(one[1] for one in runs), mean(one[2] for one in runs)


@pytest.fixture(autouse=True)
def _in_the_folder_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files name traces from there."""
    monkeypatch.chdir(EXAMPLES.parent)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_an_experiment_of_five_seeds(path: Path) -> None:
    values = read(path)
    made = grid(values, path.name)
    assert made.title
    assert made.description
    assert len(made.seeds) == 5
    assert {cell.experiment.engine for cell in cells(made)} == {"operators"}


def table1(job: str, seeds: int = 3) -> dict[str, tuple[float, float, float]]:
    return {policy: figures("icdew23-table1", job, policy, seeds) for policy in ("dhalion", "ds2", "hpa-cpu")}


def test_q1_hpa_cpu_has_the_lowest_latency_and_dhalion_the_highest() -> None:
    # ICDEW'23, Table I: 6.4, 39.4 and 68.3 s. Rests on two readings of logs, see docs/evaluation.md
    found = table1("Q1")
    assert found["hpa-cpu"][2] < found["ds2"][2] < found["dhalion"][2]
    published = {"hpa-cpu": 6.4, "ds2": 39.4, "dhalion": 68.3}
    assert all(0.4 < found[name][2] / seconds < 2.5 for name, seconds in published.items())


def test_q1_workers_are_within_a_factor() -> None:
    # 13.2, 9.4 and 11.4; that Dhalion has the most does not come out
    published = {"dhalion": 13.2, "ds2": 9.4, "hpa-cpu": 11.4}
    assert all(1 / 1.5 < table1("Q1")[name][0] / number < 1.5 for name, number in published.items())


def test_q11_ds2_has_the_fewest_workers_and_dhalion_the_most() -> None:
    # 13.2, 14.2 and 22.8
    found = table1("Q11")
    assert found["ds2"][0] < found["hpa-cpu"][0] < found["dhalion"][0]
    published = {"dhalion": 22.8, "ds2": 13.2, "hpa-cpu": 14.2}
    assert all(1 / 1.5 < found[name][0] / number < 1.5 for name, number in published.items())


def test_nobody_keeps_latency_low_on_q11() -> None:
    assert min(found[2] for found in table1("Q11").values()) > 15


def test_ds2_accumulates_latency_that_a_term_for_the_lag_takes_away() -> None:
    plain, lag = (figures("icdew23-table1", "Q11", policy, 3) for policy in ("ds2", "ds2 lag 5min"))
    assert plain[1] > 1.25 * lag[1]
    assert lag[0] < 1.15 * plain[0]


def test_daedalus_needs_far_fewer_workers_than_the_static_deployment() -> None:
    # 5.5 on YSB. That HPA needs more than it does not come out: it stops at a few workers and never catches up
    number, seconds, _ = figures("daedalus-ysb", "ysb", "daedalus")
    assert number < 0.7 * 12
    assert number / 5.5 < 1.3
    assert seconds < 10


def test_on_kafka_streams_hpa_at_80_percent_does_not_keep_up() -> None:
    # workers 5.8 and 4, latency 15.5 and 102 s
    keeps_up, does_not = (figures("daedalus-kafka-streams", "kafka-streams", name) for name in ("hpa 60", "hpa 80"))
    assert does_not[0] < keeps_up[0]
    assert does_not[1] > 10 * keeps_up[1]


def recoveries(policy: str) -> list[float]:
    """Of the eight failures of Top Speed Windowing; for ever where it never recovered."""
    cell = next(one for one in experiment("phoebe-tsw") if one.policy == policy and one.seed == 0)
    return [
        math.inf if one.seconds is None else one.seconds for one in recovery(simulate(with_profile(cell.experiment)))
    ]


def test_static_deployments_recover_as_phoebes_table_says() -> None:
    # ICWS'22, Table II(a): each within 15 %, and 6m+ where it says so
    of_24, of_12 = recoveries("static 24"), recoveries("static 12")
    assert of_24 == pytest.approx([140, 150, 200, 165, 155, 185, 240, 160], rel=0.15)
    published = [160, 165, math.inf, 195, 205, math.inf, math.inf, 210]
    for seconds, table in zip(of_12, published, strict=True):
        assert seconds > 360 if table == math.inf else seconds == pytest.approx(table, rel=0.2)


def test_static_4_never_recovers_in_time() -> None:
    assert min(recoveries("static 4")[:4]) > 360
