"""The figures by which policies are compared: where to find each in a result, its format and its meaning.

A column added here appears in the tables of the report; with `overall` also in the table over all cells, and with
`terminal` in the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tidegate.compare.ranking import leaders
from tidegate.runs import RunResult
from tidegate.score.convergence import Convergence
from tidegate.score.estimate import Estimate, over_seeds
from tidegate.score.figures import Figures
from tidegate.score.recovery import Recovery
from tidegate.units import count, seconds, share

#: extracts a figure from a run; None if the run does not have it
Value = Callable[[RunResult], float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a run. `changes` is for figures with several entries per run, of which some may lack a time: a run
    then counts with the mean of the known times.
    """

    key: str
    title: str
    value: Value
    write: Callable[[float], str]
    note: str
    better: Literal["less", "more"] = "less"
    #: also shown in the table over all cells
    overall: bool = False
    #: heading above several columns
    group: str = ""
    changes: Callable[[Figures], Sequence[Convergence | Recovery]] | None = None
    #: format in the terminal's table, if shown there, and a title for it if `title` needs the group above it
    terminal: Callable[[float], str] | None = None
    terminal_title: str = ""

    def estimate(self, runs: Sequence[RunResult]) -> Estimate | None:
        """Estimate over runs that differ only in their seed; None if none of them has the figure."""
        if self.changes is None:
            return over_seeds(self.value(run) for run in runs)
        entries = [self.changes(run.figures) for run in runs if run.figures is not None]
        missed = sum(change.seconds is None for changes in entries for change in changes)
        return over_seeds((self.value(run) for run in runs), missed) or _never(missed)


def figure(value: Callable[[Figures], float | None]) -> Value:
    """A value from the figures of a run; None if it has no figures."""
    return lambda run: None if run.figures is None else value(run.figures)


def _mean(changes: Sequence[Convergence | Recovery]) -> float | None:
    times = [change.seconds for change in changes if change.seconds is not None]
    return sum(times) / len(times) if times else None


def _never(missed: int) -> Estimate | None:
    return Estimate(float("inf"), missed=missed) if missed else None


def _decimal(value: float) -> str:
    return f"{value:.2f}"


def _money(value: float) -> str:
    return f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"


def _fine(value: float) -> str:
    """Format a share; tiny ones keep two digits, as good policies differ there.

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
        figure(lambda f: f.oracle.ratio if f.oracle else None),
        _decimal,
        "Worker-seconds divided by those of the oracle. The oracle knows the whole workload in advance and uses the"
        " fewest worker-seconds that keep latency within the SLO, the time that a rescale takes included. 1.00 cannot"
        " be beaten without more late records; 1.50 means 50 % more.",
        overall=True,
        group="Resources",
        terminal="{:.2f}".format,
    ),
    Column(
        "seconds",
        "worker-s",
        figure(lambda f: f.workers.seconds if f.workers else None),
        count,
        "Executors times seconds, each from its request until it was gone, used or not: what is paid for.",
        overall=True,
        group="Resources",
        terminal="{:,.0f}".format,
    ),
    Column(
        "workers",
        "mean",
        figure(lambda f: f.workers.mean if f.workers else None),
        _decimal,
        "Executors on average over time.",
        group="Workers",
        terminal="{:.2f}".format,
        terminal_title="workers",
    ),
    Column(
        "most",
        "max",
        figure(lambda f: f.workers.max if f.workers else None),
        count,
        "The most executors at any time.",
        group="Workers",
    ),
    Column(
        "violated",
        "late",
        figure(lambda f: f.slo.violated),
        _fine,
        "Share of all records whose latency was above the SLO, its violations. A record that still"
        " waited at the end counts with the time it had waited, so outages are counted and never dropped.",
        overall=True,
        group="SLO",
        terminal="{:.1%}".format,
    ),
    Column(
        "p50",
        "p50",
        figure(lambda f: f.latency.p50 if f.latency else None),
        seconds,
        "Half of the records were faster than this.",
        group="Latency",
    ),
    Column(
        "p95",
        "p95",
        figure(lambda f: f.latency.p95 if f.latency else None),
        seconds,
        "95 % of the records were faster than this. Latency of a record is the time from its arrival to the end of the"
        " batch or operator that finished it, time in the queue and outages included.",
        overall=True,
        group="Latency",
        terminal="{:.1f}".format,
        terminal_title="p95 s",
    ),
    Column(
        "p99",
        "p99",
        figure(lambda f: f.latency.p99 if f.latency else None),
        seconds,
        "99 % of the records were faster than this.",
        group="Latency",
    ),
    Column(
        "max",
        "max",
        figure(lambda f: f.latency.max if f.latency else None),
        seconds,
        "The slowest record.",
        group="Latency",
    ),
    Column(
        "processed",
        "done",
        figure(lambda f: f.throughput.ratio),
        share,
        "Records processed as a share of those offered.",
        better="more",
        group="Records",
    ),
    Column(
        "rescales",
        "rescales",
        figure(lambda f: f.rescales.count),
        lambda value: f"{round(value, 1):g}" if value < 1000 else count(value),
        "How often the policy requested another number of executors. Its actions are counted, not the executors that"
        " come and go as a result.",
        overall=True,
        group="Actions",
        terminal="{:.1f}".format,
    ),
    Column(
        "over",
        "over",
        figure(lambda f: f.provision.over if f.provision else None),
        count,
        "Worker-seconds above what the oracle had at that time.",
        group="Worker-s vs oracle",
    ),
    Column(
        "under",
        "under",
        figure(lambda f: f.provision.under if f.provision else None),
        count,
        "Worker-seconds below what the oracle had at that time.",
        group="Worker-s vs oracle",
    ),
    Column(
        "convergence",
        "converges",
        figure(lambda f: _mean(f.convergence)),
        _within,
        "After a step of the load: time until the executors stay within one of the oracle's for 5 minutes. “never”:"
        " they did not before the next change.",
        group="After changes",
        changes=lambda f: f.convergence,
    ),
    Column(
        "recovery",
        "recovers",
        figure(lambda f: _mean(f.recovery)),
        _within,
        "After a failure: time until latency is what it was before.",
        group="After changes",
        changes=lambda f: f.recovery,
    ),
    Column(
        "cost",
        "cost",
        figure(lambda f: f.cost),
        _money,
        "Worker-seconds at the price of an executor-hour.",
        overall=True,
        group="Money",
    ),
    Column(
        "profiling",
        "profile",
        lambda run: run.profiling.worker_seconds if run.profiling else None,
        count,
        "Worker-seconds of the profiling runs that a policy needs before it can work. They are not counted elsewhere,"
        " as a job is profiled only once.",
        group="Before",
    ),
)
BY_KEY: Mapping[str, Column] = {column.key: column for column in COLUMNS}


#: columns of the terminal's table, in order
TERMINAL: tuple[Column, ...] = tuple(column for column in COLUMNS if column.terminal)


def best(column: Column, estimates: Mapping[str, Estimate]) -> frozenset[str]:
    """Policies with the best figure, as displayed; empty if all figures read the same.

    >>> late = BY_KEY["violated"]
    >>> sorted(best(late, {"a": Estimate(0.2), "b": Estimate(0.1), "c": Estimate(0.1001)}))
    ['b', 'c']
    >>> best(late, {"a": Estimate(0.2)}), best(late, {"a": Estimate(0.2), "b": Estimate(0.2)})
    (frozenset(), frozenset())
    """
    texts = {policy: column.write(estimate.mean) for policy, estimate in estimates.items()}
    complete = {policy: estimate.mean for policy, estimate in estimates.items() if not estimate.missed}
    if len(set(texts.values())) < 2:
        return frozenset()
    shown = {texts[policy] for policy in leaders(complete, highest=column.better == "more")}
    return frozenset(policy for policy in complete if texts[policy] in shown)
