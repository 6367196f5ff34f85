"""A user's own records, repeated: record *i* is row *i mod n* of a sample, at an emulated event time.

As in StreamBed, the event time of a record is that at which it is offered, whatever the sample says: record *i* is
*i / rate* seconds after the start. Other columns of times keep their distance to it. Without shifted keys the same keys
come again with each repetition of the sample, which is right where their number is fixed: campaigns, sensors, shops.
With them each repetition has keys of its own, so that more keys are active at a higher rate: sessions, orders, users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.reading import shown
from tidegate.jobs.nexmark.numbering import event_time
from tidegate.jobs.sample_file import read, version
from tidegate.jobs.skew import Skew

PREFIX = "sample:"
Ints = npt.NDArray[np.int64]
#: epoch times in a column of whole numbers, by their magnitude: ns, µs and ms; below that, seconds
UNITS = ((10**17, 1000, 1), (10**14, 1, 1), (10**11, 1, 1000))
SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Where a sample is, which of its columns are times, the event time first, and which are keys to be shifted.

    >>> Sample.parse("orders.parquet?time=at&time=paid&key=user")
    Sample(file='orders.parquet', times=('at', 'paid'), keys=('user',))
    >>> Sample("orders.parquet", ("at",)).name
    'orders.parquet?time=at'
    """

    file: str
    times: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.file}?{urlencode([('time', time) for time in self.times] + [('key', key) for key in self.keys])}"

    @classmethod
    def parse(cls, name: str) -> Sample:
        file, _, query = name.removeprefix(PREFIX).partition("?")
        options = parse_qsl(query)
        for option, _ in options:
            if option not in ("time", "key"):
                raise UnknownName(f"option of the sample {file}", option, ("time", "key"))
        times, keys = (tuple(value for option, value in options if option == kind) for kind in ("time", "key"))
        if not file or not times:
            raise InvalidInput(
                f"sample {name}: need a file and its column of event times, as in orders.parquet?time=at"
            )
        return cls(file, times, keys)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Events from a sample, at `rate` records per second of event time."""

    sample: Sample
    rate: float
    schema: str = field(init=False)
    text: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise InvalidInput(f"sample {self.sample.file}: need an event rate > 0 records/s, got {self.rate:g}")
        object.__setattr__(self, "schema", _schema(_content(self.sample).rows, self.sample.file))

    @classmethod
    def of(cls, name: str, rate: float, skew: Skew) -> Sampled:
        sample = Sample.parse(name)
        if skew is not Skew.default:
            raise InvalidInput(f"sample {sample.file}: its keys have the skew that they have, got skew {skew.value}")
        return cls(sample, rate)

    @property
    def rows(self) -> int:
        return int(_content(self.sample).rows.num_rows)

    def make(self, records: Ints) -> pa.RecordBatch:
        content = _content(self.sample)
        turns, places = np.divmod(records, content.rows.num_rows)
        columns = content.rows.take(pa.array(places))
        values = dict(zip(columns.schema.names, columns.columns, strict=True))
        emulated = event_time(records, self.rate)
        for name, times in content.times.items():
            values[name] = times.restored(emulated + times.distance[places])
        for name, span in content.spans.items():
            values[name] = _shifted(values[name], turns, span)
        return pa.RecordBatch.from_pydict(values)


@dataclass(frozen=True, slots=True)
class _Times:
    """A column of times: its distance to the event time of the same row in microseconds, and its type and unit, in
    which the emulated times are written again.
    """

    distance: Ints
    kind: pa.DataType
    #: of epoch numbers: their unit is divisor / factor microseconds
    divisor: int
    factor: int

    def restored(self, microseconds: Ints) -> pa.Array:
        if pa.types.is_timestamp(self.kind):
            return pa.array(microseconds).cast(self.kind)
        if pa.types.is_integer(self.kind):
            return pa.array(microseconds * self.divisor // self.factor).cast(self.kind)
        return pc.strftime(pa.array(microseconds).cast(pa.timestamp("us", "UTC")), format="%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class _Content:
    rows: pa.RecordBatch
    times: Mapping[str, _Times]
    #: by how much whole numbers are shifted with each repetition, so that none returns; 0 for text, which gets a suffix
    spans: Mapping[str, int]


def _content(sample: Sample) -> _Content:
    return _read(sample, version(sample.file))


@lru_cache(maxsize=4)
def _read(sample: Sample, version: tuple[int, int]) -> _Content:
    """The content of a file as it is now. Read once by each process."""
    rows = read(sample.file)
    if not rows.num_rows:
        raise InvalidInput(f"sample {sample.file}: need at least one row, it has none")
    for name in (*sample.times, *sample.keys):
        if name not in rows.schema.names:
            raise UnknownName(f"column of the sample {sample.file}", name, rows.schema.names)
        if missing := rows[name].null_count:
            first = pc.index(pc.is_null(rows[name]), True).as_py() + 1
            where = f"{missing:,} rows have none, first row {first:,}"
            raise InvalidInput(f"sample {sample.file}: need a value of {name} in each row, {where}")
    spans = {name: _span(sample.file, name, rows[name]) for name in sample.keys}
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    # shifted numbers grow beyond the type that was enough for the sample
    columns |= {name: rows[name].cast(pa.int64()) for name, span in spans.items() if span}
    return _Content(pa.RecordBatch.from_pydict(columns), _times(sample, rows), spans)


def _times(sample: Sample, rows: pa.RecordBatch) -> dict[str, _Times]:
    microseconds = {name: _microseconds(rows[name], sample.file, name) for name in sample.times}
    event = microseconds[sample.times[0]]
    return {name: _Times(values - event, rows[name].type, *_unit(rows[name])) for name, values in microseconds.items()}


def _schema(rows: pa.RecordBatch, file: str) -> str:
    return ", ".join(f"{_quoted(column.name)} {_spark_type(column, file)}" for column in rows.schema)


def _quoted(name: str) -> str:
    """
    >>> _quoted("at"), _quoted("order id")
    ('at', '`order id`')
    """
    return name if name.isidentifier() else f"`{name.replace('`', '``')}`"


def _spark_type(column: pa.Field, file: str) -> str:
    try:
        return from_arrow_type(column.type).simpleString()
    except PySparkException:
        raise InvalidInput(f"sample {file}: Spark has no type for column {column.name}, {column.type}") from None


def _microseconds(times: pa.Array, file: str, name: str) -> Ints:
    """Epoch microseconds of times, numbers or text."""
    if pa.types.is_timestamp(times.type):
        return np.asarray(times.cast(pa.int64()))
    if pa.types.is_integer(times.type):
        divisor, factor = _unit(times)
        values: Ints = np.asarray(times).astype(np.int64) * factor // divisor
        return values
    if pa.types.is_string(times.type):
        return _parsed(times, file, name)
    raise InvalidInput(
        f"sample {file}: need times, epoch numbers or ISO 8601 text in column {name}, it has {times.type}"
    )


def _parsed(texts: pa.Array, file: str, name: str) -> Ints:
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            return np.asarray(texts.cast(kind).cast(pa.int64()))
        except pa.ArrowInvalid:
            continue
    example = shown(texts[0].as_py())
    raise InvalidInput(f"sample {file}: need ISO 8601 times in column {name}, it has texts like {example}")


def _unit(times: pa.Array) -> tuple[int, int]:
    """Divisor and factor that make microseconds of epoch numbers, which are told apart by their magnitude.

    >>> [_unit(pa.array([time])) for time in (1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000)]
    [(1, 1000000), (1, 1000), (1, 1)]
    """
    if not pa.types.is_integer(times.type):
        return 1, 1
    largest = int(np.abs(np.asarray(times)).max())
    return next(((divisor, factor) for least, divisor, factor in UNITS if largest >= least), (1, SECOND))


def _span(file: str, name: str, keys: pa.Array) -> int:
    if pa.types.is_string(keys.type):
        return 0
    if not pa.types.is_integer(keys.type):
        raise InvalidInput(f"sample {file}: can shift keys that are text or whole numbers, {name} is {keys.type}")
    ends = pc.min_max(keys)
    return int(ends["max"].as_py()) - int(ends["min"].as_py()) + 1


def _shifted(keys: pa.Array, turns: Ints, span: int) -> pa.Array:
    if span:
        return pa.array(np.asarray(keys).astype(np.int64) + turns * span)
    repeated = pc.binary_join_element_wise(keys, pa.array(turns).cast(pa.string()), "-")
    return pc.if_else(pa.array(turns == 0), keys, repeated)


def brevity(kind: object) -> str:
    """What it means that a sample has less than a second of records; empty if it has more."""
    if not isinstance(kind, Sampled) or kind.rows >= kind.rate:
        return ""
    keys = "has other keys each time" if kind.sample.keys else "has the same keys each time: is that so in production?"
    span = f"{kind.rows:,} rows are {kind.rows / kind.rate:.2g} s at {kind.rate:,.0f} records/s"
    return f"sample {kind.sample.file}: {span}: it is repeated {kind.rate / kind.rows:.3g} times a second, and {keys}"
