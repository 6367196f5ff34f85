"""Bounds of numeric flags that are no settings of a run. A value outside of them is refused with the flag, the rule
and the value. Those of a run's settings, which files have too, are in `tidegate.experiment.bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import typer

from tidegate.core import InvalidInput


def between(least: float = -math.inf, most: float = math.inf, *, above: bool = False) -> Callable[..., Any]:
    """The callback of an option: `least` <= value <= `most`, or `least` < value with `above`. None passes.

    A callback and not typer's `min`, which lets nan pass and does not name the command.
    """

    def check(context: typer.Context, parameter: typer.CallbackParam, value: float | None) -> float | None:
        if value is None:
            return None
        low = value > least if above else value >= least
        if math.isfinite(value) and low and value <= most:
            return value
        raise InvalidInput(f"{context.info_name}: need {_rule(parameter.opts[0], least, most, above)}, got {value:g}")

    return check


def _rule(flag: str, least: float, most: float, above: bool) -> str:
    """
    >>> _rule("--price", 0, math.inf, False), _rule("--port", 1, 65535, False), _rule("--max-bad", 0, 1, True)
    ('--price >= 0', '1 <= --port <= 65535', '0 < --max-bad <= 1')
    >>> _rule("--max-executors", -math.inf, 10_000, False)
    '--max-executors <= 10000'
    """
    sign = "<" if above else "<="
    if least == -math.inf:
        return f"{flag} <= {most:g}"
    if most == math.inf:
        return f"{flag} {'>' if above else '>='} {least:g}"
    return f"{least:g} {sign} {flag} <= {most:g}"


#: far more than a back-test needs; without a bound a slip of the finger fills the memory
MANY = 10_000
#: the largest port, and the largest seed that fits everywhere
PORTS, SEEDS = 2**16 - 1, 2**63 - 1
