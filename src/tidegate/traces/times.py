"""Times of any column type as whole seconds since 1970 (UTC), in Spark SQL."""

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

from tidegate.traces.time_units import BOUNDS, NOTATIONS, SCALES

TIME_TYPES = (IntegralType, FloatType, DoubleType, DecimalType, StringType, DateType, TimestampType, TimestampNTZType)


def can_be_time(column_type: DataType) -> bool:
    return isinstance(column_type, TIME_TYPES)


def stages(column_type: DataType, unit: str | None) -> tuple[Mapping[str, str], ...]:
    """SQL for the columns derived from `time`, one mapping per stage. The last stage adds `second` (NULL if the time
    is invalid) and `notation` (its bit).

    The expressions are split into stages because Spark would otherwise parse a string again at every use.
    """
    whole, decimal, timestamp = _readings(column_type)
    cases = " ".join(f"WHEN ABS(decimal) < {bound} THEN {SCALES[name]}L" for name, bound in BOUNDS.items())
    inferred_scale = f"CASE {cases} WHEN decimal IS NOT NULL THEN {SCALES['ns']}L END"
    # SQL's `div` truncates towards zero, which is the wrong second before 1970; FLOOR would overflow on huge numbers
    second = (
        "COALESCE(whole div scale - IF(whole % scale < 0, 1, 0),"
        f" IF(ABS(decimal) < 9e18D, FLOOR(decimal / scale), NULL), {timestamp})"
    )
    bits = " ".join(f"WHEN {SCALES[name]} THEN {NOTATIONS[name]}" for name in SCALES)
    notation = f"CASE IF(decimal IS NULL, NULL, scale) {bits} ELSE {NOTATIONS['timestamps']} END"
    return (
        {"whole": whole, "decimal": decimal},
        {"scale": inferred_scale if unit is None else f"{SCALES[unit]}L"},
        {"second": second, "notation": notation},
    )


def _readings(column_type: DataType) -> tuple[str, str, str]:
    """SQL that reads `time` as an integer, as any number, and as the second of a timestamp; NULL where that fails.

    Integers stay integers: nanoseconds have more digits than a double. A string that is not a number must start with a
    year, because Spark would take a time without a date as today's. Python's logging writes fractions with a comma.
    """
    if isinstance(column_type, IntegralType):
        return "CAST(time AS BIGINT)", "CAST(time AS DOUBLE)", "NULL"
    if isinstance(column_type, FloatType | DoubleType | DecimalType):
        return "CAST(NULL AS BIGINT)", "CAST(time AS DOUBLE)", "NULL"
    if isinstance(column_type, StringType):
        dated = "IF(LTRIM(time) LIKE '____-%', TRANSLATE(time, ',', '.'), NULL)"
        return "TRY_CAST(time AS BIGINT)", "TRY_CAST(time AS DOUBLE)", f"UNIX_SECONDS(TRY_CAST({dated} AS TIMESTAMP))"
    return "CAST(NULL AS BIGINT)", "CAST(NULL AS DOUBLE)", "UNIX_SECONDS(CAST(time AS TIMESTAMP))"
