"""A job on Spark as a deployment: its load and the limit of a batch change while it runs, and it starts anew in another
shape, with nothing lost.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tidegate.core import Decision, ExecutorShape, Lever, Target
from tidegate.deployment import ClusterShape, Deployment
from tidegate.deployment.spark import SparkDeployment, SparkHost, spark_host
from tidegate.experiment import Experiment
from tidegate.score import TraceRecorder
from tidegate.workloads import Constant

pytestmark = pytest.mark.spark
Eventually = Callable[..., None]
#: a session count of bids, whose state must survive
Q11 = Experiment(job="q11", workload="constant", duration=600, peak=2_000, trigger=1, maximum=2, partitions=4)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHost]:
    with spark_host(Q11, tmp_path_factory.mktemp("host")) as made:
        yield made


@pytest.mark.parametrize("run", [1, 2])
def test_one_host_serves_several_runs_and_a_load_changes_while_one_lasts(
    host: SparkHost, eventually: Eventually, run: int
) -> None:
    deployment, sizes = SparkDeployment(host, replace(Q11, job="q1", verify=False)), list[float]()
    checked: Deployment = deployment
    try:
        deployment.start()
        engine = deployment.engine
        eventually(lambda: engine.observe().arrival_rate is not None)
        changed = time.time()
        checked.offer(Constant(600, level=30_000))
        eventually(lambda: (engine.observe().arrival_rate or 0) > 25_000)
        assert engine.levers == {Lever.EXECUTORS, Lever.BATCH_LIMIT}
        engine.scale(Decision(Target(1, batch_limit=5_000), "small batches"))
        eventually(lambda: sizes.extend(b.end - b.begin for b in engine.observe().batches) or 5_000 in sizes)
        assert engine.observe().batch_limit == 5_000
        arrivals = deployment.trace(TraceRecorder()).arrivals
        moment = changed - deployment.start_time
        # 2,000 a second until the change, 30,000 after it
        assert arrivals.by(moment + 2) - arrivals.by(moment + 1) == pytest.approx(30_000, rel=0.01)
        assert arrivals.by(moment - 0.5) == pytest.approx(2_000 * (moment - 0.5), rel=0.01)
    finally:
        deployment.close()


@pytest.mark.proof
def test_it_starts_anew_in_another_shape_and_its_result_is_still_right(host: SparkHost, eventually: Eventually) -> None:
    deployment = SparkDeployment(host, Q11)
    try:
        deployment.start()
        eventually(lambda: deployment.engine.observe().state_rows)
        before = deployment.engine.log.batch
        assert before is not None
        deployment.redeploy(ClusterShape(executors=2, executor=ExecutorShape(cores=1, memory=640)))
        eventually(lambda: deployment.engine.observe().executors == 2)
        eventually(lambda: (deployment.engine.log.batch or before).id > before.id + 2)
        assert host.spark.conf.get("spark.executor.memory") == "640m"
        deployment.end()
        assert deployment.agrees()
        ends = deployment.engine.log.batch
        assert ends is not None
        assert ends.end > before.end
    finally:
        deployment.close()
