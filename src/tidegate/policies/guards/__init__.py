"""Guards restrict a policy's wish, one after the other, and give a reason. A guard that learns keys what it learned by
the time of the observation.
"""

from tidegate.policies.guards.arriving import Arriving
from tidegate.policies.guards.caps import Ceiling, Quota
from tidegate.policies.guards.catching_up import CatchingUp
from tidegate.policies.guards.cooldown import Cooldown
from tidegate.policies.guards.effect import Effect
from tidegate.policies.guards.excluded import Excluded
from tidegate.policies.guards.late import Late
from tidegate.policies.guards.pause import Pause
from tidegate.policies.guards.settings import GuardSettings
from tidegate.policies.guards.small import DeadBand, Tolerance
from tidegate.policies.guards.stabilisation import Stabilisation
from tidegate.policies.guards.stalled import Stalled
from tidegate.policies.guards.step import StepLimit
from tidegate.policies.guards.uneven import Uneven

__all__ = [
    "Arriving",
    "CatchingUp",
    "Ceiling",
    "Cooldown",
    "DeadBand",
    "Effect",
    "Excluded",
    "GuardSettings",
    "Late",
    "Pause",
    "Quota",
    "Stabilisation",
    "Stalled",
    "StepLimit",
    "Tolerance",
    "Uneven",
]
