"""Scaling decisions without I/O: one policy per file, and the guards that restrict them."""

from tidegate.policies.daedalus import Daedalus
from tidegate.policies.dhalion import Dhalion
from tidegate.policies.dra import SparkDra
from tidegate.policies.ds2 import Ds2
from tidegate.policies.dstreams import DStreams
from tidegate.policies.flink_operator import FlinkOperator
from tidegate.policies.guards import Cooldown, Stabilisation, StepLimit
from tidegate.policies.hpa import HpaCpu
from tidegate.policies.keda import KedaLag
from tidegate.policies.phoebe import Phoebe
from tidegate.policies.static import Static
from tidegate.policies.twres import Twres
from tidegate.policies.varga import HpaVarga

__all__ = [
    "Cooldown",
    "DStreams",
    "Daedalus",
    "Dhalion",
    "Ds2",
    "FlinkOperator",
    "HpaCpu",
    "HpaVarga",
    "KedaLag",
    "Phoebe",
    "SparkDra",
    "Stabilisation",
    "Static",
    "StepLimit",
    "Twres",
]
