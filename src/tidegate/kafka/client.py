"""The Kafka client, confluent-kafka: an extra, so asked for only by those who use Kafka."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from tidegate.core import EnvironmentMissing

#: librdkafka writes to standard error unless it is given a logger; what matters we say ourselves
SILENT = logging.getLogger("tidegate.kafka.client")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


def client() -> ModuleType:
    """`confluent_kafka`, with its `admin`."""
    try:
        import confluent_kafka.admin  # noqa: PLC0415
    except ImportError:
        raise EnvironmentMissing("Kafka needs the package confluent-kafka: pip install 'tidegate[kafka]'") from None
    return confluent_kafka


def settings(bootstrap: str, more: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Of a client that keeps quiet, and `more` by librdkafka's names.

    >>> settings("127.0.0.1:9092", {"linger.ms": 20})["linger.ms"]
    20
    """
    return {"bootstrap.servers": bootstrap, "logger": SILENT, "error_cb": ignore, **more}


def ignore(error: object) -> None:
    """Clients report every lost connection here and mend it themselves."""
