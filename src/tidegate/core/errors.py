"""Everything that Tidegate raises on purpose.

TidegateError
├── InvalidInput            the user gave a value that breaks a rule
│   ├── InvalidLimits
│   └── UnknownName         no job, policy, workload … of that name
├── EnvironmentMissing      Java, a master or a right that the run needs is not there
├── QueryEnded              the query stopped: the loop ends, nothing is wrong
└── QueryFailed             the query failed: the run is over and was not good
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TidegateError(Exception):
    """Its message is a sentence for the user: value, rule, place."""

    exit_code = 1


class InvalidInput(TidegateError):
    exit_code = 2


class InvalidLimits(InvalidInput):
    pass


class UnknownName(InvalidInput):
    """
    >>> print(UnknownName("policy", "hpacpu", ["static", "hpa-cpu"]))
    no policy is named 'hpacpu'; did you mean 'hpa-cpu'? (known: hpa-cpu, static)
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"no {kind} is named {name!r}{hint} (known: {', '.join(names)})")


class EnvironmentMissing(TidegateError):
    exit_code = 3


class QueryEnded(TidegateError):
    exit_code = 0


class QueryFailed(TidegateError):
    exit_code = 4
