"""A column of times of any kind as whole seconds since 1970, UTC, in Spark's SQL.

Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size: 10^11 is the year
5138 in seconds and 1973 in milliseconds, and so on upwards, so that for times from 1974 to 5138 there is no doubt.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

#: unit -> how many of it make a second
SCALES: Mapping[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: unit -> the first number that is too large for it
BOUNDS: Mapping[str, int] = {"s": 10**11, "ms": 10**14, "us": 10**17}
#: how times were written, as bits, since any mixture may be in one column
NOTATIONS: Mapping[str, int] = {"timestamps": 1, "s": 2, "ms": 4, "us": 8, "ns": 16}
WORDS: Mapping[str, str] = {
    "timestamps": "timestamps",
    "s": "epoch seconds",
    "ms": "epoch milliseconds",
    "us": "epoch microseconds",
    "ns": "epoch nanoseconds",
}


def unit_of(number: float) -> str:
    """The unit of a number of unknown unit, as the SQL below tells it.

    >>> [unit_of(n) for n in (1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456, 1_700_000_000_123_456_789)]
    ['s', 'ms', 'us', 'ns']
    """
    return next((unit for unit, bound in BOUNDS.items() if -bound < number < bound), "ns")


def notations(bits: int) -> tuple[str, ...]:
    """
    >>> notations(1 | 4)
    ('timestamps', 'epoch milliseconds')
    """
    return tuple(WORDS[name] for name, bit in NOTATIONS.items() if bits & bit)


def can_be_time(kind: DataType) -> bool:
    known = (IntegralType, FloatType, DoubleType, DecimalType, StringType, DateType, TimestampType, TimestampNTZType)
    return isinstance(kind, known)


def stages(kind: DataType, unit: str | None) -> tuple[Mapping[str, str], ...]:
    """SQL of the columns to be derived from `time`, stage by stage: at the end there are `second`, NULL where there is
    none, and `notation`, its bit. In stages, because Spark would otherwise parse a text anew for every mention of it.
    """
    whole, decimal, stamp = _readings(kind)
    cases = " ".join(f"WHEN ABS(decimal) < {bound} THEN {SCALES[name]}L" for name, bound in BOUNDS.items())
    guessed = f"CASE {cases} WHEN decimal IS NOT NULL THEN {SCALES['ns']}L END"
    # SQL's `div` cuts towards zero, which before 1970 is the next second; FLOOR would fail at what is too large for it
    second = (
        "COALESCE(whole div scale - IF(whole % scale < 0, 1, 0),"
        f" IF(ABS(decimal) < 9e18D, FLOOR(decimal / scale), NULL), {stamp})"
    )
    named = " ".join(f"WHEN {SCALES[name]} THEN {NOTATIONS[name]}" for name in SCALES)
    notation = f"CASE IF(decimal IS NULL, NULL, scale) {named} ELSE {NOTATIONS['timestamps']} END"
    return (
        {"whole": whole, "decimal": decimal},
        {"scale": guessed if unit is None else f"{SCALES[unit]}L"},
        {"second": second, "notation": notation},
    )


def _readings(kind: DataType) -> tuple[str, str, str]:
    """SQL of the time as a whole number, as any number, and as the second of a timestamp; NULL where it is no such.

    Whole numbers stay whole: nanoseconds have more digits than a double. A text that is no number must begin with a
    year, since Spark would take a time without a date as today's. Python's logging writes fractions with a comma.
    """
    if isinstance(kind, IntegralType):
        return "CAST(time AS BIGINT)", "CAST(time AS DOUBLE)", "NULL"
    if isinstance(kind, FloatType | DoubleType | DecimalType):
        return "CAST(NULL AS BIGINT)", "CAST(time AS DOUBLE)", "NULL"
    if isinstance(kind, StringType):
        dated = "IF(LTRIM(time) LIKE '____-%', TRANSLATE(time, ',', '.'), NULL)"
        return "TRY_CAST(time AS BIGINT)", "TRY_CAST(time AS DOUBLE)", f"UNIX_SECONDS(TRY_CAST({dated} AS TIMESTAMP))"
    return "CAST(NULL AS BIGINT)", "CAST(NULL AS DOUBLE)", "UNIX_SECONDS(CAST(time AS TIMESTAMP))"
