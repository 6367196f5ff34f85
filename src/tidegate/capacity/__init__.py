"""How much a number of executors can do, by several models, and how long a query needs to recover."""

from tidegate.capacity.latency import LatencyModel
from tidegate.capacity.microbatch import MicroBatchModel
from tidegate.capacity.profile import Profile, ProfileCapacity
from tidegate.capacity.recovery import by_spare_capacity, by_terms
from tidegate.capacity.regression import CpuRegression
from tidegate.capacity.truerate import TrueRates
from tidegate.capacity.usl import Usl
from tidegate.capacity.watch import RecoveryWatch

__all__ = [
    "CpuRegression",
    "LatencyModel",
    "MicroBatchModel",
    "Profile",
    "ProfileCapacity",
    "RecoveryWatch",
    "TrueRates",
    "Usl",
    "by_spare_capacity",
    "by_terms",
]
