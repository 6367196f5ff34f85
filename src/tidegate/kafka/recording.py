"""A recorded topic as a file, whose records a replay sends again.

The file is named after the topic and its offsets at that time, so measurements of these records can be found again,
whatever the address of the broker.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet
from pyarrow import types

from tidegate.core import InvalidInput
from tidegate.jobs import Events, Sample, Sampled
from tidegate.kafka.options import NONE, Options
from tidegate.kafka.packages import Say, quiet
from tidegate.kafka.producer import values
from tidegate.kafka.sample import Ranges, last_records, read_ranges

#: characters of the digest in the name of a file
DIGEST = 12
#: a rate at which event time advances, for records that are only looked at
ANY_RATE = 1000.0


@dataclass(frozen=True, slots=True)
class RecordedTopic:
    """Where the records are; the last `records` of them are read."""

    bootstrap: str
    topic: str
    records: int
    #: the user's for Kafka's clients; they may have secrets
    options: Options = field(default_factory=lambda: NONE, repr=False)


def record(recorded: RecordedTopic, folder: Path, say: Say = quiet) -> Path:
    """Read the topic into a file of the folder, which is replaced if it is there."""
    bootstrap, topic, options = recorded.bootstrap, recorded.topic, recorded.options
    ranges = last_records(bootstrap, topic, recorded.records, options)
    table = read_ranges(bootstrap, topic, ranges, options, say)
    file = folder / f"{recording_name(topic, ranges)}.parquet"
    draft = file.with_suffix(".draft")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)  # somebody's records
        pyarrow.parquet.write_table(table, draft)
        draft.replace(file)
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror or error}") from None
    say(f"{table.num_rows:,} records of {topic!r} are in {file}")
    return file


def recording_name(topic: str, ranges: Ranges) -> str:
    """
    >>> recording_name("ads", {0: range(0, 500), 1: range(0, 501)})
    'ads-713080a8bcf9'
    """
    identity = json.dumps([topic, sorted((partition, part.start, part.stop) for partition, part in ranges.items())])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:DIGEST]
    return f"{re.sub('[^A-Za-z0-9_-]+', '-', topic)[:100]}-{digest}"


def check_recording(sample: Sample, topic: str, own: Events | None = None) -> None:
    """Refuse records that cannot be sent again, or that have not the fields of a job's `own` records in their types."""
    if own is not None:
        rows = pyarrow.parquet.read_table(sample.file)
        expected = pyarrow.json.read_json(io.BytesIO(values(own, 0, 1)[0])).schema
        for name, kind in zip(expected.names, expected.types, strict=True):
            _check_field(_Field(topic, name, kind), rows)
    values(Sampled(sample, ANY_RATE), 0, 1)


@dataclass(frozen=True, slots=True)
class _Field:
    topic: str
    name: str
    kind: pa.DataType


def _check_field(field: _Field, rows: pa.Table) -> None:
    place, have = f"topic {field.topic!r}: the job needs the field {field.name!r}", ", ".join(rows.column_names)
    if field.name not in rows.column_names:
        raise InvalidInput(f"{place} in each record, they have {have}")
    column = rows[field.name]
    if not _fits(column.type, field.kind):
        raise InvalidInput(f"{place} as {_word(field.kind)}, it is {_word(column.type)}")
    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py() + 1
        raise InvalidInput(
            f"{place} in each record, {column.null_count:,} of {rows.num_rows:,} have none, the first is number"
            f" {first:,} in the order of their times"
        )


def _fits(kind: pa.DataType, expected: pa.DataType) -> bool:
    """Whether Spark reads values of a type where JSON of another is expected.

    >>> _fits(pa.int64(), pa.string()), _fits(pa.string(), pa.int64())
    (True, False)
    """
    if types.is_null(kind) or types.is_null(expected):
        return True
    if types.is_struct(expected):
        return types.is_struct(kind) and all(
            inner.name in kind.names and _fits(kind.field(inner.name).type, inner.type) for inner in expected
        )
    if _is_text(expected):
        return not types.is_nested(kind)
    if types.is_integer(expected):
        return bool(types.is_integer(kind))
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_timestamp(kind))


def _word(kind: pa.DataType) -> str:
    named: Sequence[tuple[bool, str]] = (
        (types.is_struct(kind), str(kind).replace("struct", "an object ")),
        (types.is_list(kind), "a list"),
        (_is_text(kind), "text"),
        (types.is_integer(kind), "a whole number"),
    )
    return next((word for applies, word in named if applies), "a number")
