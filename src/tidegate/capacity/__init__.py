"""Capacity models: records per second by number of executors, expected latency, and recovery time."""

from tidegate.capacity.latency import LatencyModel
from tidegate.capacity.profile import Profile, ProfileCapacity
from tidegate.capacity.recovery import by_spare_capacity, by_terms
from tidegate.capacity.regression import CpuRegression
from tidegate.capacity.truerate import TrueRates
from tidegate.capacity.usl import Usl
from tidegate.capacity.watch import RecoveryWatch

__all__ = [
    "CpuRegression",
    "LatencyModel",
    "Profile",
    "ProfileCapacity",
    "RecoveryWatch",
    "TrueRates",
    "Usl",
    "by_spare_capacity",
    "by_terms",
]
