"""Mean size of a Parquet row, from the files' footers: no data is read."""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow import ArrowException
from pyarrow import parquet as pq

from tidegate.traces.inputs import Source

#: files whose footers are read; the others are assumed to be similar
FILES = 100


def mean_row_size(sources: Sequence[Source]) -> float | None:
    """Encoded bytes before compression. None if a source is not Parquet or not local."""
    if any(source.format != "parquet" or source.remote for source in sources):
        return None
    files = [file for source in sources for file in source.files]
    try:
        sizes = [_rows_and_bytes(file) for file in files[:: -(-len(files) // FILES)]]
    except (OSError, ArrowException):
        return None
    rows = sum(rows for rows, _ in sizes)
    return sum(size for _, size in sizes) / rows if rows else None


def _rows_and_bytes(file: str) -> tuple[int, int]:
    footer = pq.read_metadata(file)
    return footer.num_rows, sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
