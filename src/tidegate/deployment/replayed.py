"""The feed of an experiment whose records are those of a recorded topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.experiment.settings import Experiment
from tidegate.jobs import Sample, Sampled, events
from tidegate.kafka import Target, connector, wait_for_broker
from tidegate.kafka.options import resolve
from tidegate.kafka.packages import Say, quiet
from tidegate.kafka.replayer import Replayer, replay_topic
from tidegate.sources.kafka_topic import Topic
from tidegate.sources.replayed import Replayed

#: a batch has at most what arrives in so many trigger intervals at the expected rate. The limit cannot change during a
#: search, so it must be more than any rate of it asks for, but batches of an overload get as long as it lets them.
TRIGGERS = 3.0


def connector_jars(e: Experiment, say: Say = quiet) -> dict[str, str]:
    """Settings of the session that reads topics; none if the experiment does not."""
    if e.kafka is None:
        return {}
    return {"spark.jars": ",".join(str(jar) for jar in connector(say=say).jars)}


@contextmanager
def replayed_feed(e: Experiment) -> Iterator[Replayed]:
    """With a topic of its own, which is deleted at the end of the block. Nothing is sent before the first offer."""
    assert e.kafka
    options, sample = resolve(e.kafka.options), Sample.parse(e.kafka.recording, timeless=True)
    wait_for_broker(e.kafka.bootstrap, e.kafka.patience, options=options)
    target = Target(e.kafka.bootstrap, replay_topic(e.kafka.topic), e.partition_count, options)
    # a job's own fields, or for a query of one's own those of the recording
    schema = Sampled(sample, e.peak).schema if e.sample else events(**e.event_options()).schema
    topic = Topic(e.kafka.bootstrap, target.topic, schema, given=options)
    replay = Replayer(sample, e.peak, target)
    try:
        replay.start()
        limit = max(e.partition_count, round(TRIGGERS * e.trigger * e.peak))
        yield Replayed(replay, topic, e.partition_count, limit, e.trigger)
    finally:
        replay.close()
