"""Reads a sample of records from Parquet, CSV or JSON lines, in types that Spark has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from tidegate.core import InvalidInput, UnknownName

#: bytes of a sample in memory: each Python worker has it
MOST_BYTES = 512 << 20

READERS: Mapping[str, Callable[[str], pa.Table]] = {
    ".parquet": pyarrow.parquet.read_table,
    ".csv": pyarrow.csv.read_csv,
    ".json": pyarrow.json.read_json,
    ".jsonl": pyarrow.json.read_json,
}


def version(file: str) -> tuple[int, int]:
    """Changes whenever the file does."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"sample {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return status.st_mtime_ns, status.st_size


def read(file: str) -> pa.RecordBatch:
    suffixes = Path(file).suffixes
    reader = READERS.get(next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".bz2")), ""))
    if reader is None:
        raise UnknownName(f"format of the sample {file}", "".join(suffixes) or "none", READERS)
    try:
        table = reader(file)
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"sample {file}: cannot be read: {str(error).splitlines()[0]}") from None
    if table.nbytes > MOST_BYTES:
        size, most = f"{table.nbytes >> 20:,} MiB", f"{MOST_BYTES >> 20} MiB"
        raise InvalidInput(f"sample {file}: need at most {most} in memory, it has {size}: take fewer rows")
    return _batch(table.cast(pa.schema([_spark_type(column) for column in table.schema])))


def _batch(table: pa.Table) -> pa.RecordBatch:
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    return pa.RecordBatch.from_pydict(columns)


def _spark_type(column: pa.Field) -> pa.Field:
    """Times are Spark's timestamps, in UTC where the file has no zone; unsigned numbers get the next larger type."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", "UTC")
    elif pa.types.is_unsigned_integer(kind):
        kind = pa.int64() if kind.bit_width >= 32 else pa.int32()
    elif pa.types.is_large_string(kind):
        kind = pa.string()
    return pa.field(column.name, kind)
