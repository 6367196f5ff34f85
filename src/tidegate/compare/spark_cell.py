"""A cell of a comparison on real Spark, measured like a simulated one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tidegate.compare.cell_runner import Result, lead
from tidegate.compare.cells import Cell
from tidegate.compare.curves import series
from tidegate.core import Tick
from tidegate.experiment.settings import Experiment
from tidegate.runner.spark_run import run
from tidegate.score.figures import Aims, figures
from tidegate.score.from_ticks import trial
from tidegate.score.trace import Cumulative, Move, RunTrace
from tidegate.store import Store

#: in a comparison on Spark this name means Spark's own dynamic allocation: the baseline that every user has
NATIVE = "spark-dra"


def spark_run(cell: Cell, store: Path, say: Callable[[str], None]) -> Result:
    """One run on Spark, stored like those of `tidegate run`; an interrupted one does not count."""
    e = as_native(cell.experiment)
    with Store.open(store) as kept:
        outcome = run(e, kept, say, lambda tick: None)
        ticks = [tick for _, tick in kept.ticks(outcome.run)] if outcome.run else []
        start = float(kept.run(outcome.run).spec["start"]) if outcome.run else 0.0
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    seen = measured(e, ticks, start)
    found = figures(seen, Aims(e.slo, e.price))
    known = {**lead(replace(cell, experiment=e), outcome.status), "stored": outcome.run}
    return Result({**outcome.result, **found, **known}, series(cell, seen, None) if cell.drawn else None)


def as_native(e: Experiment) -> Experiment:
    return replace(e, mode="native", options={}) if e.policy == NATIVE and e.mode == "active" else e


def measured(e: Experiment, ticks: Sequence[Tick], start: float) -> RunTrace:
    """What a run left behind. Where Spark scales by itself nobody acts: every change of the number is a move."""
    seen = trial(ticks, start, Cumulative.of(e.load()) if not e.external_source else None)
    if e.mode != "native":
        return seen
    counts = zip(seen.times.tolist(), seen.executors.tolist(), strict=True)
    moves = [Move(now, int(a), int(b), "dynamic allocation") for (_, a), (now, b) in pairwise(counts) if a != b]
    return replace(seen, moves=tuple(moves), failures=())
