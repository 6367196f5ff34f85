"""Whether a decision can be carried out. Policies and guards may be anybody's code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate.core import Decision, InvalidInput

#: exceptions by which a program is ended from outside; all others are failures of whoever raises them, `SystemExit` of
#: a policy included
CONTROL = (KeyboardInterrupt, GeneratorExit)


def valid(decision: Decision) -> Decision:
    """The decision itself if it can be carried out; whole numbers of other types, like numpy's, become `int`.

    >>> valid(Decision(float("nan"), "?"))
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: need a whole number of executors, got nan
    """
    if not isinstance(decision, Decision):
        raise InvalidInput(f"need a Decision, got {type(decision).__name__}")
    target = decision.target
    plain = target.per_operator is None and target.batch_limit is None
    if plain and type(target.executors) is int and target.executors >= 0 and type(decision.reason) is str:
        return decision
    per_operator = target.per_operator
    if per_operator is not None:
        if not isinstance(per_operator, Mapping):
            raise InvalidInput(f"need workers by operator, got {per_operator!r}")
        whole = {str(name): _whole(f"workers of {name}", count) for name, count in per_operator.items()}
        per_operator = per_operator if whole == per_operator else whole
    limit = None if target.batch_limit is None else _whole("records per batch", target.batch_limit)
    checked = replace(
        target, executors=_whole("executors", target.executors), per_operator=per_operator, batch_limit=limit
    )
    same = checked == target and type(target.executors) is int and isinstance(decision.reason, str)
    return decision if same else Decision(checked, str(decision.reason), decision.evidence)


def _whole(what: str, value: Any) -> int:
    if isinstance(value, bool) or not _is_number(value) or not math.isfinite(value) or value != int(value):
        raise InvalidInput(f"need a whole number of {what}, got {value!r}")
    if value < 0:
        raise InvalidInput(f"need a number of {what} of at least 0, got {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or hasattr(value, "__index__")
