"""The figures by which policies are compared: where each is in a run, how it is written, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tidegate.report.compare.estimate import Estimate, over_seeds
from tidegate.report.facts import pick
from tidegate.report.units import count, known, seconds, share

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """`path` is dotted; one that ends in `[]` is a list of `{seconds}`, of which a run counts with its mean."""

    key: str
    title: str
    path: str
    write: Callable[[float], str]
    note: str
    better: Literal["less", "more"] = "less"
    #: stands in the table over all cells too
    overall: bool = False
    #: over the titles of several columns
    group: str = ""

    def estimate(self, runs: Sequence[Record]) -> Estimate | None:
        """Over the runs of one policy in one cell, which differ in their seeds; None where none has the figure."""
        if not self.path.endswith("[]"):
            values = (pick(run, self.path) for run in runs)
            return over_seeds([value for value in values if value is not None])
        kept = [listed(run.get(self.path[:-2])) for run in runs]
        means = [sum(got) / len(got) for got, _ in kept if got]
        return over_seeds(means, sum(missed for _, missed in kept)) or _never(kept)


def listed(items: Any) -> tuple[list[float], int]:
    """The seconds in a list, and how many of its items have none.

    >>> listed([{"at": 60, "seconds": 30.0}, {"at": 120, "seconds": None}]), listed(None)
    (([30.0], 1), ([], 0))
    """
    times = [known(item.get("seconds")) for item in items or () if isinstance(item, Mapping)]
    got = [time for time in times if time is not None]
    return got, len(times) - len(got)


def _never(kept: Sequence[tuple[list[float], int]]) -> Estimate | None:
    missed = sum(missed for _, missed in kept)
    return Estimate(float("inf"), missed=missed) if missed else None


def _decimal(value: float) -> str:
    return f"{value:.2f}"


def _money(value: float) -> str:
    return f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"


def _fine(value: float) -> str:
    """A share near nothing keeps two digits: that is where good policies differ.

    >>> _fine(0.00012), _fine(0.0), _fine(0.034), _fine(1e-7)
    ('0.012 %', '0 %', '3.4 %', '< 0.001 %')
    """
    if not 0 < value < 0.001:
        return share(value)
    return "< 0.001 %" if value < 0.00001 else f"{value * 100:.2g} %"


def _within(value: float) -> str:
    return "never" if value == float("inf") else seconds(value)


COLUMNS: tuple[Column, ...] = (
    Column(
        "ratio",
        "÷ oracle",
        "oracle.ratio",
        _decimal,
        "Worker-seconds divided by those of the oracle. The oracle knows the whole workload in advance and uses the"
        " fewest worker-seconds that keep latency within the SLO, the time that a rescale takes included. 1.00 cannot"
        " be beaten without more late records; 1.50 is half as much again.",
        overall=True,
        group="Resources",
    ),
    Column(
        "seconds",
        "worker-s",
        "workers.seconds",
        count,
        "Executors times seconds, each from being asked for until it was gone, used or not: what is paid for.",
        overall=True,
        group="Resources",
    ),
    Column("workers", "mean", "workers.mean", _decimal, "Executors on average over time.", group="Workers"),
    Column("most", "max", "workers.max", count, "The most executors at any time.", group="Workers"),
    Column(
        "violated",
        "late",
        "slo.violated",
        _fine,
        "Share of all records whose latency was above the SLO, its violations. A record that still"
        " waited at the end counts with the time that it had waited: outages are counted, never dropped.",
        overall=True,
        group="SLO",
    ),
    Column("p50", "p50", "latency.p50", seconds, "Half of the records were faster than this.", group="Latency"),
    Column(
        "p95",
        "p95",
        "latency.p95",
        seconds,
        "95 % of the records were faster than this. Latency of a record is the time from its arrival to the end of the"
        " batch or operator that finished it, time in the queue and outages included.",
        overall=True,
        group="Latency",
    ),
    Column("p99", "p99", "latency.p99", seconds, "99 % of the records were faster than this.", group="Latency"),
    Column("max", "max", "latency.max", seconds, "The slowest record.", group="Latency"),
    Column(
        "processed",
        "done",
        "throughput.ratio",
        share,
        "Records processed as a share of those offered.",
        better="more",
        group="Records",
    ),
    Column(
        "rescales",
        "rescales",
        "rescales.count",
        lambda value: f"{round(value, 1):g}" if value < 1000 else count(value),
        "Times that the policy asked for another number of executors. Its actions are counted, not the executors that"
        " come and go on the way.",
        overall=True,
        group="Actions",
    ),
    Column(
        "over",
        "over",
        "provision.over",
        count,
        "Worker-seconds above what the oracle had at that time.",
        group="Worker-s vs oracle",
    ),
    Column(
        "under",
        "under",
        "provision.under",
        count,
        "Worker-seconds that were missing to what the oracle had at that time.",
        group="Worker-s vs oracle",
    ),
    Column(
        "convergence",
        "converges",
        "convergence[]",
        _within,
        "After a step of the load: time until the executors stay within one of the oracle's for 5 minutes. “never”:"
        " they did not before the next change.",
        group="After changes",
    ),
    Column(
        "recovery",
        "recovers",
        "recovery[]",
        _within,
        "After a failure: time until latency is what it was before.",
        group="After changes",
    ),
    Column(
        "cost", "cost", "cost", _money, "Worker-seconds at the price of an executor-hour.", overall=True, group="Money"
    ),
    Column(
        "profiling",
        "profile",
        "profiling.worker_seconds",
        count,
        "Worker-seconds of the profiling runs that a policy needs before it can work. They are not counted elsewhere: a"
        " profile is made once for a job.",
        group="Before",
    ),
)
BY_KEY: Mapping[str, Column] = {column.key: column for column in COLUMNS}


def best(column: Column, estimates: Mapping[str, Estimate]) -> frozenset[str]:
    """Whose figure is best, with all that read the same; nobody where there is no contest.

    >>> late = BY_KEY["violated"]
    >>> sorted(best(late, {"a": Estimate(0.2), "b": Estimate(0.1), "c": Estimate(0.1001)}))
    ['b', 'c']
    >>> best(late, {"a": Estimate(0.2)}), best(late, {"a": Estimate(0.2), "b": Estimate(0.2)})
    (frozenset(), frozenset())
    """
    fit = {who: one for who, one in estimates.items() if not one.missed}
    texts = {who: column.write(one.mean) for who, one in estimates.items()}
    if len(set(texts.values())) < 2 or not fit:
        return frozenset()
    pick_best = max if column.better == "more" else min
    winner = pick_best(fit, key=lambda who: fit[who].mean)
    return frozenset(who for who in fit if texts[who] == texts[winner])
