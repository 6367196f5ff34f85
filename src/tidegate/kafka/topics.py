"""Topics of a broker: wait for it, make one, see that one is there, and how far its partitions go.

`bootstrap` is `host:port`, or several with commas.
"""

from __future__ import annotations

import time
from difflib import get_close_matches
from typing import Any

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka.client import client, settings
from tidegate.kafka.packages import Say, quiet

#: seconds for one question, and between two sentences while waiting
TIMEOUT, REMIND = 10.0, 10.0


def reach(bootstrap: str, patience: float = 60.0, say: Say = quiet) -> None:
    """Return as soon as the broker answers; say so while it does not, and give up after `patience` seconds."""
    begun, told = time.monotonic(), None
    while not answers(bootstrap):
        waited = time.monotonic() - begun
        if waited >= patience:
            raise EnvironmentMissing(
                f"no Kafka broker answered at {bootstrap} within {patience:g} s: start one with `tidegate broker`,"
                " or give another address"
            )
        if told is None or waited - told >= REMIND:
            say(f"waiting for the Kafka broker at {bootstrap}, {waited:.0f} of at most {patience:g} s")
            told = waited
        time.sleep(min(0.25, patience - waited))


def answers(bootstrap: str, timeout: float = 1.0) -> bool:
    """Whether a broker is there now."""
    kafka = client()
    try:
        return bool(_admin(bootstrap).list_topics(timeout=timeout).brokers)
    except kafka.KafkaException:
        return False


def create(bootstrap: str, topic: str, partitions: int) -> int:
    """Make the topic unless it is there; how many partitions it has, which may be others than asked for."""
    if partitions < 1:
        raise InvalidInput(f"topic {topic}: need 1 or more partitions, got {partitions}")
    kafka = client()
    admin = _admin(bootstrap)
    if (there := _partitions(admin, bootstrap).get(topic)) is not None:
        return there
    made = admin.create_topics([kafka.admin.NewTopic(topic, partitions, 1)], request_timeout=TIMEOUT)
    try:
        made[topic].result(TIMEOUT + 1)
    except kafka.KafkaException as error:
        if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            raise InvalidInput(f"topic {topic!r} at {bootstrap} cannot be made: {error.args[0].str()}") from None
    return _known(admin, bootstrap, topic)


def require(bootstrap: str, topic: str) -> int:
    """How many partitions the topic has; a topic that is not there is an error that names its neighbours."""
    there = _partitions(_admin(bootstrap), bootstrap)
    if topic in there:
        return there[topic]
    near = get_close_matches(topic, there, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? Else make it" if near else "make it"
    raise InvalidInput(f"no topic is named {topic!r} at {bootstrap}: {hint} with `tidegate produce --topic {topic}`")


def begins(bootstrap: str, topic: str) -> dict[int, int]:
    """Partition -> offset of its first record that is kept."""
    return _offsets(bootstrap, topic, "earliest")


def ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Partition -> offset that its next record will have."""
    return _offsets(bootstrap, topic, "latest")


def _offsets(bootstrap: str, topic: str, which: str) -> dict[int, int]:
    """A broker that has just come, or made the topic, needs a moment before it leads its partitions."""
    kafka = client()
    wanted = getattr(kafka.admin.OffsetSpec, which)()
    asked = {kafka.TopicPartition(topic, part): wanted for part in range(require(bootstrap, topic))}
    admin = _admin(bootstrap)  # has to outlive its answers
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            answered = admin.list_offsets(asked, request_timeout=TIMEOUT)
            return {place.partition: told.result(TIMEOUT + 1).offset for place, told in answered.items()}
        except kafka.KafkaException as error:
            if time.monotonic() > deadline:
                raise _lost(bootstrap, error) from None
        time.sleep(0.1)


def _known(admin: Any, bootstrap: str, topic: str) -> int:
    """A topic that was just made is known to the controller before it is to everyone."""
    for _ in range(100):
        if found := _partitions(admin, bootstrap).get(topic):
            return found
        time.sleep(0.05)
    raise EnvironmentMissing(f"topic {topic!r} was made at {bootstrap}, but did not appear within 5 s")


def _partitions(admin: Any, bootstrap: str) -> dict[str, int]:
    kafka = client()
    try:
        topics = admin.list_topics(timeout=TIMEOUT).topics
    except kafka.KafkaException as error:
        raise _lost(bootstrap, error) from None
    return {name: len(found.partitions) for name, found in topics.items() if not name.startswith("__")}


def _lost(bootstrap: str, error: Any) -> EnvironmentMissing:
    return EnvironmentMissing(f"the Kafka broker at {bootstrap} does not answer: {error.args[0].str()}")


def _admin(bootstrap: str) -> Any:
    return client().admin.AdminClient(settings(bootstrap))
