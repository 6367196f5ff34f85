"""Spark's way, simulated: micro-batches over shared slots, on a clock of its own, the same in every run of a seed.

A batch starts on the grid of the trigger, or at once where the last one took longer, takes what has arrived up to a
limit, and lasts as its `BatchModel` says. Executors come some seconds after they were asked for, in the middle of a
batch too: what is left of its first stage then goes faster. State is moved to them before the next batch, which loads
it. Those that must go get no tasks after the running batch, those with the least state first, and are gone some seconds
later. What is observed is what Tidegate's Spark engine would read from reports and executors, with some noise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tidegate.capacity.placement import affordable
from tidegate.core import (
    Batch,
    Decision,
    Event,
    ExecutorSample,
    Lever,
    Observation,
    OperatorSample,
    QueryEnded,
)
from tidegate.progress import ProgressLog
from tidegate.score.trace import Cumulative, Finished, Offered
from tidegate.sim.batch_model import UNLIMITED, BatchModel, Query
from tidegate.sim.pace import DRAWS, Pace, draws
from tidegate.sim.state_placement import StatePlacement

#: executors that worked for so many times `fade` are as fast as they get
GROWN = 5.0
#: age of the executors of the start
OLD = 600.0
#: time after which Spark knows that an executor is gone
NOTICED = 5.0
LEVERS = frozenset({Lever.EXECUTORS, Lever.BATCH_LIMIT})
#: batches from one look at the shares of state partitions to the next
LOOK = 10
#: plannings that the simulated reports reach back
POINTS = 64


#: seconds without records and per record: of the first stage, and of later stages on each executor
Sizes = tuple[tuple[float, float], list[tuple[float, float]]]


@dataclass(slots=True)
class Worker:
    """An executor. `pace`: how its load compares with the mean. Of the task time that one of the start would have,
    `mark` is what it was when this one came, and `born` when this one had done nothing.
    """

    id: str
    added: float
    pace: float
    mark: float
    born: float = -math.inf
    #: its task time as a multiple of the mean, as it holds more or less state than others
    part: float = 1.0


@dataclass(slots=True)
class Running:
    """A batch that runs: its tasks are busy from `busy_from` to `busy_to`, for `share` of the slots' time. Until
    `free_to` there are tasks that any executor may run.
    """

    planned: float
    finishes: float
    begin: float
    end: float
    arrived: float
    busy_from: float
    busy_to: float
    share: float
    speed: float
    #: how long a task of the first stage takes
    task: float
    free_to: float


class MicroBatchEngine:
    """Engine and clock in one. The executors of the start have worked for as long as the query says."""

    def __init__(
        self,
        model: BatchModel,
        query: Query,
        arrivals: Cumulative,
        executors: int,
        *,
        seed: int = 0,
    ) -> None:
        self._model, self._query = model, query
        self._end = float(arrivals.times[-1])
        self._totals = _per_second(arrivals)
        self._draws, self._next_draw = draws(seed + 1), 0
        self._pace = Pace(seed, model.noise)
        self.requested = executors
        self.time = 0.0
        self._workers: list[Worker] = []
        self._made = 0
        self._coming: deque[float] = deque()
        self._failures = deque(sorted(query.failures))
        self._leaving, self._leaves = 0, math.inf  # those that must go, and when they are gone
        self._young_until = -math.inf
        self._cold = False  # whether an executor has had no task yet
        self._loads = 0  # partitions that an executor loads in the next batch
        self._changed = False  # whether the executors are others than state was placed on
        self._loading = False  # whether the running batch loads state
        self._placed = False  # whether state was placed for the next batch
        self._records = 0.0  # of the last batch
        self._sizes: Sizes | None = None  # until the executors or their state change
        self._running: Running | None = None
        self._event = query.phase
        self._spent = 0.0  # task time of one executor, of finished batches
        self._done = 0.0
        self._batch = 0
        self._reruns = 0
        self._fresh: list[Batch] = []
        self._events: list[Event] = []
        self._log = ProgressLog(points=POINTS)
        self._work = 0.0
        self._looked, self._mark = 0.0, 0.0  # when it was last looked, and the task time then
        #: of each batch: when it was done, its first record and the one after its last, how long it took
        self._done_at: list[tuple[float, float, float, float]] = []
        for _ in range(executors):
            self._add(-OLD, query.worked)
        self._weights = model.weights()
        self._state = (
            StatePlacement(model.tasks, self._slots(self._workers), follow=query.spread) if model.stateful else None
        )
        self._changed = False

    # the clock

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        """All that happens until then, in the order in which it happens."""
        while True:
            event = self._event
            other = self._leaves
            if self._coming and self._coming[0] < other:
                other = self._coming[0]
            if self._failures and self._failures[0] < other:
                other = self._failures[0]
            if other < event:
                if other > time:
                    break
                self._happen(other)
            elif event > time:
                break
            elif self._running is not None:
                self._finish(self._running)
            else:
                self._start(event)
        self.time = time

    def _happen(self, time: float) -> None:
        if self._coming and self._coming[0] == time:
            self._coming.popleft()
            self._add(time)
            self._join(time)
        elif self._failures and self._failures[0] == time:
            self._fail(self._failures.popleft())
        else:
            self._leaves, self._leaving = math.inf, 0

    # the engine

    @property
    def levers(self) -> frozenset[Lever]:
        return LEVERS

    def scale(self, decision: Decision) -> None:
        if decision.target.batch_limit is not None:
            self._query = replace(self._query, limit=float(decision.target.batch_limit))
        self.requested = wanted = decision.target.executors
        missing = wanted - len(self._workers) - len(self._coming)
        for _ in range(min(-missing, len(self._coming))):
            self._coming.pop()
        if missing > 0:
            self._come([self.time + self._model.starting(self._quantile()) for _ in range(missing)])
        if self._running is None:
            self._shrink(self.time)

    @property
    def _limit(self) -> int | None:
        limit = self._query.limit
        return int(limit) if limit < UNLIMITED else None

    def force(self, executors: int) -> None:
        """So many executors from now on, without asking: for replaying a recorded run."""
        self.requested = executors
        if executors > len(self._workers):
            while executors > len(self._workers):
                self._add(self.time)
            self._join(self.time)
        else:
            self._shrink(self.time)

    def begin(self, time: float) -> None:
        """Plan the first batch then, off the grid: as soon as a query is up."""
        self._event = time

    def offer(self, load: Offered) -> None:
        """Another load from now on, from its beginning."""
        now = self.time
        base, seconds = self._total(now), np.arange(math.floor(now) + 1, math.ceil(now + load.duration) + 2)
        before = [self._total(float(second)) for second in range(math.floor(now) + 1)]
        self._totals = [*before, *(base + load.integrals(np.minimum(seconds - now, load.duration))).tolist()]
        self._end = now + load.duration

    def observe(self) -> Observation:
        now = self.time
        if now > self._end + self._query.drain:
            raise QueryEnded("the workload is over")
        fresh, self._fresh = tuple(self._fresh), []
        events, self._events = tuple(self._events), []
        log = self._log
        last, cycle, rate, done = log.batch, log.cycle, log.arrival_rate, log.processing_rate
        held = self._model.state * min(rate or 0.0, done or 0.0)
        return Observation(
            time=now,
            executors=len(self._workers) + self._leaving,
            requested=self.requested,
            arrival_rate=rate,
            processing_rate=done,
            backlog=log.backlog(now, rate),
            latency=log.latency,
            trigger=log.trigger,
            batch_duration=log.duration,
            pause=log.pause,
            ceiling=None if last is None else self._model.ceiling,
            # records that wait are in no state yet
            state_rows=round(held) if self._model.state else None,
            state_bytes=round(held * self._model.row_bytes) if self._model.state else None,
            rerun_tasks=self._reruns,
            per_executor=self._samples(now, cycle),
            operators=self._operators(cycle, fresh),
            batch_limit=self._limit,
            batches=fresh,
            events=events,
            uneven=self._uneven(),
        )

    def finished(self) -> Finished:
        """What was done when, for the score."""
        times, begins, ends, _ = self._batches()
        return Finished(times, begins, ends)

    def durations(self) -> npt.NDArray[np.float64]:
        """How long each batch took."""
        return self._batches()[3]

    def _batches(self) -> tuple[npt.NDArray[np.float64], ...]:
        return tuple(np.array(self._done_at, dtype=np.float64).reshape(-1, 4).T)

    # executors

    def _add(self, time: float, worked: float = 0.0) -> None:
        self._made += 1
        pace = 1 + 0.02 * self._draw()
        used = self._used(max(time, 0.0))
        self._workers.append(Worker(str(self._made), time, pace, used, used - worked))
        self._cold = self._cold or not worked
        self._changed, self._sizes = True, None
        self._young_until = max(self._young_until, used - worked + GROWN * self._model.fade)

    def _come(self, times: list[float]) -> None:
        self._coming = deque(sorted([*self._coming, *times]))

    def _shrink(self, time: float) -> None:
        """Remove those that must go, unless they hold more than the others can load with the next batch."""
        if self.requested >= len(self._workers):
            return
        staying = self._staying()
        if self._state is not None:
            self._settle(staying)
            gone = [worker for worker in self._workers if worker not in staying]
            if self._query.spread and any(self._state.held(worker.id) for worker in gone):
                return
        self._leaving += len(self._workers) - len(staying)
        self._leaves = time + self._model.leave
        self._workers, self._sizes = staying, None

    def _staying(self) -> list[Worker]:
        """All but those that must go: the ones with the least state, of equal ones the youngest."""
        state, workers = self._state, self._workers
        if state is None or self.requested >= len(workers):
            return workers[: self.requested]
        ranked = sorted(workers, key=lambda worker: (-len(state.held(worker.id)), worker.added))[: self.requested]
        return [worker for worker in workers if worker in ranked]

    def _fail(self, time: float) -> None:
        """An executor dies: what it had done of the running batch is done again by the others, and Spark replaces it.

        Without any executor left, the batch waits for the new one.
        """
        if not self._workers:
            return
        gone = self._workers.pop()
        self._changed, self._placed, self._sizes = True, False, None
        self._events.append(Event(time, "ExecutorLost", f"executor {gone.id} is gone, {len(self._workers)} left"))
        self._come([time + NOTICED + self._model.starting(self._quantile())])
        run = self._running
        if run is None:
            return
        self._reruns += max(1, round(self._model.tasks / (len(self._workers) + 1)))
        done = self._pace.worth(run.busy_from, min(time, run.busy_to))
        left = self._pace.worth(max(time, run.busy_from), run.busy_to) + done / (len(self._workers) + 1)
        speed = self._speed(time)
        # without any executor the batch waits for the new one, which then is alone
        wait = NOTICED if speed > 0 else NOTICED + self._model.startup
        busy_to = self._pace.after(max(time, run.busy_from) + wait, left * run.speed / (speed or 1.0))
        self._extend(run, busy_to + (run.finishes - run.busy_to), speed or 1.0)

    def _speed(self, time: float) -> float:
        """Of all executors, in executors that are not young."""
        used = self._used(time)
        if self._grown(used):
            return float(len(self._workers))
        return math.fsum(self._model.speed(used - one.born) for one in self._workers)

    def _join(self, time: float) -> None:
        """A new executor takes tasks of the running batch that nobody has begun. Cold as it is, the batch may end later
        for it; otherwise what is left is done by more.
        """
        run, model = self._running, self._model
        if run is None or len(self._workers) > model.ceiling:
            return
        # tasks of later stages run where their state is
        if time >= run.free_to - run.task * (not model.stateful):
            return
        self._cold = False
        useful, speed = self._pace.after(time, model.warming(self._quantile())), self._speed(time)
        left = self._pace.worth(useful, run.free_to)
        shared = self._pace.after(min(useful, run.free_to), left * min(1.0, run.speed / speed))
        own = self._pace.after(useful, run.task)  # the cold time is that of its first task
        later = max(shared, own) - run.free_to
        self._extend(run, run.finishes + later, max(speed, run.speed))
        run.free_to += later

    def _extend(self, run: Running, finishes: float, speed: float) -> None:
        busy_to = finishes - (run.finishes - run.busy_to)
        span = run.busy_to - run.busy_from
        run.share = min(1.0, run.share * span / max(busy_to - run.busy_from, 1e-9) * run.speed / speed)
        run.finishes, run.busy_to, run.speed, self._event = finishes, busy_to, speed, finishes

    # state

    def _slots(self, workers: Sequence[Worker]) -> dict[str, int]:
        return {worker.id: self._model.cores for worker in workers}

    def _settle(self, staying: Sequence[Worker]) -> None:
        """Place the state on these executors, as far as the next batch may load it."""
        if self._state is None or self._placed:
            return
        model, size = self._model, self._bytes() / self._model.tasks
        each = affordable(size, self._query.load_seconds, model.load_rate)
        present = {worker.id for worker in self._workers}
        loads = self._state.settle(self._slots(staying), present, each, model.longest_task(self._records))
        self._loads, self._changed, self._placed, self._sizes = loads, False, True, None

    def _bytes(self) -> float:
        """Of all state, which follows the load."""
        return self._model.partition_bytes(self._log.arrival_rate or 0.0) * self._model.tasks

    def _uneven(self) -> str:
        """What Tidegate's Spark engine says while state is not where it is to be."""
        state = self._state
        if state is None or not self._query.spread or not (self._changed or self._loading or not state.even):
            return ""
        return "state partitions are on their way"

    # batches

    def _total(self, time: float) -> float:
        totals = self._totals
        k = int(time)
        if k >= len(totals) - 1:
            return totals[-1]
        return totals[k] + (time - k) * (totals[k + 1] - totals[k]) if time > 0 else 0.0

    def _start(self, time: float) -> None:
        arrived = self._total(time)
        begin = self._done
        end = min(arrived, begin + self._query.limit)
        if end - begin < 1.0 or not self._workers:  # nothing to do at this trigger
            if end - begin < 1.0:
                self._log.idle = time
            self._event = self._grid(time)
            return
        self._log.plan(time, arrived)
        self._records = end - begin
        if self._changed or (self._state is not None and not self._state.even):
            self._settle(self._staying())
        self._placed = False
        fixed, first, later, speed = self._time_of(end - begin, time)
        tasks = first + later
        task = first / -(-self._model.tasks // (len(self._workers) * self._model.cores))
        share = min(1.0, self._work / tasks) if tasks > 0 else 0.0
        busy_from = time + fixed / 2
        free_to = self._pace.after(busy_from, first)
        busy_to = self._pace.after(busy_from, tasks)
        self._event = busy_to + fixed / 2
        self._running = Running(time, self._event, begin, end, arrived, busy_from, busy_to, share, speed, task, free_to)
        self._done = end

    def _time_of(self, records: float, time: float) -> tuple[float, float, float, float]:
        """Seconds without tasks, of the first stage and of later ones, and the speed; `_work` is the task time of a
        slot in them.
        """
        model, executors = self._model, len(self._workers)
        speed = self._speed(time)
        slow = executors / speed
        (waves, each), bounds = self._stages()
        first, later = (waves + each * records) * slow, self._later(records, time)
        usual = math.fsum(waves for waves, _ in bounds) / len(bounds) if bounds else 0.0
        self._work = (waves + usual + model.cost * records / (executors * model.cores)) * slow
        if self._loads:
            later += -(-self._loads // model.cores) * model.loading(self._log.arrival_rate or 0.0)
            self._loads, self._loading = 0, True
        if self._cold:
            first, self._cold = first + model.warming(self._quantile()), False
        return model.fixed, first, later, speed

    def _later(self, records: float, time: float) -> float:
        """Seconds of later stages, which are those of the executor that takes longest for the state it holds."""
        bounds, used = self._stages()[1], self._used(time)
        if not bounds:
            return 0.0
        if self._grown(used):
            return max(waves + each * records for waves, each in bounds)
        speeds = [self._model.speed(used - one.born) for one in self._workers]
        return max((waves + each * records) / speed for (waves, each), speed in zip(bounds, speeds, strict=True))

    def _stages(self) -> Sizes:
        if self._sizes is not None:
            return self._sizes
        model, state = self._model, self._state
        free = model.free(len(self._workers))
        bounds: list[tuple[float, float]] = []
        if state is not None:
            weights = self._weights
            bounds = [model.bound([weights[k] for k in state.held(one.id)]) for one in self._workers]
            whole = math.fsum(each for _, each in bounds) / len(bounds) + free[1]
            for one, (_, each) in zip(self._workers, bounds, strict=True):
                one.part = (free[1] + each) / whole if whole else 1.0
        self._sizes = free, bounds
        return self._sizes

    def _grown(self, used: float) -> bool:
        """Whether the executors are as fast as they get. Until then sizes change from batch to batch."""
        return used >= self._young_until or not self._model.young

    def _finish(self, run: Running) -> None:
        time = run.finishes
        done = Batch(self._batch, run.planned, time, run.begin, run.end, run.arrived, round(run.end - run.begin))
        self._log.finish(done)
        self._running, self._batch = None, self._batch + 1
        self._loading = False
        self._fresh.append(done)
        self._spent += (run.busy_to - run.busy_from) * run.share
        self._done_at.append((time, run.begin, run.end, time - run.planned))
        if self.requested < len(self._workers):
            self._shrink(time)
        grid = self._grid(run.planned)
        self._event = max(time, grid)

    def _grid(self, time: float) -> float:
        """The trigger after a time; without a trigger soon."""
        trigger, phase = self._query.trigger, self._query.phase
        return phase + (math.floor((time - phase) / trigger + 1e-9) + 1) * trigger if trigger else time + 0.1

    # what is seen

    def _quantile(self) -> float:
        """Of start-up and warm-up times; the median where nothing is left to chance."""
        return 0.5 if not self._model.noise else 0.5 * (1 + math.erf(self._draw() / math.sqrt(2)))

    def _draw(self) -> float:
        k = self._next_draw
        self._next_draw = (k + 1) % DRAWS
        return self._draws[k]

    def _used(self, now: float) -> float:
        """Task time of an executor that was there from the start."""
        run = self._running
        if run is None:
            return self._spent
        return self._spent + run.share * min(max(now - run.busy_from, 0.0), run.busy_to - run.busy_from)

    def _samples(self, now: float, cycle: float | None) -> tuple[ExecutorSample, ...]:
        model, run, last, looked, mark = self._model, self._running, self._log.batch, self._looked, self._mark
        cores, idle, workers, state = model.cores, model.idle, self._workers, self._state
        active = min(cores, model.tasks) if run is not None and run.busy_from <= now < run.busy_to else 0
        rate = (last.end - last.begin) / cycle / len(workers) if last is not None and cycle and workers else None
        used, most, noise = self._used(now), min(model.cpu, 1 - idle), 1 + 0.02 * self._draw()
        found = []
        for one in workers:
            added = one.added
            since, before = (looked, mark) if added <= looked else (added, one.mark)  # it was not there all the time
            held = None if state is None else len(state.held(one.id))
            if now <= since:
                found.append(ExecutorSample(one.id, None, cores, None, None, rate, now - added, active, held))
                continue
            busy = min(1.0, noise * one.pace * one.part * (used - before) / (now - since))
            found.append(ExecutorSample(one.id, None, cores, idle + most * busy, busy, rate, now - added, active, held))
        self._mark, self._looked = used, now
        return tuple(found)

    def _operators(self, cycle: float | None, fresh: Sequence[Batch]) -> tuple[OperatorSample, ...]:
        last, model = self._log.batch, self._model
        if last is None or not cycle:
            return ()
        rate, busy = (last.end - last.begin) / cycle, self._work * len(self._workers) * model.cores / cycle
        if model.stages == 1:
            return (OperatorSample("stage 0", (), model.tasks, rate, 0.0, busy, busy * model.cpu),)
        first, passed = model.first * busy, rate * model.passed
        rest = busy - first
        return (
            OperatorSample("stage 0", (), model.tasks, rate, passed, first, first * model.cpu),
            OperatorSample(
                "stage 1",
                ("stage 0",),
                model.tasks,
                passed,
                0.0,
                rest,
                rest * model.cpu,
                shares=model.shares if any(batch.id % LOOK == 0 for batch in fresh) else (),
            ),
        )


def _per_second(arrivals: Cumulative) -> list[float]:
    """Totals at whole seconds as a plain list: reading one is a tenth of the time that an array takes."""
    whole = float(arrivals.times[-1])
    grid = np.arange(math.ceil(whole) + 2.0)
    if len(arrivals.times) == len(grid) - 1 and arrivals.times[1] == 1.0 and whole == math.ceil(whole):
        values: list[float] = arrivals.totals.tolist()
        return [*values, values[-1]]
    return list(map(float, np.interp(grid, arrivals.times, arrivals.totals)))
