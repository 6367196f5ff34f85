"""Run the cells of a comparison: simulated ones on all cores, those on Spark one after another. What is done is kept
at once, and a second call goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tidegate.compare.cell_runner import Bench, Result, failed, simulated
from tidegate.compare.cells import Cell
from tidegate.compare.folder import Folder
from tidegate.compare.pool import Pool

#: with at least so many jobs under workloads each is one piece of work; with fewer, each seed of them
PIECES = 8
#: takes what is done
Keep = Callable[[Sequence[Result]], None]
#: runs cells
Work = Callable[[Sequence[Cell], Keep], None]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Runs in the order of the cells; of an interrupted comparison, those that were done."""

    runs: list[dict[str, Any]]
    series: list[dict[str, Any]]
    interrupted: bool = False


def compare(cells: Sequence[Cell], folder: Folder, work: Work, watch: Callable[[int], None]) -> Outcome:
    """Let `work` do what the folder does not have yet; `watch` is told how many runs there are, first at the start."""
    before = folder.runs()
    missing = [cell for cell in cells if cell.key not in before]
    tried: dict[str, dict[str, Any]] = {}
    watched = len(cells) - len(missing)

    def keep(results: Sequence[Result]) -> None:
        folder.keep(results)
        tried.update({str(one.run["run"]): dict(one.run) for one in results})
        watch(watched + len(tried))

    interrupted = False
    try:
        keep([])
        if missing:
            work(missing, keep)
    except KeyboardInterrupt:
        interrupted = True
    # the folder last: it has every run that was done, whenever the interrupt came
    found, curves, keys = {**tried, **folder.runs()}, folder.series(), [cell.key for cell in cells]
    return Outcome([found[k] for k in keys if k in found], [curves[k] for k in keys if k in curves], interrupted)


def on_simulators(bench: Bench, processes: int) -> Work:
    """On so many processes; with one, in this one. The results are the same."""

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
    """Pieces of work: runs of one job under one workload, which share load and oracle. How they are cut does not
    depend on the machine.
    """
    groups = len({(cell.job, cell.workload) for cell in cells})
    found: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.job, cell.workload, cell.seed if groups < PIECES else 0), []).append(cell)
    return list(found.values())


def on_spark(store: Path, say: Say) -> Work:
    """On real Spark: each run has the machine to itself."""
    from tidegate.compare.spark_cell import spark_run  # noqa: PLC0415, Spark only for those who use it

    def work(cells: Sequence[Cell], keep: Keep) -> None:
        for cell in cells:
            say(f"{cell.key}: {cell.experiment.duration:g} s on Spark")
            try:
                keep([spark_run(cell, store, say)])
            except Exception as error:
                keep([Result(failed(cell, error))])

    return work
