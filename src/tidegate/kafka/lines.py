"""Records as JSON text, a whole batch of columns at a time."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from tidegate.core import InvalidInput

#: what JSON wants written otherwise; the backslash first, as the others bring some
ESCAPES = (("\\", "\\\\"), ('"', '\\"'))
CONTROLS = tuple((chr(code), json.dumps(chr(code))[1:-1]) for code in range(0x20))


def json_lines(batch: pa.RecordBatch) -> pa.Array:
    """One object a row, the columns' names as its fields; times are UTC with microseconds, unknown is null.

    Numbers that JSON does not have (NaN, infinity) are null too.

    >>> from datetime import datetime
    >>> bids = pa.RecordBatch.from_pydict({"price": [7, None], "at": [datetime(2015, 7, 15, 0, 0, 0, 100)] * 2})
    >>> json_lines(bids).to_pylist()[0]
    '{"price":7,"at":"2015-07-15T00:00:00.000100Z"}'
    """
    return _object(batch.schema.names, batch.columns, batch.num_rows)


def _object(names: list[str], columns: list[pa.Array], rows: int) -> pa.Array:
    if not names:
        return pa.array(["{}"] * rows, pa.string())
    parts: list[pa.Array | str] = []
    for k, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [f"{',' if k else '{'}{json.dumps(name, ensure_ascii=False)}:", _text(name, column)]
    return pc.binary_join_element_wise(*parts, "}", "")


def _text(name: str, column: pa.Array) -> pa.Array:
    written = _written(name, column)
    if column.null_count:
        written = pc.if_else(pc.is_valid(column), written, pa.scalar(None, pa.string()))
    return pc.fill_null(written, "null") if written.null_count else written


def _written(name: str, column: pa.Array) -> pa.Array:
    """A column's values as JSON, whatever its nulls become."""
    kind = column.type
    if kinds.is_struct(kind):
        return _object([field.name for field in kind], column.flatten(), len(column))
    if kinds.is_floating(kind):
        return pc.if_else(pc.is_finite(column), pc.cast(column, pa.string()), pa.scalar(None, pa.string()))
    if kinds.is_integer(kind) or kinds.is_decimal(kind) or kinds.is_boolean(kind) or kinds.is_null(kind):
        return pc.cast(column, pa.string())
    return _quoted(_words(name, column))


def _words(name: str, column: pa.Array) -> pa.Array:
    kind = column.type
    if kinds.is_timestamp(kind):
        return _moment(column)
    if kinds.is_date(kind):
        return pc.cast(column, pa.string())
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return _escaped(pc.cast(column, pa.string()))
    raise InvalidInput(f"column {name!r}, {kind}, cannot be written as JSON: need numbers, text, times or structs")


def _moment(column: pa.Array) -> pa.Array:
    # without its zone, which is UTC by now, a time is written twenty times as fast
    moments = pc.cast(column, pa.timestamp("us", tz="UTC"), safe=False).view(pa.timestamp("us"))
    date_and_time = pc.binary_replace_slice(pc.cast(moments, pa.string()), 10, 11, "T")
    return pc.binary_join_element_wise(date_and_time, "Z", "")


def _escaped(column: pa.Array) -> pa.Array:
    for plain, written in ESCAPES:
        column = pc.replace_substring(column, plain, written)
    if pc.any(pc.match_substring_regex(column, "[\\x00-\\x1f]")).as_py():
        for plain, written in CONTROLS:
            column = pc.replace_substring(column, plain, written)
    return column


def _quoted(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', column, '"', "")
