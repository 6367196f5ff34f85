"""Tune on the first two thirds of a trace, and look at the last third with what was found: settings that only fit the
days they were searched on are of no use on the next.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidegate.backtest.recommendation import order
from tidegate.backtest.request import start
from tidegate.backtest.tune import Aim, Found, Means, Score, Settings, score, tune
from tidegate.core import InvalidInput
from tidegate.experiment.settings import Experiment
from tidegate.workloads.steps import Steps

#: share of the trace that is searched on
TUNED_ON = 2 / 3


@dataclass(frozen=True, slots=True)
class Tuning:
    """Scores of the start and of the best settings, on the part that was searched and on the one kept out; and of the
    best on the whole trace.
    """

    policy: str
    given: Mapping[str, float | str]
    found: Found
    default: tuple[Score, Score]
    tuned: tuple[Score, Score]
    whole: Score
    allowed: float

    @property
    def options(self) -> Settings:
        return self.found.options

    @property
    def better(self) -> bool:
        """On the part that was kept out."""
        before, after = self.default[1], self.tuned[1]
        return order(after.late, after.seconds, self.allowed) < order(before.late, before.seconds, self.allowed)


def check(e: Experiment) -> None:
    """Refuse a trace that cannot be divided."""
    for name, levels in _levels(e).items():
        if len(levels) < 2 or not any(levels):
            told = f"{len(levels)} rows, {sum(1 for level in levels if level)} of them above 0"
            raise InvalidInput(
                f"tune: need two rows or more and some records in each part of the trace, {name}: {told}"
            )


def parts(e: Experiment, folder: Path) -> tuple[Experiment, Experiment]:
    """The same on the first two thirds and on the last third of its trace, which are written to a folder."""
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
    # batches as large as on the whole trace: it is the same query
    made = replace(
        e, workload=f"trace:{path}", duration=len(levels) * step, peak=float(max(levels)), limit=e.max_batch_records
    )
    return replace(made, initial=start(made))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {os.strerror(error.errno or 0)}") from None


def tuning(e: Experiment, folder: Path, aim: Aim, means: Means) -> Tuning | None:
    """Search, and compare with the start on both parts; None where it was interrupted before anything was known."""
    first, last = parts(e, folder)
    found, seeds = tune(first, aim, means), means.seeds
    if found.start is None or found.best is None:
        return None
    changed, own = {**e.options, **found.options}, found.start.score
    kept_out = score(last, seeds), score(replace(last, options=changed), seeds)
    whole = score(replace(e, options=changed), seeds)
    return Tuning(e.policy, e.options, found, (own, kept_out[0]), (found.best.score, kept_out[1]), whole, aim.allowed)
