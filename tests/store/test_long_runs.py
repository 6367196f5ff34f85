"""Runs that are longer than what is kept of them in full."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from tidegate.core import Batch, Decision, Event, Observation, Step, Tick
from tidegate.runs import RunResult, RunSpec
from tidegate.score import Objective, figures, trace_from_ticks
from tidegate.store import MIGRATIONS, Retention, Store
from tidegate.store import housekeeping as house
from tidegate.store.retention import COARSE, FULL, MINUTES

#: ten minutes full, then twenty by the minute, then the rest of two hours
SHORT = Retention(full=600.0, minutes=1800.0, whole=7200.0)
START = 1_800_000_000.0


@dataclass(slots=True)
class Clock:
    now: float = START

    def __call__(self) -> float:
        return self.now


def ticks(seconds: int, start: float = START, period: int = 5) -> list[Tick]:
    """A batch with every tick, a decision every 15 s, a rescale every 20 minutes, an event every half hour."""
    made, done, requested = [], 0.0, 2
    for t in range(0, seconds, period):
        now = start + t
        batch = Batch(t, now - 4, now - 1, done, done + 100 + t % 7, done + 200, 100)
        done = batch.end
        events = (Event(now, "ExecutorLost", f"at {t}"),) if t % 1800 == 1795 else ()
        obs = Observation(now, requested, requested, 20.0, 20.0, backlog=50.0, batches=(batch,), events=events)
        wish = 2 + t // 1200 % 2
        steps = (Step("p", Decision(wish, f"{wish} at {t}")),) if t % 15 == 0 else ()
        acted = bool(steps) and wish != requested
        made.append(Tick(obs, steps, acted))
        requested = wish if acted else requested
    return made


def write(store: Store, run: str, clock: Clock, made: list[Tick]) -> None:
    for tick in made:
        clock.now = tick.observation.time
        store.append(run, tick)


def kept(store: Store, run: str, **options: int) -> list[Tick]:
    return [tick for _, tick in store.ticks(run, **options)]


def grains(store: Store) -> dict[int, int]:
    """Ticks of each grain, in rows and blocks."""
    counted = "SELECT grain, count(*) FROM ticks GROUP BY 1 UNION ALL SELECT grain, sum(ticks) FROM blocks GROUP BY 1"
    found: dict[int, int] = {}
    for grain, count in store._db.execute(counted):
        found[grain] = found.get(grain, 0) + count
    return found


def records(made: list[Tick]) -> float:
    return sum(batch.end - batch.begin for tick in made for batch in tick.observation.batches)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_rows_become_blocks_and_nobody_notices(clock: Clock, tmp_path: Path) -> None:
    made = ticks(1500)
    with Store.open(tmp_path / "runs.db", clock=clock) as store, Store.open(tmp_path / "runs.db") as reader:
        run, followed = store.begin(RunSpec()), list[tuple[int, Tick]]()
        for tick in made:
            clock.now = tick.observation.time
            store.append(run, tick)
            followed += reader.ticks(run, after=followed[-1][0] if followed else 0)
        assert [tick for _, tick in followed] == made
        assert store._db.execute("SELECT count(*) FROM blocks").fetchone()[0] >= 4
        assert store._db.execute("SELECT count(*) FROM ticks").fetchone()[0] < 60 + 12
        assert kept(store, run) == made
        store.end(run, "done")
        assert store._db.execute("SELECT count(*) FROM ticks").fetchone()[0] == 0
        assert store._db.execute("SELECT count(*) FROM decisions").fetchone()[0] == 0
        assert kept(store, run) == made
        # numbers are not used again
        other = store.begin(RunSpec())
        store.append(other, made[0])
        assert [number for number, _ in store.ticks(other)] == [len(made) + 1]


def test_a_long_run_becomes_coarser_with_age_and_says_the_same(clock: Clock) -> None:
    made = ticks(7000)
    with Store.open(":memory:", retention=SHORT, clock=clock) as store:
        run = store.begin(RunSpec())
        write(store, run, clock, made)
        folded = kept(store, run)
        count = grains(store)
    whole, again = (figures(trace_from_ticks(found, START), Objective(10.0)) for found in (made, folded))
    assert (again.processed, again.rescales, again.workers) == (whole.processed, whole.rescales, whole.workers)
    assert records(folded) == records(made)
    assert [e for t in folded for e in t.observation.events] == [e for t in made for e in t.observation.events]
    # ten minutes of 12 a minute, and what waits for a block; twenty minutes and the changes; the rest by ten minutes
    assert 120 <= count[FULL] <= 120 + 72
    assert 20 <= count[MINUTES] <= 20 + 70
    assert count[COARSE] <= 30
    assert folded[-120:] == made[-120:]


def test_what_is_older_than_everything_is_removed_and_the_file_stops_growing(clock: Clock, tmp_path: Path) -> None:
    path, sizes = tmp_path / "runs.db", []
    with Store.open(path, retention=replace(SHORT, whole=2400.0), clock=clock) as store:
        run, start = store.begin(RunSpec()), START
        for _ in range(4):
            write(store, run, clock, ticks(4000, start, period=10))
            start += 4000
            store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sizes.append(path.stat().st_size)
        first = next(iter(store.ticks(run)))[1].observation.time
    assert start - first < 2400 + 1200 + 600
    assert sizes[-1] <= 1.1 * sizes[1]


def test_a_simulated_run_keeps_every_tick(clock: Clock) -> None:
    made = ticks(7000, start=0.0)
    with Store.open(":memory:", retention=SHORT, clock=clock) as store:
        run = store.begin(RunSpec(engine="sim"))
        for tick in made:
            store.append(run, tick)
        store.end(run, "done")
        assert kept(store, run) == made


def test_old_runs_are_folded_if_long_and_removed_at_last(clock: Clock) -> None:
    keep = Retention(ended=2000.0, short=100, runs=5000.0, newest=1)
    with Store.open(":memory:", retention=keep, clock=clock) as store:
        long, short = (store.begin(RunSpec(engine="sim", job=name)) for name in ("long", "short"))
        store.append_many(long, ticks(1500))
        store.append_many(short, ticks(300))
        for run in (long, short):
            store.end(run, "done")
        last = store.begin(RunSpec(job="last"))

        def later(seconds: float) -> None:
            """Two rounds: the first may have begun before."""
            for _ in range(2):
                clock.now += max(seconds, house.ROUND + 1)
                seconds = 0
                for _ in range(60):
                    store.append(last, Tick(Observation(clock.now, 1, 1)))

        later(0)
        assert (len(kept(store, long)), len(kept(store, short))) == (300, 60)
        later(2000.0)
        assert len(kept(store, long)) < 40
        assert records(kept(store, long)) == records(ticks(1500))
        assert len(kept(store, short)) == 60
        later(5000.0)
        assert [run.id for run in store.runs()] == [last]
        assert kept(store, long) == []


def test_a_store_that_has_grown_too_large_loses_its_oldest_runs(clock: Clock, tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db", retention=Retention(size=60_000), clock=clock) as store:
        old = []
        for _ in range(6):
            clock.now += 1
            old.append(store.begin(RunSpec(engine="sim")))
            store.append_many(old[-1], ticks(3000))
            store.end(old[-1], "done")
        clock.now += house.ROUND + 1
        last = store.begin(RunSpec())
        for _ in range(200):
            store.append(last, Tick(Observation(clock.now, 1, 1)))
        left = [run.id for run in store.runs()]
        assert left[-1] == last
        assert 0 < len(left) < 7
        assert left[:-1] == old[-len(left) + 1 :] if len(left) > 1 else True
        assert store._house._used() <= 60_000 + 20_000


def test_what_was_removed_is_given_back_to_the_disk(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "FREE", 5)
    path = tmp_path / "runs.db"
    with Store.open(path, retention=Retention(runs=10.0, newest=1), clock=clock) as store:
        run = store.begin(RunSpec(engine="sim"))
        store.append_many(run, ticks(5000))
        store.end(run, "done")
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        clock.now += house.ROUND + 1
        last = store.begin(RunSpec())
        for _ in range(40):
            store.append(last, Tick(Observation(clock.now, 1, 1)))
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size < before / 2


def test_memories_are_bounded(clock: Clock) -> None:
    with Store.open(":memory:", retention=Retention(memories=3), clock=clock) as store:
        for n in range(5):
            clock.now += 1
            store.remember(f"job {n}", "p", {"n": n})
        run = store.begin(RunSpec())
        clock.now += house.ROUND + 1
        for _ in range(30):
            store.append(run, Tick(Observation(clock.now, 1, 1)))
        assert [store.memory(f"job {n}", "p") for n in range(5)] == [None, None, {"n": 2}, {"n": 3}, {"n": 4}]


def test_a_long_run_is_read_in_few_ticks(clock: Clock) -> None:
    made = ticks(7000)
    with Store.open(":memory:", retention=SHORT, clock=clock) as store:
        run = store.begin(RunSpec())
        write(store, run, clock, made)
        for most in (400, 100, 40):
            few = kept(store, run, at_most=most)
            assert most / 4 <= len(few) <= most
            assert records(few) == records(made)
            assert few[-1].observation.time == made[-1].observation.time
        assert kept(store, run, at_most=10_000) == kept(store, run)
        some = [tick.observation.time for _, tick in store.ticks(run, until=START + 3000)]
        assert some
        assert max(some) <= START + 3000


@pytest.mark.parametrize("name", ["runs.db", ":memory:"])
def test_a_run_can_be_read_while_the_same_store_writes_it(clock: Clock, tmp_path: Path, name: str) -> None:
    made = ticks(1500)
    with Store.open(name if name == ":memory:" else tmp_path / name, clock=clock) as store:
        run, waiting, seen = store.begin(RunSpec()), made[50:], []
        write(store, run, clock, made[:50])
        for _, tick in store.ticks(run):
            seen.append(tick)
            write(store, run, clock, waiting[:3])
            del waiting[:3]
        assert seen == made[:50]
    assert sorted(path.name for path in tmp_path.iterdir()) == ([] if name == ":memory:" else ["runs.db"])


def test_what_does_not_fit_into_its_slots_is_packed_all_the_same(clock: Clock) -> None:
    made = [Tick(Observation(START, 1, 1)) for _ in range(1000)]  # a clock that stands still
    with Store.open(":memory:", clock=clock) as store:
        run = store.begin(RunSpec())
        for tick in made:
            store.append(run, tick)
        assert store._db.execute("SELECT count(*) FROM ticks").fetchone()[0] < 240
        assert kept(store, run) == made


def former(path: Path, made: list[Tick]) -> None:
    """A store as the version before wrote it, with a run that did not end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for migration in MIGRATIONS[:2]:
            db.executescript(migration)
        db.execute("PRAGMA user_version = 2")
        db.execute("INSERT INTO runs VALUES ('20270115-080000', ?, 'running', '{\"job\": \"orders\"}', NULL)", (START,))
        db.execute("INSERT INTO memories VALUES ('orders', 'p', 5.0, '{\"a\": 1}')")
        db.execute("BEGIN")
        for number, tick in enumerate(made, 1):
            obs = tick.observation
            db.execute(
                "INSERT INTO ticks VALUES (?, '20270115-080000', ?, ?)", (number, obs.time, json.dumps(asdict(obs)))
            )
            if tick.decision is not None:
                decision = tick.decision
                levers = {**asdict(decision.target), "reason": decision.reason, "evidence": dict(decision.evidence)}
                steps = json.dumps([{"by": "p", "decision": levers, "error": None}])
                values = (obs.requested, decision.executors, tick.acted, decision.reason, steps)
                db.execute(
                    "INSERT INTO decisions VALUES (?, '20270115-080000', ?, ?, ?, ?, ?, ?, ?)",
                    (number, obs.time, *values, json.dumps(asdict(decision.target))),
                )
        db.execute("COMMIT")


def test_a_store_of_the_version_before_is_read_packed_and_kept(clock: Clock, tmp_path: Path) -> None:
    path, made = tmp_path / "runs.db", ticks(7000)
    former(path, made)
    clock.now = START + 7000
    with Store.open(path, retention=SHORT, clock=clock) as store:
        assert kept(store, "20270115-080000") == made
        assert records(kept(store, "20270115-080000", at_most=100)) == records(made)
        run = store.begin(RunSpec(job="orders"))
        for _ in range(400):
            clock.now += 5
            store.append(run, Tick(Observation(clock.now, 1, 1)))
        assert store._db.execute("SELECT count(*) FROM ticks WHERE run != ?", (run,)).fetchone()[0] == 0
        assert store.memory("orders", "p") == {"a": 1}
        old = kept(store, "20270115-080000")
        # it was silent for a quarter of an hour while its query ran again
        assert store.run("20270115-080000").status == "abandoned"
        assert records(old) == records(made)


def test_the_result_so_far_stays_when_a_run_ends_without_one() -> None:
    result = RunResult("r", "running", job="orders", duration=60.0)
    with Store.open(":memory:") as store:
        run = store.begin(RunSpec())
        store.update(run, result)
        assert (store.run(run).status, store.run(run).result) == ("running", result)
        store.end(run, "interrupted")
        assert (store.run(run).status, store.run(run).result) == ("interrupted", result)


def test_a_run_says_how_it_is(clock: Clock) -> None:
    conditions = {"AbleToScale": {"status": True, "reason": "", "since": 5.0}}
    with Store.open(":memory:", clock=clock) as store:
        run = store.begin(RunSpec())
        assert (store.run(run).health, store.run(run).conditions, store.run(run).seen) == ("", None, START)
        clock.now += 5
        store.note(run, "holding: observing failed", conditions)
        found = store.run(run)
        assert (found.health, found.conditions, found.seen) == ("holding: observing failed", conditions, START + 5)
        store.note(run, "scaling")
        assert (store.run(run).health, store.run(run).conditions) == ("scaling", None)


def test_a_run_goes_on_in_a_store_that_has_never_seen_it() -> None:
    with Store.open(":memory:") as store:
        for _ in range(2):
            assert store.begin(RunSpec(job="orders"), "20270115-080000") == "20270115-080000"
            store.append("20270115-080000", Tick(Observation(1.0, 1, 1)))
        store.end("20270115-080000", "done")
        assert store.run("20270115-080000").ended is not None
        store.begin(RunSpec(), "20270115-080000")
        (run,) = store.runs()
        assert (run.spec.job, run.status, run.ended) == ("orders", "running", None)
        assert len(list(store.ticks(run.id))) == 2


def test_many_ticks_are_appended_or_none(tmp_path: Path) -> None:
    def some() -> Iterator[Tick]:
        yield Tick(Observation(1.0, 1, 1))
        yield Tick(Observation(1, 1, 1), (Step("own", Decision(1, "odd", {"seen": object()})),))  # type: ignore[dict-item]

    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(RunSpec())
        store.append_many(run, [])
        with pytest.raises(TypeError):
            store.append_many(run, list(some()))
        assert kept(store, run) == []
        store.append_many(run, ticks(100))
        assert kept(store, run) == ticks(100)
