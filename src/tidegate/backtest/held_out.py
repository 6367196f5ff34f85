"""Tuning on the first two thirds of a trace, with evaluation on the last third: settings that only fit the days they
were tuned on are of no use on the next.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.backtest.request import start
from tidegate.backtest.tune import Aim, Execution, Score, SearchResult, Settings, score, tune
from tidegate.compare.ranking import order
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.workloads.steps import Steps

#: share of the trace used for tuning
TUNED_ON = 2 / 3


@dataclass(frozen=True, slots=True)
class Tuning:
    """Scores of the initial and of the best settings, each on the tuning part and on the held-out part, and of the best
    on the whole trace.
    """

    policy: str
    initial: Mapping[str, float | str]
    result: SearchResult
    default: tuple[Score, Score]
    tuned: tuple[Score, Score]
    whole: Score
    allowed: float

    @property
    def options(self) -> Settings:
        return self.result.options

    @property
    def better(self) -> bool:
        """Whether the best settings are better than the initial ones on the held-out part."""
        before, after = self.default[1], self.tuned[1]
        return order(after.late, after.seconds, self.allowed) < order(before.late, before.seconds, self.allowed)


def check(e: Experiment) -> None:
    """Reject a trace that cannot be split."""
    for name, levels in _levels(e).items():
        if len(levels) < 2 or not any(levels):
            counts = f"{len(levels)} rows, {sum(1 for level in levels if level)} of them above 0"
            raise InvalidInput(
                f"tune: need two rows or more and some records in each part of the trace, {name}: {counts}"
            )


def parts(e: Experiment, folder: Path) -> tuple[Experiment, Experiment]:
    """The experiment on the first two thirds and on the last third of its trace. Both parts are written to a folder."""
    check(e)
    step = e.duration / sum(len(levels) for levels in _levels(e).values())
    first, last = (_part(e, folder / f"{name}.csv", levels, step) for name, levels in _levels(e).items())
    return first, last


def _levels(e: Experiment) -> dict[str, tuple[float, ...]]:
    shape = e.load()
    assert isinstance(shape, Steps)
    cut = round(len(shape.levels) * TUNED_ON)
    return {"first": shape.levels[:cut], "last": shape.levels[cut:]}


def _part(e: Experiment, path: Path, levels: Sequence[float], step: float) -> Experiment:
    _write(path, "time,rate\n" + "".join(f"{k * step!r},{level!r}\n" for k, level in enumerate(levels)))
    # the batch limit of the whole trace, as it is the same query
    part = replace(
        e, workload=f"trace:{path}", duration=len(levels) * step, peak=float(max(levels)), limit=e.max_batch_records
    )
    return replace(part, initial=start(part))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {os.strerror(error.errno or 0)}") from None


def tuning(e: Experiment, folder: Path, aim: Aim, execution: Execution) -> Tuning | None:
    """Tune, and compare with the initial settings on both parts; None if interrupted before the first result."""
    first, last = parts(e, folder)
    result, seeds = tune(first, aim, execution), execution.seeds
    if result.start is None or result.best is None:
        return None
    options, initial = {**e.options, **result.options}, result.start.score
    held_out = score(last, seeds), score(replace(last, options=options), seeds)
    whole = score(replace(e, options=options), seeds)
    default, tuned = (initial, held_out[0]), (result.best.score, held_out[1])
    return Tuning(e.policy, e.options, result, default, tuned, whole, aim.allowed)
