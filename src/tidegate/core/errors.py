"""The exceptions that Tidegate raises.

TidegateError
├── InvalidInput            a value from the user breaks a rule
│   ├── InvalidLimits
│   └── UnknownName         no job, policy, workload … of that name
├── EnvironmentMissing      Java, a Spark master or a permission that the run needs is missing
├── QueryEnded              the query was stopped: the loop ends normally
└── QueryFailed             the query failed: the run ends as failed
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: characters of a name that a message shows
LONGEST = 80


class TidegateError(Exception):
    """The message is a sentence for the user that names the value, the rule and the place."""

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

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        names = sorted(choices)
        name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        matches = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; did you mean {matches[0]!r}?" if matches else ""
        known = ", ".join(names)
        known = known if len(known) <= 1000 else f"{known[:999]}…"
        super().__init__(f"no {kind} is named {name!r}{hint} (known: {known})")


class EnvironmentMissing(TidegateError):
    exit_code = 3


class QueryEnded(TidegateError):
    exit_code = 0


class QueryFailed(TidegateError):
    exit_code = 4
