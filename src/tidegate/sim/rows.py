"""The batches of a recorded run with what a `BatchModel` predicts them from, and that prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.sim.batch_model import BatchModel
from tidegate.sim.recording import Lifetime, RecordedBatch, Recording
from tidegate.sim.state_placement import StatePlacement

#: partitions that move at once in a recorded run: as many as have to
MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """A batch and its executors. `here` has the seconds of work that each executor had done by then, `coming` the times
    at which others joined while the batch was running, and `lost` tells whether some left after the previous batch.
    `held` has the state partitions of each executor, `loads` is how many of them one had to load at most. The records
    of the batch came at `rate`.
    """

    batch: RecordedBatch
    here: tuple[float, ...]
    coming: tuple[float, ...]
    lost: bool
    held: tuple[tuple[int, ...], ...] = ()
    loads: int = 0
    rate: float = 0.0

    @property
    def fresh(self) -> bool:
        """Whether one of the executors runs its first tasks."""
        return min(self.here) == 0

    @property
    def steady(self) -> bool:
        return not (self.fresh or self.coming or self.lost)


def rows_of(recording: Recording, model: BatchModel | None = None) -> list[Row]:
    """All batches but the first, during which the query starts up. If state was not spread, where it was depends on how
    long tasks took: as the model has it, or about as long as a share of the batch.
    """
    rows: list[Row] = []
    state: StatePlacement | None = None
    # initial executors have been warming up until the start
    worked = [max(0.0, -life.came) for life in recording.lives]
    previous: RecordedBatch | None = None
    for batch in recording.batches:
        present = [k for k, life in enumerate(recording.lives) if life.covers(batch.planned)]
        if recording.layout.stages > 1 and present:
            slots = {str(k): recording.layout.cores for k in present}
            state = state or StatePlacement(recording.layout.tasks, slots, follow=recording.spread)
            loads = state.settle(slots, slots, MANY, _task(recording, batch, model))
            held = tuple(state.held(str(k)) for k in present)
        else:
            loads, held = 0, ()
        joined = [k for k, life in enumerate(recording.lives) if _joins(recording, batch, life, len(present))]
        if previous is not None and present:
            lost = any(life.covers(previous.planned) and not life.covers(batch.planned) for life in recording.lives)
            coming = tuple(sorted(recording.lives[k].came for k in joined))
            rate = batch.records / max(batch.planned - previous.planned, 0.001)
            rows.append(Row(batch, tuple(worked[k] for k in present), coming, lost, held, loads, rate))
        for k in [*present, *joined]:
            worked[k] += min(batch.took, batch.planned + batch.took - recording.lives[k].came)
        previous = batch
    return rows


def _task(recording: Recording, batch: RecordedBatch, model: BatchModel | None) -> float:
    """How long the longest task of a state partition took."""
    if model is None:
        return (1 - recording.layout.first) * batch.took / recording.layout.tasks
    return model.longest_task(batch.records)


def _joins(recording: Recording, batch: RecordedBatch, life: Lifetime, count: int) -> bool:
    """Whether an executor that registers in the middle of a batch gets tasks of that batch.

    It can only take tasks of the first stage that have not started. Later stages of a stateful query run where the
    state is.
    """
    layout = recording.layout
    if layout.stages > 1:
        return batch.planned < life.came < batch.planned + layout.first * batch.took
    task = batch.took / math.ceil(layout.tasks / max(1, count * layout.cores))
    return batch.planned < life.came < batch.planned + batch.took - task


def predicted(model: BatchModel, row: Row) -> float:
    """Predicted duration of a batch in seconds: the work is done at the combined speed of its executors, which grows
    when others join.
    """
    count, records = len(row.here), row.batch.records
    empty, cost = model.free(count)
    work = (empty + cost * records) * count  # in seconds of a warmed-up executor
    cold = model.cold if row.fresh else 0.0
    speeds = [model.speed(worked) for worked in row.here]
    speed = math.fsum(speeds)
    end = row.batch.planned + work / speed
    for came in row.coming:
        task = (end - row.batch.planned) / -(-model.tasks // (count * model.cores))
        warm, faster = came + model.cold, speed + model.speed(0.0)
        shared = min(warm, end) + max(0.0, end - warm) * speed / faster
        end, speed = max(shared, warm + task), faster
    loading = -(-row.loads // model.cores) * model.loading(row.rate) if row.loads else 0.0
    return model.fixed + cold + loading + _later(model, row, speeds) + end - row.batch.planned


def _later(model: BatchModel, row: Row, speeds: Sequence[float]) -> float:
    """Seconds of the later stages: those of the executor that takes longest for the partitions it holds."""
    if not row.held:
        return 0.0
    weights = model.weights()
    bounds = [model.bound([weights[partition] for partition in held]) for held in row.held]
    return max((waves + each * row.batch.records) / speed for (waves, each), speed in zip(bounds, speeds, strict=True))
