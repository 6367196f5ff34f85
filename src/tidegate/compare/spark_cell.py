"""Runs a cell of a comparison on Spark; it is scored like a simulated one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tidegate.compare.cell_runner import CellResult, labelled
from tidegate.compare.cells import NATIVE, Cell
from tidegate.compare.curves import curves
from tidegate.experiment.settings import Experiment
from tidegate.runner.spark_run import run
from tidegate.store import Store


def run_cell(cell: Cell, store: Path, say: Callable[[str], None]) -> CellResult:
    """Run a cell on Spark and store it like `tidegate run`; an interrupted run does not count. Each run starts its own
    cluster, as executors already warmed up by another policy would distort the comparison.
    """
    e = as_native(cell.experiment)
    with Store.open(store) as runs:
        outcome = run(e, runs, say)
    if outcome.status == "interrupted" or outcome.result is None or outcome.trace is None:
        raise KeyboardInterrupt
    result = replace(labelled(cell, outcome.result), stored=outcome.run)
    return CellResult(result, curves(cell, outcome.trace, None) if cell.drawn else None)


def as_native(e: Experiment) -> Experiment:
    return replace(e, mode="native", options={}) if e.policy == NATIVE and e.mode == "active" else e
