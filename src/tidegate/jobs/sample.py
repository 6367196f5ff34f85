"""A user's records, repeated: record *i* is row *i mod n* of a sample, at an emulated event time.

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

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.reading import shown
from tidegate.jobs.nexmark.numbering import event_time
from tidegate.jobs.sample_file import ddl, read, version
from tidegate.jobs.skew import Skew
from tidegate.jobs.time_text import TimeForm, microseconds

PREFIX = "sample:"
Ints = npt.NDArray[np.int64]
#: epoch times in a column of whole numbers, by their magnitude: ns, µs and ms; below that, seconds
UNITS = ((10**17, 1000, 1), (10**14, 1, 1), (10**11, 1, 1000))
SECOND = 1_000_000
#: such a number as text, after 2001: other numbers of digits are dates without dashes
EPOCH = r"^\d{10}(\d{3}){0,3}$"
#: between a key and the number of the repetition: the first that no key has
SEPARATORS = ("-", "_", "#", "~")
#: widest span of numbers that are shifted: eight million repetitions fit into 64 bits
WIDEST = 1 << 40


@dataclass(frozen=True, slots=True)
class Sample:
    """Where a sample is, which of its columns are times, the event time first, and which are keys to be shifted.

    Records of jobs that know no time have none of them.

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
    def parse(cls, name: str, *, timeless: bool = False) -> Sample:
        """From its name. Only a `timeless` one may be without a column of event times."""
        file, _, query = name.removeprefix(PREFIX).partition("?")
        options = parse_qsl(query)
        for option, _ in options:
            if option not in ("time", "key"):
                raise UnknownName(f"option of the sample {file}", option, ("time", "key"))
        times, keys = (tuple(value for option, value in options if option == kind) for kind in ("time", "key"))
        if not file or not (times or timeless):
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
        object.__setattr__(self, "schema", ddl(_content(self.sample).rows))

    @classmethod
    def of(cls, name: str, rate: float, skew: Skew) -> Sampled:
        sample = Sample.parse(name)
        if skew is not Skew.default:
            raise InvalidInput(f"sample {sample.file}: the skew of its keys cannot be set, got skew {skew.value}")
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
        for name, offset in content.offsets.items():
            values[name] = _shifted(values[name], turns, offset)
        return pa.RecordBatch.from_pydict(values)


@dataclass(frozen=True, slots=True)
class _Times:
    """A column of times: its distance to the event time of the same row in microseconds, and its type and form, in
    which the emulated times are written again.
    """

    distance: Ints
    kind: pa.DataType
    #: of epoch numbers: their unit is divisor / factor microseconds
    divisor: int
    factor: int
    form: TimeForm | None = None

    def restored(self, times: Ints) -> pa.Array:
        if self.form is not None:
            return self.form.written(times)
        if pa.types.is_timestamp(self.kind):
            return pa.array(times).cast(self.kind)
        # epoch numbers, which may be written as text
        return pa.array(times * self.divisor // self.factor).cast(self.kind)


@dataclass(frozen=True, slots=True)
class _Content:
    rows: pa.RecordBatch
    times: Mapping[str, _Times]
    #: by how much numbers are shifted with each repetition, and what is between a text and the number of the repetition
    offsets: Mapping[str, int | str]


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
    offsets = {name: _offset(sample.file, name, rows[name]) for name in sample.keys}
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    # shifted numbers grow beyond the type that was enough for the sample
    columns |= {name: rows[name].cast(pa.int64()) for name, offset in offsets.items() if isinstance(offset, int)}
    return _Content(pa.RecordBatch.from_pydict(columns), _times(sample, rows), offsets)


def _times(sample: Sample, rows: pa.RecordBatch) -> dict[str, _Times]:
    if not sample.times:
        return {}
    recorded = {name: _microseconds(rows[name], sample.file, name) for name in sample.times}
    event = recorded[sample.times[0]]
    return {name: _column(rows[name], times - event) for name, times in recorded.items()}


def _column(times: pa.Array, distance: Ints) -> _Times:
    numbers = _numbers(times)
    form = TimeForm.of(times[0].as_py()) if pa.types.is_string(times.type) and numbers is None else None
    return _Times(distance, times.type, *_unit(times if numbers is None else numbers), form)


def _numbers(times: pa.Array) -> pa.Array | None:
    """Epoch numbers that are written as text, as in the events of `ysb`; None if the texts are others.

    >>> _numbers(pa.array(["1436918400000", "1436918400001"])).to_pylist(), _numbers(pa.array(["2015-07-15"]))
    ([1436918400000, 1436918400001], None)
    """
    if not pa.types.is_string(times.type) or not pc.all(pc.match_substring_regex(times, EPOCH)).as_py():
        return None
    return times.cast(pa.int64())


def _microseconds(times: pa.Array, file: str, name: str) -> Ints:
    """Epoch microseconds of times, numbers or text."""
    numbers = _numbers(times)
    if numbers is not None:
        return _microseconds(numbers, file, name)
    if pa.types.is_timestamp(times.type):
        return np.asarray(times.cast(pa.int64()))
    if pa.types.is_integer(times.type):
        divisor, factor = _unit(times)
        values: Ints = np.asarray(times).astype(np.int64) * factor // divisor
        return values
    if not pa.types.is_string(times.type):
        rule = f"need times, epoch numbers or ISO 8601 text in column {name}"
        raise InvalidInput(f"sample {file}: {rule}, it has {times.type}")
    parsed = microseconds(times)
    if parsed is None:
        example = shown(times[0].as_py())
        raise InvalidInput(f"sample {file}: need ISO 8601 times in column {name}, it has texts like {example}")
    return parsed


def _unit(times: pa.Array) -> tuple[int, int]:
    """Divisor and factor that make microseconds of epoch numbers, which are told apart by their magnitude.

    >>> [_unit(pa.array([time])) for time in (1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000)]
    [(1, 1000000), (1, 1000), (1, 1)]
    """
    if not pa.types.is_integer(times.type):
        return 1, 1
    largest = int(np.abs(np.asarray(times)).max())
    return next(((divisor, factor) for least, divisor, factor in UNITS if largest >= least), (1, SECOND))


def _offset(file: str, name: str, keys: pa.Array) -> int | str:
    if pa.types.is_string(keys.type):
        for separator in SEPARATORS:
            if not pc.any(pc.match_substring(keys, separator)).as_py():
                return separator
        raise InvalidInput(f"sample {file}: need keys without one of {' '.join(SEPARATORS)} to shift {name}")
    if not pa.types.is_integer(keys.type):
        raise InvalidInput(f"sample {file}: can shift keys that are text or whole numbers, {name} is {keys.type}")
    ends = pc.min_max(keys)
    span = int(ends["max"].as_py()) - int(ends["min"].as_py()) + 1
    if span > WIDEST:
        raise InvalidInput(f"sample {file}: can shift numbers that span at most 2^40, {name} spans {span:,}: use text")
    return span


def _shifted(keys: pa.Array, turns: Ints, offset: int | str) -> pa.Array:
    if isinstance(offset, int):
        return pa.array(np.asarray(keys).astype(np.int64) + turns * offset)
    repeated = pc.binary_join_element_wise(keys, pa.array(turns).cast(pa.string()), offset)
    return pc.if_else(pa.array(turns == 0), keys, repeated)


def repetition_warning(kind: object) -> str:
    """What it means that a sample has less than a second of records; empty if it has more."""
    if not isinstance(kind, Sampled) or kind.rows >= kind.rate:
        return ""
    keys = "has other keys each time" if kind.sample.keys else "has the same keys each time: is that so in production?"
    span = f"{kind.rows:,} rows are {kind.rows / kind.rate:.2g} s at {kind.rate:,.0f} records/s"
    return f"sample {kind.sample.file}: {span}: it is repeated {kind.rate / kind.rows:.3g} times a second, and {keys}"
