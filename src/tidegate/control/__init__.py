"""The loop: an autoscaler (policy, guards, limits) and the driver that lets it look at an engine and act on it."""

from tidegate.control.autoscaler import Autoscaler
from tidegate.control.drive import drive, ticks

__all__ = ["Autoscaler", "drive", "ticks"]
