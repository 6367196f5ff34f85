"""Reads a sample of records from Parquet, CSV or JSON lines, in types that Spark has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tidegate.core import InvalidInput, UnknownName

#: bytes of a sample in memory: each Python worker has it
MOST_BYTES = 512 << 20

READERS: Mapping[str, Callable[[str], pa.Table]] = {
    ".parquet": pyarrow.parquet.read_table,
    ".csv": pyarrow.csv.read_csv,
    ".json": pyarrow.json.read_json,
    ".jsonl": pyarrow.json.read_json,
}
PACKED = (".gz", ".bz2")


def version(file: str) -> tuple[int, int]:
    """Changes whenever the file does."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"sample {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return status.st_mtime_ns, status.st_size


def read(file: str) -> pa.RecordBatch:
    suffixes = [suffix for suffix in Path(file).suffixes if suffix not in PACKED]
    reader = READERS.get(suffixes[-1] if suffixes else "")
    if reader is None:
        raise UnknownName(f"format of the sample {file}", "".join(suffixes) or "none", READERS)
    try:
        table = reader(file)
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"sample {file}: cannot be read: {str(error).splitlines()[0]}") from None
    if table.nbytes > MOST_BYTES:
        size, most = f"{table.nbytes >> 20:,} MiB", f"{MOST_BYTES >> 20} MiB"
        raise InvalidInput(f"sample {file}: need at most {most} in memory, it has {size}: take fewer rows")
    _check_names(table.column_names, file)
    columns = {name: _converted(table[name].combine_chunks(), name, file) for name in table.column_names}
    return pa.RecordBatch.from_pydict(columns)


def ddl(rows: pa.RecordBatch) -> str:
    """The schema as Spark reads it.

    >>> ddl(pa.RecordBatch.from_pydict({"order id": [1], "item": [{"no-1": "a"}]}))
    '`order id` bigint, item struct<`no-1`:string>'
    """
    return ", ".join(f"{_quoted(column.name)} {_type_text(from_arrow_type(column.type))}" for column in rows.schema)


def _check_names(names: list[str], file: str) -> None:
    """Spark does not tell names apart by case."""
    lower = [name.lower() for name in names]
    for name in names:
        if not name.strip():
            raise InvalidInput(f"sample {file}: need a name for each column, column {names.index(name) + 1} has none")
        if lower.count(name.lower()) > 1:
            raise InvalidInput(f"sample {file}: need different names of columns, {name!r} occurs more than once")


def _converted(column: pa.Array, name: str, file: str) -> pa.Array:
    """In the type that Spark has for it: times in microseconds of UTC, at any depth."""
    kind = column.type
    if pa.types.is_unsigned_integer(kind):
        kind = pa.int64() if kind.bit_width >= 32 else pa.int32()
    try:
        target = to_arrow_type(from_arrow_type(kind, prefer_timestamp_ntz=False), timezone="UTC")
        # what a time has beyond microseconds is cut off; of other values nothing may be lost
        return column.cast(target, safe=not pa.types.is_timestamp(target))
    except (PySparkException, pa.ArrowException, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"sample {file}: Spark cannot have column {name}, {column.type}: {reason}") from None


def _type_text(kind: DataType) -> str:
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{_quoted(field.name)}:{_type_text(field.dataType)}' for field in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_type_text(kind.keyType)},{_type_text(kind.valueType)}>"
    return kind.simpleString()


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name.replace('`', '``')}`"
