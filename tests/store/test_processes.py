"""One store, several processes and threads."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from tidegate.core import Observation, Tick
from tidegate.runs import RunSpec
from tidegate.store import Store

WRITER = """
import sys
from tidegate.core import Observation, Tick
from tidegate.runs import RunSpec
from tidegate.store import Store
with Store.open(sys.argv[1], timeout=60) as store:
    run = store.begin(RunSpec(job=sys.argv[2]))
    for n in range(200):
        store.append(run, Tick(Observation(float(n), 1, 1)))
    store.end(run, "done")
"""


def test_two_processes_write_and_a_third_reads(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), job]) for job in ("a", "b")]
    with Store.open(path, timeout=60) as store:
        while any(writer.poll() is None for writer in writers):
            for run in store.runs():
                times = [tick.observation.time for _, tick in store.ticks(run.id)]
                assert times == [float(n) for n in range(len(times))]
            time.sleep(0.02)  # leaves them some of the machine
        assert [writer.returncode for writer in writers] == [0, 0]
        runs = store.runs()
        assert sorted(run.spec.job for run in runs) == ["a", "b"]
        for run in runs:
            assert run.status == "done"
            assert [tick.observation.time for _, tick in store.ticks(run.id)] == [float(n) for n in range(200)]
        numbers = [number for run in runs for number, _ in store.ticks(run.id)]
        assert len(set(numbers)) == 400


def test_several_threads_share_a_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(RunSpec())
        errors: list[Exception] = []

        def work(name: str) -> None:
            try:
                for n in range(100):
                    store.append(run, Tick(Observation(float(n), 1, 1)))
                    store.remember("job", name, {"n": n})
                    store.note(run, name)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(list(store.ticks(run))) == 200
