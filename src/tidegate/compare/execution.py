"""Runs the cells of a comparison: simulated ones on all cores, those on Spark one after another. Results are saved as
they come, and a second call resumes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidegate.compare.cell_runner import Bench, CellResult, failed, simulated
from tidegate.compare.cells import Cell
from tidegate.compare.curves import RunCurves
from tidegate.compare.folder import Folder
from tidegate.compare.pool import Pool
from tidegate.runs import RunResult

#: number of jobs x workloads from which on each is one unit of work; below it, each seed is one
PIECES = 8
#: saves results
Keep = Callable[[Sequence[CellResult]], None]
#: runs cells
Work = Callable[[Sequence[Cell], Keep], None]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Runs in the order of the cells; those done so far if the comparison was interrupted."""

    runs: tuple[RunResult, ...]
    curves: tuple[RunCurves, ...] = ()
    interrupted: bool = False

    @property
    def failed(self) -> tuple[RunResult, ...]:
        return tuple(run for run in self.runs if run.status == "failed")


def compare(cells: Sequence[Cell], folder: Folder, work: Work, watch: Callable[[int], None]) -> Outcome:
    """Let `work` run the cells that the folder lacks. `watch` is called with the number of finished runs, first at the
    start.
    """
    finished = folder.runs()
    missing = [cell for cell in cells if cell.key not in finished]
    tried: dict[str, RunResult] = {}
    already_done = len(cells) - len(missing)

    def keep(results: Sequence[CellResult]) -> None:
        folder.keep(results)
        tried.update({result.run.run: result.run for result in results})
        watch(already_done + len(tried))

    interrupted = False
    try:
        keep([])
        if missing:
            work(missing, keep)
    except KeyboardInterrupt:
        interrupted = True
    # the folder takes precedence: it has every finished run, whenever the interrupt came
    runs, curves, keys = {**tried, **folder.runs()}, folder.curves(), [cell.key for cell in cells]
    done = tuple(runs[key] for key in keys if key in runs)
    return Outcome(done, tuple(curves[key] for key in keys if key in curves), interrupted)


def on_simulators(bench: Bench, processes: int) -> Work:
    """Run cells on several processes, or in this one if `processes` is 1. Results do not depend on it."""

    def work(cells: Sequence[Cell], keep: Keep) -> None:
        parts = pieces(cells)
        if processes > 1 and len(parts) > 1:
            Pool(min(processes, len(parts)), partial(simulated, bench=bench)).run(parts, keep)
            return
        for part in parts:
            for result in simulated(part, bench):
                keep([result])

    return work


def pieces(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Units of work: runs of one job under one workload, which share load and oracle. They do not depend on the
    machine.
    """
    pairs = len({(cell.job, cell.workload) for cell in cells})
    units: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in cells:
        units.setdefault((cell.job, cell.workload, cell.seed if pairs < PIECES else 0), []).append(cell)
    return list(units.values())


def on_spark(store: Path, say: Say) -> Work:
    """Run cells on Spark, one at a time so that each has the machine to itself."""
    from tidegate.compare.spark_cell import run_cell  # noqa: PLC0415, imports PySpark

    def work(cells: Sequence[Cell], keep: Keep) -> None:
        for cell in cells:
            say(f"{cell.key}: {cell.experiment.duration:g} s on Spark")
            try:
                keep([run_cell(cell, store, say)])
            except Exception as error:
                keep([CellResult(failed(cell, error))])

    return work
