"""Decisions that the authors' own systems logged, from the folder in TIDEGATE_VECTORS (or one beside the project).

Each row goes through the policy itself, as an observation of an engine with isolated operators.
"""

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tidegate.control import Autoscaler
from tidegate.core import Decision, Forecast, Limits, Observation, OperatorSample, Target
from tidegate.policies import Ds2, HpaCpu, Phoebe, Stabilisation
from tidegate.policies.guards import DeadBand
from tidegate.policies.phoebe import Candidate

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
FOLDER = Path(os.environ.get("TIDEGATE_VECTORS", BESIDE))
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no {name} in {FOLDER}")
    found = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    assert found, f"{path} is empty"
    return found


def isolated(operators: list[OperatorSample], *, time: float = 0, arriving: float | None = None) -> Observation:
    total = sum(one.parallelism for one in operators)
    return Observation(time, total, total, arrival_rate=arriving, operators=tuple(operators), isolated=True)


# DS2


def test_ds2_wishes_for_the_logged_parallelism_of_every_operator() -> None:
    for number, row in enumerate(rows("ds2.jsonl"), 1):
        obs = isolated(logged_operators(row), arriving=sum(row["source_rate"].values()))
        policy = Ds2(overprovision=1)
        policy.observe(obs)
        wished = policy.decide(obs).per_operator or {}
        assert {name: wished.get(name) for name in row["desired"]} == expected(row), f"row {number}"


def expected(row: Row) -> dict[str, int]:
    """As logged; but input without a true rate gave infinity there, for which ours stays with what there is."""
    return {name: row["parallelism"][name] if size >= 2**31 else size for name, size in row["desired"].items()}


def logged_operators(row: Row) -> list[OperatorSample]:
    """Sources, then whatever is between, then sinks: the first of those fed by all sources, and the rest in a row."""
    names = sorted(row["parallelism"], key=rank)  # stable: within a rank in the order of the log
    sources = [name for name in names if rank(name) == 0]
    shares = topics(row["source_rate"], sources)
    found = [sample(row, name, (), shares[name]) for name in sources]
    upstream = tuple(sources)
    for name in names[len(sources) :]:
        found.append(sample(row, name, upstream, None))
        upstream = (name,)
    return found


def rank(name: str) -> int:
    return 0 if name.lower().startswith("source") else 2 if "sink" in name.lower() else 1


def sample(row: Row, name: str, upstream: tuple[str, ...], rate: float | None) -> OperatorSample:
    """With the logged true rates; a source takes in what its topic gets, and is as busy as that makes it."""
    size = row["parallelism"][name]
    processing, output = (
        math.fsum(value for key, value in row[kind].items() if key.rpartition(" ")[0] == name)
        for kind in ("subtask_true_processing_rate", "subtask_true_output_rate")
    )
    share = rate / processing if rate and processing else 1.0  # of its workers' time
    return OperatorSample(name, upstream, size, processing * share, output * share, size * share)


def topics(rates: dict[str, float], sources: list[str]) -> dict[str, float]:
    """What each source reads: the topics that its name tells of (`bids_topic`, `Source:_BidsSource`), or its share."""
    told = {
        source: sum(
            rate for topic, rate in rates.items() if topic.lower().removesuffix("_topic")[:-1] in source.lower()
        )
        for source in sources
    }
    total = sum(rates.values())
    if len(sources) > 1 and math.isclose(sum(told.values()), total):
        return told
    if len(sources) == len(rates):  # names that do not tell, in the same order
        return dict(zip(sorted(sources, key=str.lower), (rates[name] for name in sorted(rates)), strict=True))
    return {source: total / len(sources) for source in sources}


def test_rows_of_ds2_may_have_several_topics_and_other_names() -> None:
    row: Row = {
        "source_rate": {"person_topic": 100.0, "auctions_topic": 300.0},
        "parallelism": {"LatencySink": 1, "Join": 2, "Source:_auctionsSource": 1, "Source:_PersonSource": 1},
        "subtask_true_processing_rate": {
            "Source:_auctionsSource 0": 100.0,
            "Source:_PersonSource 0": 100.0,
            "Join 0": 30.0,
            "Join 1": 50.0,
            "LatencySink 0": 1.0,
        },
        "subtask_true_output_rate": {"Source:_auctionsSource 0": 50.0, "Source:_PersonSource 0": 100.0},
    }
    assert topics(row["source_rate"], ["Source:_PersonSource"]) == {"Source:_PersonSource": 400}
    obs = isolated(logged_operators(row), arriving=400)
    policy = Ds2(overprovision=1)
    policy.observe(obs)
    # 300 / 100 slots pass on 150, 100 / 100 pass on 100; 250 * 2 / 80 = 6.25 pass on nothing
    assert policy.decide(obs).per_operator == {
        "Source:_auctionsSource": 3,
        "Source:_PersonSource": 1,
        "Join": 7,
        "LatencySink": 1,
    }


# HPA-CPU


def test_hpa_cpu_rescales_exactly_where_the_window_s_maximum_differs_from_the_current_number() -> None:
    for number, row in enumerate(rows("hpa_cpu.jsonl"), 1):
        assert rescales(row) == row["rescaled"], f"row {number}"


def rescales(row: Row) -> bool:
    """What policy and guard make of a row, behind what its window still held.

    The log does not tell each iteration's time, so the window's maximum stands for all that is in it.
    """
    held = {name: logged(row, name) for name in row["current"]}
    before = isolated([OperatorSample(name, parallelism=size) for name, size in row["current"].items()])
    guard, policy = Stabilisation(down=300), HpaCpu(tolerance=0)
    guard.temper(Decision(Target(sum(held.values()), held), "held"), before)
    now = isolated([loaded(row, name, policy.target) for name in row["current"]], time=15)
    policy.observe(now)
    wish = policy.decide(now)
    assert wish.per_operator == {name: recommended(row, name) for name in row["current"]}
    settled = guard.temper(wish, now).per_operator
    return settled is not None and dict(settled) != row["current"]


def logged(row: Row, name: str) -> int:
    """The window's maximum. An empty one (-1, null or left out) was floored at 1; ours would hold instead."""
    return max(1, row["window_max"].get(name) or 1)


def recommended(row: Row, name: str) -> int:
    """The row's; where it has none, what its window says: that changes no maximum."""
    value: int = row["recommended"].get(name) or 0
    return value if value > 0 else logged(row, name)


def loaded(row: Row, name: str, target: float) -> OperatorSample:
    """An operator with the CPU behind its recommendation: half a worker less, so that it is rounded up."""
    return OperatorSample(name, parallelism=row["current"][name], cpu=(recommended(row, name) - 0.5) * target)


@pytest.mark.parametrize(
    ("told", "held", "rescaled"),
    [
        ({"map": 3, "sink": 1}, {"map": 3, "sink": 1}, False),
        ({"map": 2, "sink": 1}, {"map": 3, "sink": 1}, False),
        ({"map": 2, "sink": 1}, {"map": 2, "sink": 1}, True),
        ({"map": 4, "sink": 1}, {"map": 4, "sink": 1}, True),
        ({"map": 3}, {"map": 3, "sink": 2}, True),
        ({"map": 3}, {"map": 3, "sink": None}, False),
        ({"map": -1}, {"map": -1}, True),
        ({}, {}, True),
    ],
)
def test_rows_of_hpa_cpu_may_lack_operators(told: Row, held: Row, rescaled: bool) -> None:
    row = {"recommended": told, "window_max": held, "current": {"map": 3, "sink": 1}}
    assert rescales(row) == rescaled


# Phoebe


class Logged:
    """Phoebe's models, as they judged the scale-outs of a row."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def judge(self, numbers: Iterable[int], ahead: Forecast, rate: float) -> list[Candidate]:
        recovery = {one["scale_out"]: one for one in self.row["recovery"]}
        latency = {one["scale_out"]: one for one in self.row["latency"]}
        return [self.candidate(n, recovery[n], latency[n]) for n in numbers if n in recovery and n in latency]

    def candidate(self, number: int, recovery: Row, latency: Row) -> Candidate:
        """The released code asks for less than the target, ours for no more: what was not valid is above it."""
        least = 0.0 if recovery["valid"] else math.nextafter(self.row["target_recovery"], math.inf)
        return Candidate(number, max(recovery["value"], least), latency["value"], latency["valid"])


def phoebe_goes_to(row: Row) -> int | None:
    """Where the policy with the released dead zone goes; None where it stays."""
    numbers = [one["scale_out"] for one in row["recovery"]]
    limits = Limits(min(numbers), max(numbers))
    policy = Phoebe(limits=limits, target_recovery=row["target_recovery"], models=Logged(row))
    scaler = Autoscaler(policy, limits, (DeadBand(down=2, up=0),))
    for second in range(31):
        obs = Observation(second, row["current"], row["current"], arrival_rate=1000.0, processing_rate=1000.0)
        scaler.observe(obs)
    chosen = scaler.decide(obs)[-1].decision.executors
    return None if chosen == row["current"] else chosen


def test_phoebe_goes_to_the_logged_scale_out() -> None:
    for number, row in enumerate(rows("phoebe.jsonl"), 1):
        assert phoebe_goes_to(row) == row["rescale_to"], f"row {number}"


@pytest.mark.parametrize(
    ("current", "valid", "goes_to"), [(5, {4, 5}, None), (7, {5, 6}, None), (8, {5}, 5), (4, {5}, 5), (5, {5}, None)]
)
def test_the_dead_zone_is_one_or_two_below(current: int, valid: set[int], goes_to: int | None) -> None:
    judged = [{"scale_out": n, "value": 100.0 if n in valid else 180.0, "valid": n in valid} for n in range(4, 9)]
    row = {"current": current, "recovery": judged, "latency": judged, "target_recovery": 180}
    assert phoebe_goes_to(row) == goes_to
