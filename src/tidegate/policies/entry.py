"""A policy under a name. Every file of this folder with `NAMES` is found by that, so a policy is one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidegate.core import Options, Policy

#: defaults of guards that several systems share
KUBERNETES: Options = {"down-window": 300.0, "step-up": 4, "step-factor": 2.0, "arriving": 0.0}
#: as deployed in the experiments of the DEBS'24 paper, whose HPA variants have a window instead of the cooldown
DEBS: Options = {"cooldown-up": 300.0, "cooldown-down": 300.0, "step-up": 15}
#: for fixed numbers, and for systems that consider neither partitions nor executors that are still starting
AS_IS: Options = {"ceiling": 0, "arriving": 0.0, "uneven": 0.0}


@dataclass(frozen=True, slots=True)
class Entry:
    """`policy` is a dataclass whose fields are parameters (`core.parameter`); `defaults` are those of this name, the
    guards' included.
    """

    summary: str
    source: str
    policy: Callable[..., Policy]
    defaults: Options = field(default_factory=dict)
