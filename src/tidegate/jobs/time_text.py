"""Times written as text, and written again in the same form."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
FORM = re.compile(r"\d{4}-\d\d-\d\d(?P<between>[T ])\d\d:\d\d:\d\d(?:\.(?P<fraction>\d+))?(?P<zone>Z|[+-]\d\d:?\d\d)?")


def microseconds(texts: pa.Array) -> Ints | None:
    """Epoch microseconds of ISO 8601 texts; None if they are not. Without a zone they are UTC.

    >>> microseconds(pa.array(["1970-01-01 00:00:01", "1970-01-01 00:00:02.5"])).tolist()
    [1000000, 2500000]
    """
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            return np.asarray(texts.cast(kind).cast(pa.int64()))
        except pa.ArrowInvalid:
            continue
    return None


@dataclass(frozen=True, slots=True)
class TimeForm:
    """How times are written: what is between date and time, digits of the second, and the zone, which is UTC.

    >>> form = TimeForm.of("2024-01-01 12:00:00.123")
    >>> form, form.written(np.array([1_500_000]))[0].as_py()
    (TimeForm(between=' ', digits=3, zone=''), '1970-01-01 00:00:01.500')
    """

    between: str
    digits: int
    zone: str

    @classmethod
    def of(cls, text: str) -> TimeForm:
        match = FORM.fullmatch(text)
        if match is None:
            return cls("T", 6, "Z")
        zone = match["zone"] or ""
        utc = zone if re.fullmatch(r"Z?|[+-]00:?00", zone) else "Z"
        return cls(match["between"], min(6, len(match["fraction"] or "")), utc)

    def written(self, times: Ints) -> pa.Array:
        unit = "s" if not self.digits else "ms" if self.digits <= 3 else "us"
        rounded = pa.array(times).cast(pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
        text = pc.strftime(rounded, format=f"%Y-%m-%d{self.between}%H:%M:%S")
        return pc.binary_join_element_wise(text, self.zone, "")
