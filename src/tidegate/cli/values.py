"""Parses what users type: the extent of a workload, shares, lists of names, and policy options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.amounts import duration, rate


def extent(workload: str, seconds: str | None, highest: str | None) -> tuple[float, float]:
    """Duration and peak rate of a workload. Without a value, a trace keeps its own; others get 3 minutes and 100k/s.

    >>> extent("tide", None, "20k"), extent("cosine", "1h", None)
    ((180.0, 20000.0), (3600.0, 100000.0))
    """
    from tidegate.workloads import named  # noqa: PLC0415, numpy comes with it

    trace = named(workload) if workload.startswith("trace:") and (seconds is None or highest is None) else None
    length = (trace.duration if trace else 180.0) if seconds is None else duration(seconds)
    return length, (trace.highest() if trace else 100_000.0) if highest is None else rate(highest)


def share(place: str, text: str) -> float:
    """A share below 1, written as a number or a percentage.

    >>> share("allowed", "1%"), share("allowed", "0.02"), share("allowed", "0")
    (0.01, 0.02, 0.0)
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    if re.fullmatch(r"\d+(\.\d+)?", number.strip()):
        value = float(number) / (100 if percent else 1)
        if value < 1:
            return value
    raise InvalidInput(f"{place} {text!r} is no share of records below 1, like 1% or 0.01")


def names(text: str) -> list[str]:
    """A comma-separated list.

    >>> names("ds2, daedalus,")
    ['ds2', 'daedalus']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def options(texts: Iterable[str]) -> dict[str, float | str]:
    """Policy options from NAME=VALUE, as text: the policy knows their units, and parses them.

    >>> options(["target=80%", "down-window=1m", "pause=in"])
    {'target': '80%', 'down-window': '1m', 'pause': 'in'}
    """
    return dict(_assignment(text, f"policy option {text!r} is not NAME=VALUE") for text in texts)


def with_options(policies: Sequence[Any], texts: Iterable[str], command: str, whole: str) -> list[Any]:
    """Policies as in a comparison's file, with options from POLICY:NAME=VALUE.

    POLICY is a name or a label; all policies that have it get the option. `command` and `whole` are for messages:
    `compare`, and `comparison`.

    >>> with_options(["ds2", {"name": "hpa-cpu", "label": "HPA"}], ["HPA:target=0.8"], "compare", "comparison")
    [{'name': 'ds2'}, {'name': 'hpa-cpu', 'label': 'HPA', 'options': {'target': '0.8'}}]
    """
    tables = [dict(policy) if isinstance(policy, Mapping) else {"name": policy} for policy in policies]
    for text in texts:
        problem = f"{command}: option {text!r} is not POLICY:NAME=VALUE, like hpa-cpu:target=0.8"
        policy, colon, assignment = text.partition(":")
        if not colon:
            raise InvalidInput(problem)
        name, value = _assignment(assignment, problem)
        matches = [table for table in tables if policy in (table.get("name"), table.get("label"))]
        if not matches:
            raise UnknownName(f"policy of this {whole}", policy, [str(table.get("name")) for table in tables])
        for table in matches:
            earlier = table.get("options", {})
            # options that are no table are refused later, with all else that is wrong in a file
            table["options"] = {**earlier, name: value} if isinstance(earlier, Mapping) else earlier
    return tables


def _assignment(text: str, problem: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(problem)
    return name.strip(), value.strip()


def folder_name(title: str, digest: str) -> str:
    """Name of the folder for the results of a comparison or back-test.

    >>> folder_name("ICDEW'23, Table I", "0123456789ab"), folder_name("", "0123456789ab")
    ('icdew-23-table-i-01234567', '01234567')
    """
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return "-".join(filter(None, (words, digest[:8])))
