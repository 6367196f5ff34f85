"""Numbers as a person reads them: `120 k/s`, `1.2 M`, `0:45`. An unknown number is a dash."""

from __future__ import annotations

import math

UNKNOWN = "—"
#: from which value on a prefix stands for so many
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def known(value: object) -> float | None:
    """A finite number, or None for everything else that a JSON document may hold in its place.

    >>> known(3), known(True), known("3"), known(float("nan"))
    (3, None, None, None)
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number and math.isfinite(value) else None  # type: ignore[arg-type,return-value]


def count(value: float | None) -> str:
    """Three digits and a prefix.

    >>> count(1_234_567), count(120_000), count(999_999), count(45), count(0.25), count(None)
    ('1.23 M', '120 k', '1 M', '45', '0.25', '—')
    """
    if value is None:
        return UNKNOWN
    rounded = float(f"{value:.3g}")
    for size, prefix in PREFIXES:
        if abs(rounded) >= size:
            return f"{rounded / size:.3g} {prefix}"
    return f"{rounded:g}"


def exact(value: float | None) -> str:
    """All digits of a whole number, two decimals of another.

    >>> exact(1234567), exact(2.0), exact(1234.567)
    ('1,234,567', '2', '1,234.57')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def seconds(value: float | None) -> str:
    """
    >>> seconds(0.1234), seconds(4.26), seconds(73.4), seconds(None)
    ('0.12 s', '4.3 s', '73 s', '—')
    """
    if value is None:
        return UNKNOWN
    decimals = 2 if value < 1 else 1 if value < 10 else 0
    return f"{round(value, decimals):g} s"


def share(value: float | None) -> str:
    """
    >>> share(0.0345), share(0.5), share(0.00004), share(0)
    ('3.5 %', '50 %', '< 0.1 %', '0 %')
    """
    if value is None:
        return UNKNOWN
    return "< 0.1 %" if 0 < value < 0.0005 else f"{round(value * 100, 1):g} %"


def clock(value: float | None) -> str:
    """Minutes and seconds, with hours where there are any.

    >>> clock(45), clock(605.7), clock(3725), clock(-20)
    ('0:45', '10:06', '1:02:05', '-0:20')
    """
    if value is None:
        return UNKNOWN
    minutes, rest = divmod(abs(round(value)), 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"-{text}" if round(value) < 0 else text
