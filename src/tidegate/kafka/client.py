"""The Kafka client, confluent-kafka. It is an optional dependency and imported only when used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.core.redaction import without_secrets
from tidegate.kafka.options import NONE, Options, client_options

#: librdkafka logs to standard error unless it gets a logger; relevant errors are reported by this package
SILENT = logging.getLogger("tidegate.kafka.client")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


def load_client() -> ModuleType:
    """The module `confluent_kafka`, including `confluent_kafka.admin`."""
    try:
        import confluent_kafka.admin  # noqa: PLC0415
    except ImportError:
        raise EnvironmentMissing("Kafka needs the package confluent-kafka: pip install 'tidegate[kafka]'") from None
    return confluent_kafka


def settings(bootstrap: str, more: Mapping[str, Any] = MappingProxyType({}), options: Options = NONE) -> dict[str, Any]:
    """Settings of a client without log output, plus `more` in librdkafka's names, and those of the user's `options`
    that are not Spark's.

    >>> settings("127.0.0.1:9092", {"linger.ms": 20}, {"linger.ms": "5", "kafka.linger.ms": "7"})["linger.ms"]
    '5'
    """
    own = {"bootstrap.servers": bootstrap, "logger": SILENT, "error_cb": ignore_error}
    return {**own, **more, **client_options(options)}


def make(kind: Callable[[dict[str, Any]], Any], values: dict[str, Any], options: Options) -> Any:
    """A client. One whose options librdkafka does not take is refused in a sentence without secrets."""
    try:
        return kind(values)
    except load_client().KafkaException as error:
        reason = without_secrets(str(error.args[0].str()), options)
        raise InvalidInput(f"the Kafka client does not take its options: {reason}") from None


def ignore_error(error: object) -> None:
    """Clients report every lost connection here, and reconnect on their own."""
