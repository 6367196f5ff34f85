"""What a rescale adds where records come from Kafka, whose consumers are cached on the executors.

    python benchmarks/kafka_rescale.py [--job q11] [--rate 20000] [--quota 0.4] [--batches 6]

Spark gives a topic's partition to an executor by a hash modulo their number, so that a rescale sends most partitions
to executors that have no consumer for them yet. The query of `spreading.py` runs 1 -> 2 -> 4 -> 2 executors, from the
embedded source and from a topic on a broker of its own; the longest batch since each request is to be compared.

Exit code 1 if a task ran again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from spreading import STEPS, Phases, Step, Watcher, close, measure, show
from tidegate.deployment.spark import SparkDeployment, spark_host, warm_up
from tidegate.experiment import Experiment
from tidegate.jobs import events
from tidegate.kafka import Broker, connector
from tidegate.kafka.process import ProducerSpec
from tidegate.sources.kafka_feed import KafkaFeed
from tidegate.sources.kafka_topic import Topic

#: seconds after the query's start at which the producer begins
LEAD = 3.0


def steps(watcher: Watcher, phases: Phases) -> list[Step]:
    return [measure(watcher, executors, phases, scale=number > 0) for number, executors in enumerate(STEPS)]


def feed(e: Experiment, broker: Broker) -> KafkaFeed:
    topic = Topic(broker.address, "records", events(**e.event_options()).schema, False, {})
    made = KafkaFeed(topic, e.max_batch_records, 60.0, print)
    made.use(e.partition_count, make=True)
    made.produce(ProducerSpec(e.event_options(), e.load().spec(), made.target()))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--job", default="q11")
    parser.add_argument("--rate", type=float, default=20_000)
    parser.add_argument("--quota", type=float, default=0.4)
    parser.add_argument("--trigger", type=float, default=6.0)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument(
        "--warm", type=int, default=3, help="batches before the quota holds for new executors, at least 3"
    )
    parser.add_argument("--batches", type=int, default=6, help="settled batches, after those")
    given = parser.parse_args()
    phases = Phases(given.warm, given.batches)
    e = Experiment(
        job=given.job, workload="constant", duration=36_000, peak=given.rate, trigger=given.trigger, maximum=4,
        partitions=given.partitions, quota=given.quota, grace=1e6, mode="active", verify=False, slo=10,
    )  # fmt: skip
    by_source: dict[str, list[Step]] = {}
    with tempfile.TemporaryDirectory(prefix="tidegate-kafka-") as work, Broker() as broker:
        jars = {"spark.jars": ",".join(str(jar) for jar in connector().jars)}
        for source in ("embedded", "kafka"):
            folder = Path(work) / source
            folder.mkdir()
            topic = feed(e, broker) if source == "kafka" else None
            with spark_host(replace(e, initial=1), folder, jars) as host:
                warm_up(host, e)
                host.bind()
                deployment = SparkDeployment(host, e, topic)
                with closing(deployment):
                    deployment.start(time.time() + LEAD)
                    if topic:
                        topic.go(deployment.start_time)
                    watcher = Watcher(deployment)
                    by_source[source] = steps(watcher, phases)
                    close(watcher)
            if topic:
                topic.settle()
            print(source)
            show(by_source[source])
    return 1 if any(step.reruns for each in by_source.values() for step in each) else 0


if __name__ == "__main__":
    sys.exit(main())
