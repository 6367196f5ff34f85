"""Decisions without I/O: one policy a file, and the guards that temper them."""

from tidegate.policies.guards import Cooldown, Stabilisation, StepLimit
from tidegate.policies.hpa import HpaCpu
from tidegate.policies.static import Static

__all__ = ["Cooldown", "HpaCpu", "Stabilisation", "Static", "StepLimit"]
