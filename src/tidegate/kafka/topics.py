"""Brokers and topics: wait for a broker, create topics, and look up partitions and offsets.

`bootstrap` is `host:port`, or several of these separated by commas; `options` are the user's for Kafka's clients.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.core.redaction import without_secrets
from tidegate.kafka.client import load_client, make, settings
from tidegate.kafka.options import NONE, Options
from tidegate.kafka.packages import Say, quiet

#: timeout of a request, and time between two messages while waiting, s
TIMEOUT, MESSAGE_INTERVAL = 10.0, 10.0


def wait_for_broker(bootstrap: str, patience: float = 60.0, say: Say = quiet, options: Options = NONE) -> None:
    """Return once the broker answers. Reports the wait through `say`, and raises after `patience` seconds, or at once
    if the broker does not accept the login.
    """
    start, last_message = time.monotonic(), None
    while (trouble := connection_trouble(bootstrap, options)) is not None:
        waited = time.monotonic() - start
        if waited >= patience:
            advice = trouble or "start one with `tidegate broker`, or give another address"
            raise EnvironmentMissing(f"no Kafka broker answered at {bootstrap} within {patience:g} s: {advice}")
        if last_message is None or waited - last_message >= MESSAGE_INTERVAL:
            say(f"waiting for the Kafka broker at {bootstrap}, {waited:.0f} of at most {patience:g} s")
            last_message = waited
        time.sleep(min(0.25, patience - waited))


def is_reachable(bootstrap: str, options: Options = NONE) -> bool:
    """Whether a broker answers now."""
    return connection_trouble(bootstrap, options) is None


def connection_trouble(bootstrap: str, options: Options = NONE) -> str | None:
    """Why no broker answers now: what is wrong with TLS, or "" if nothing is known; None if one does. A login that is
    not accepted is raised.
    """
    kafka, errors = load_client(), list[Any]()
    admin = _admin(bootstrap, options, {"error_cb": errors.append})
    try:
        # TLS and SASL take their time on a busy machine
        if admin.list_topics(timeout=5.0 if options else 1.0).brokers:
            return None
    except kafka.KafkaException:
        admin.poll(0)  # calls `error_cb`
    reasons = {error.code(): without_secrets(str(error.str()), options) for error in errors}
    if refusal := reasons.get(kafka.KafkaError._AUTHENTICATION):
        raise EnvironmentMissing(f"the Kafka broker at {bootstrap} does not accept the login: {refusal}")
    return reasons.get(kafka.KafkaError._SSL, "")


def create_topic(bootstrap: str, topic: str, partitions: int, options: Options = NONE, config: Options = NONE) -> int:
    """Create the topic unless it exists. Returns its number of partitions, which may differ from `partitions`.

    `config` are settings of a new topic.
    """
    if partitions < 1:
        raise InvalidInput(f"topic {topic}: need 1 or more partitions, got {partitions}")
    kafka = load_client()
    admin = _admin(bootstrap, options)
    if (existing := _partitions(admin, bootstrap).get(topic)) is not None:
        return existing
    results = admin.create_topics(
        [kafka.admin.NewTopic(topic, partitions, 1, config=dict(config))], request_timeout=TIMEOUT
    )
    try:
        results[topic].result(TIMEOUT + 1)
    except kafka.KafkaException as error:
        if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            raise InvalidInput(f"topic {topic!r} at {bootstrap} cannot be created: {error.args[0].str()}") from None
    return _wait_for_topic(admin, bootstrap, topic)


def delete_topic(bootstrap: str, topic: str, options: Options = NONE) -> None:
    """Delete the topic and its records. One that is gone is fine."""
    kafka = load_client()
    admin = _admin(bootstrap, options)
    try:
        admin.delete_topics([topic], request_timeout=TIMEOUT)[topic].result(TIMEOUT + 1)
    except kafka.KafkaException as error:
        if error.args[0].code() != kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise EnvironmentMissing(f"topic {topic!r} at {bootstrap} is not deleted: {error.args[0].str()}") from None


class RecordRemover:
    """Removes the first records of a topic. It does not wait, and a failure costs disk space only."""

    def __init__(self, bootstrap: str, topic: str, options: Options = NONE) -> None:
        self._topic, self._admin = topic, _admin(bootstrap, options)

    def remove(self, below: Mapping[int, int]) -> None:
        """Remove the records below these offsets."""
        kafka = load_client()
        ends = [kafka.TopicPartition(self._topic, partition, offset) for partition, offset in below.items()]
        self._admin.delete_records(ends, request_timeout=TIMEOUT)


def topic_partitions(bootstrap: str, topic: str, options: Options = NONE) -> int:
    """The number of partitions of the topic. The error for an unknown topic suggests similar names."""
    topics = _partitions(_admin(bootstrap, options), bootstrap)
    if topic in topics:
        return topics[topic]
    similar = get_close_matches(topic, topics, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, similar))}? Otherwise create it" if similar else "create it"
    raise InvalidInput(f"no topic is named {topic!r} at {bootstrap}: {hint} with `tidegate produce --topic {topic}`")


def begin_offsets(bootstrap: str, topic: str, options: Options = NONE) -> dict[int, int]:
    """Partition -> offset of its first available record."""
    return _offsets(bootstrap, topic, "earliest", options)


def end_offsets(bootstrap: str, topic: str, options: Options = NONE) -> dict[int, int]:
    """Partition -> offset of its next record."""
    return _offsets(bootstrap, topic, "latest", options)


def _offsets(bootstrap: str, topic: str, which: str, options: Options) -> dict[int, int]:
    """Retries for a while: after a start or a new topic it takes some time until partitions have a leader."""
    kafka = load_client()
    offset_spec = getattr(kafka.admin.OffsetSpec, which)()
    partitions = range(topic_partitions(bootstrap, topic, options))
    request = {kafka.TopicPartition(topic, partition): offset_spec for partition in partitions}
    admin = _admin(bootstrap, options)  # must outlive its futures
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            futures = admin.list_offsets(request, request_timeout=TIMEOUT)
            return {key.partition: future.result(TIMEOUT + 1).offset for key, future in futures.items()}
        except kafka.KafkaException as error:
            if time.monotonic() > deadline:
                raise _unreachable(bootstrap, error) from None
        time.sleep(0.1)


def _wait_for_topic(admin: Any, bootstrap: str, topic: str) -> int:
    """Wait until a new topic, so far known to the controller only, has reached all brokers."""
    for _ in range(100):
        if partitions := _partitions(admin, bootstrap).get(topic):
            return partitions
        time.sleep(0.05)
    raise EnvironmentMissing(f"topic {topic!r} was created at {bootstrap}, but did not appear within 5 s")


def _partitions(admin: Any, bootstrap: str) -> dict[str, int]:
    kafka = load_client()
    try:
        topics = admin.list_topics(timeout=TIMEOUT).topics
    except kafka.KafkaException as error:
        raise _unreachable(bootstrap, error) from None
    return {name: len(topic.partitions) for name, topic in topics.items() if not name.startswith("__")}


def _unreachable(bootstrap: str, error: Any) -> EnvironmentMissing:
    return EnvironmentMissing(f"the Kafka broker at {bootstrap} does not answer: {error.args[0].str()}")


def _admin(bootstrap: str, options: Options, more: Mapping[str, Any] = MappingProxyType({})) -> Any:
    return make(load_client().admin.AdminClient, settings(bootstrap, more, options), options)
