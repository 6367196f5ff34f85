"""Kafka for real: a broker of our own, topics, a producer that follows a workload, and the jars for Spark."""

from tidegate.kafka.broker import Broker
from tidegate.kafka.lines import json_lines
from tidegate.kafka.packages import Connector, broker_jars, connector
from tidegate.kafka.producer import Load, Produced, Progress, Target, produce
from tidegate.kafka.topics import begins, create, ends, reach, require

__all__ = [
    "Broker",
    "Connector",
    "Load",
    "Produced",
    "Progress",
    "Target",
    "begins",
    "broker_jars",
    "connector",
    "create",
    "ends",
    "json_lines",
    "produce",
    "reach",
    "require",
]
