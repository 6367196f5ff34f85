"""Whole runs, from session to score, on real executors: embedded, on a standalone master, and cut short."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest

from tidegate.cluster.processes import PROC
from tidegate.core import EnvironmentMissing, InvalidInput, Tick
from tidegate.experiment import Experiment
from tidegate.runner import Outcome, run
from tidegate.runs import encode
from tidegate.store import Store

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]
#: a tide of 50 s that needs all three executors at its height and one at its ends
QUICK = {"interval": 3, "window": 6, "readiness": 4, "down-window": 6}


def play(experiment: Experiment, db: Path) -> tuple[Outcome, list[Tick]]:
    with Store.open(db) as store:
        outcome = run(experiment, store, say=lambda message: None)
        return outcome, [tick for _, tick in store.ticks(outcome.run)]


#: seconds and multiples of the load of a run in which executors must come: the next longer and heavier one is tried
#: where they need more time to start, or where one executor is so fast that it has nothing to do
ATTEMPTS = ((32, 1), (60, 2), (120, 4), (480, 4))


def play_until_executors_are_there(
    experiment: Experiment, db: Path, count: int
) -> tuple[Experiment, Outcome, list[Tick]]:
    for seconds, heavier in ATTEMPTS:
        tried = replace(experiment, duration=seconds, peak=(experiment.peak or 1) * heavier)
        outcome, ticks = play(tried, db)
        if max(tick.observation.executors for tick in ticks) >= count:
            break
    return tried, outcome, ticks


def test_q11_scales_out_and_in_and_its_result_is_that_of_a_batch_query(tmp_path: Path) -> None:
    steps = Experiment(
        job="q11",
        workload="steps",
        options={**QUICK, "target": 0.1},
        peak=30_000,
        maximum=3,
        trigger=2,
        partitions=4,
        drain=900,
    )
    steps, outcome, ticks = play_until_executors_are_there(steps, tmp_path / "runs.db", 2)
    assert outcome.result is not None
    result = encode(outcome.result)
    assert (outcome.status, result["verified"]) == ("done", True)
    assert result["processed"] == result["offered"] == steps.load().total(steps.duration) > 500_000
    assert result["lost"] == 0
    assert result["rescales"]["up"] >= 1
    assert result["workers"]["max"] > 1
    assert {"mean", "p50", "p95", "p99", "max"} == result["latency"].keys()
    assert result["backlog"]["final"] < 1
    states = [tick.observation.state_rows for tick in ticks if tick.observation.state_rows]
    assert states
    # what was decided live is decided again on what was recorded
    again = steps.autoscaler()
    for tick in ticks:
        again.observe(tick.observation)
        if tick.steps:
            assert again.decide(tick.observation) == tick.steps


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real standalone master with two workers of two cores, started from the PySpark package."""
    folder = tmp_path_factory.mktemp("standalone")
    home = Path(pyspark.__file__).parent
    env = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder)}
    started = []

    def start(name: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{words[0]}", *words[1:]]
        started.append(subprocess.Popen(command, env=env, stdout=log.open("wb"), stderr=subprocess.STDOUT))
        return log

    try:
        log = start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = _find(log, "Starting Spark master at ")
        for k in range(2):
            log = start(
                f"worker{k}", "worker.Worker", "--host", "127.0.0.1", "-c", "2", "-m", "1300M", "--webui-port", "0", url
            )
            _find(log, "Successfully registered with master ")
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def _find(log: Path, lead: str) -> str:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        for line in log.read_text(errors="replace").splitlines():
            if lead in line:
                return line.split(lead, 1)[1].split()[0]
        time.sleep(0.2)
    pytest.fail(f"{log.name} never said {lead!r}: {log.read_text()[-500:]}")


@pytest.mark.proof
def test_on_a_standalone_master_executors_come_and_go_on_both_workers(standalone: str, tmp_path: Path) -> None:
    up = Experiment(
        workload="steps",
        options={**QUICK, "target": 0.1},
        peak=60_000,
        maximum=4,
        trigger=2,
        master=standalone,
        drain=900,
    )
    _, outcome, ticks = play_until_executors_are_there(up, tmp_path / "runs.db", 3)
    assert outcome.result is not None
    assert outcome.result.figures is not None
    assert (outcome.status, outcome.result.verified) == ("done", True)
    assert outcome.result.figures.rescales.up >= 1
    assert max(tick.observation.executors for tick in ticks) >= 3  # a worker has room for two: both had some
    assert ticks[0].observation.requested == 1
    assert min(tick.observation.executors for tick in ticks) == 1  # not all that the master has room for


def test_a_master_that_is_not_there_and_one_without_executors_are_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=r"no Spark master answers at spark://127\.0\.0\.1:1"):
        play(Experiment(master="spark://127.0.0.1:1"), tmp_path / "a.db")
    with pytest.raises(InvalidInput, match=r"master 'local\[2\]' has no executors to add or remove"):
        play(Experiment(master="local[2]"), tmp_path / "b.db")
    with pytest.raises(InvalidInput, match="is not spark://HOST:PORT, yarn or k8s://URL"):
        play(Experiment(master="mesos://x"), tmp_path / "c.db")


def command(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "TMPDIR": str(folder)}
    call = [sys.executable, "-m", "tidegate", "run", "--store", str(folder / "runs.db"), *words]
    return subprocess.Popen(call, env=env, stdout=(folder / "out").open("wb"), stderr=(folder / "err").open("wb"))


def processes_that_mention(folder: str) -> list[str]:
    """The driver's and the executors' command lines name their temporary folder."""
    found = []
    for entry in PROC.iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if folder in words and entry.name != str(os.getpid()):
            found.append(words)
    return found


def ticks_in(db: Path) -> int:
    with Store.open(db) as store:
        return len(list(store.ticks(store.run("last").id)))


@pytest.mark.parametrize("moment", ["starting Spark", "offered"])
def test_ctrl_c_keeps_what_was_seen_and_leaves_nothing_behind(
    moment: str, tmp_path: Path, eventually: Eventually
) -> None:
    process = command(tmp_path, "--duration", "5m", "--rate", "10k", "--output", "json")
    eventually(lambda: moment in (tmp_path / "err").read_text())
    if moment == "offered":
        eventually(lambda: ticks_in(tmp_path / "runs.db") >= 5)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # a second one must not cut the cleaning up short
    assert process.wait() == 130
    assert "Traceback" not in (tmp_path / "err").read_text()
    eventually(lambda: not list(tmp_path.glob("tidegate-*")))
    eventually(lambda: not processes_that_mention(str(tmp_path)))
    if moment == "offered":
        result = json.loads((tmp_path / "out").read_text())
        assert result["status"] == "interrupted"
        with Store.open(tmp_path / "runs.db") as store:
            assert store.run("last").status == "interrupted"
            assert len(list(store.ticks(result["run"]))) >= 5
        assert Path(result["report"]).exists()


@pytest.mark.proof
def test_two_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    processes = [
        command(tmp_path, "--duration", "8s", "--rate", "2k", "--policy", "static", "-p", "executors=1") for _ in "ab"
    ]
    assert [process.wait() for process in processes] == [0, 0]
    with Store.open(tmp_path / "runs.db") as store:
        results = [run.result for run in store.runs()]
    assert [result.verified for result in results if result] == [True, True]
