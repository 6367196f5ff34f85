"""Kafka: a local broker, topics, a producer that follows a workload, and the jars for Spark."""

from tidegate.kafka.broker import Broker, Listener
from tidegate.kafka.lines import json_lines
from tidegate.kafka.packages import Connector, broker_jars, connector
from tidegate.kafka.producer import Load, ProducerResult, Progress, Target, produce
from tidegate.kafka.topics import begin_offsets, create_topic, end_offsets, topic_partitions, wait_for_broker

__all__ = [
    "Broker",
    "Connector",
    "Listener",
    "Load",
    "ProducerResult",
    "Progress",
    "Target",
    "begin_offsets",
    "broker_jars",
    "connector",
    "create_topic",
    "end_offsets",
    "json_lines",
    "produce",
    "topic_partitions",
    "wait_for_broker",
]
