import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.cluster.executors import Executor
from tidegate.cluster.status import Stage

RECORDED = Path(__file__).parents[1] / "recorded" / "status_q11.json"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def stage(**changed: int) -> Stage:
    told = {
        "stageId": 3,
        "attemptId": 0,
        "numTasks": 4,
        "numCompleteTasks": 4,
        "numFailedTasks": 0,
        "numKilledTasks": 0,
        "inputRecords": 100,
        "shuffleReadRecords": 20,
        "outputRecords": 7,
        "shuffleWriteRecords": 60,
        "executorRunTime": 1500,
        "executorCpuTime": 250_000_000,
    }
    by_executor = {
        "0": {"inputRecords": 70, "shuffleReadRecords": 5},
        "1": {"inputRecords": 30, "shuffleReadRecords": 15},
    }
    return Stage.parse({**told, **changed}, by_executor)


def test_a_stage_in_seconds_and_records() -> None:
    assert stage() == Stage(
        id=3,
        tasks=4,
        reruns=0,
        records_in=120,  # 100 from the source, 20 from other stages
        records_out=67,  # 7 results, 60 for other stages
        run_time=1.5,  # 1500 ms
        cpu_time=0.25,  # 250,000,000 ns
        read_by={"0": 70, "1": 30},
        shuffled_by={"0": 5, "1": 15},
    )


def test_failed_and_killed_tasks_ran_again() -> None:
    assert stage(numFailedTasks=2).reruns == 2
    assert stage(numKilledTasks=1).reruns == 1
    assert stage(numFailedTasks=2, numKilledTasks=1).reruns == 3


def test_tasks_that_completed_twice_ran_again() -> None:
    assert stage(numCompleteTasks=5).reruns == 1  # one of four on an executor that was lost afterwards
    assert stage(numCompleteTasks=3).reruns == 0


def test_a_second_attempt_of_a_stage_ran_all_its_tasks_again() -> None:
    assert stage(attemptId=1).reruns == 4
    assert stage(attemptId=1, numFailedTasks=1).reruns == 5


def test_an_executor_in_seconds() -> None:
    told = {
        "id": "12",
        "hostPort": "10.0.0.7:43473",
        "totalCores": 2,
        "activeTasks": 1,
        "totalDuration": 30_428,
        "addTime": 1_794_796_392_947,
    }
    assert Executor.parse(told) == Executor(
        id="12", host="10.0.0.7", cores=2, active_tasks=1, task_time=30.428, added=1_794_796_392.947
    )
    assert Executor.parse({**told, "hostPort": "[fe80::1]:4000"}).host == "[fe80::1]"
    assert Executor.parse({**told, "hostPort": "worker-3"}).host == "worker-3"


def test_recorded_executors(recorded: dict[str, Any]) -> None:
    driver, one, zero = map(Executor.parse, recorded["executors"])
    assert (driver.id, driver.cores) == ("driver", 0)
    assert one == Executor("1", "127.0.0.1", 1, 0, 30.428, 1_794_796_392.947)
    assert zero == Executor("0", "127.0.0.1", 1, 0, 30.666, 1_794_796_392.922)


def test_recorded_stages(recorded: dict[str, Any]) -> None:
    source, session = map(Stage.parse, recorded["stages"], recorded["by_executor"])
    # the source's 10,099 records go to the sessions, all of them
    assert (source.id, source.tasks, source.records_in, source.records_out) == (46, 4, 10_099, 10_099)
    assert (session.id, session.tasks, session.records_in, session.records_out) == (47, 4, 10_099, 0)
    assert (source.run_time, source.cpu_time) == (0.357, 0.094559676)
    assert (session.run_time, session.cpu_time) == (0.845, 0.376774360)
    assert source.read_by == {"0": 5050, "1": 5049}
    assert sum(session.read_by.values()) == 0  # it reads from another stage, not from the source
    assert (source.reruns, session.reruns) == (0, 0)
