"""The Kafka client, confluent-kafka. It is an optional dependency and imported only when used."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from tidegate.core import EnvironmentMissing

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


def settings(bootstrap: str, more: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Settings of a client without log output, plus `more` in librdkafka's names.

    >>> settings("127.0.0.1:9092", {"linger.ms": 20})["linger.ms"]
    20
    """
    return {"bootstrap.servers": bootstrap, "logger": SILENT, "error_cb": ignore_error, **more}


def ignore_error(error: object) -> None:
    """Clients report every lost connection here, and reconnect on their own."""
