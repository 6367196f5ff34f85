import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput
from tidegate.jobs import events
from tidegate.kafka import json_lines

ROW = pa.schema(
    [
        ("whole", pa.int64()),
        ("real", pa.float64()),
        ("yes", pa.bool_()),
        ('text "of" \\ names', pa.string()),
        ("pair", pa.struct([("a", pa.int32()), ("inner", pa.struct([("b", pa.string())]))])),
    ]
)
TEXT = st.text()
#: time limits are not part of the test
no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
            "real": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "yes": st.none() | st.booleans(),
            'text "of" \\ names': st.none() | TEXT,
            "pair": st.none()
            | st.fixed_dictionaries(
                {
                    "a": st.none() | st.integers(-(2**31), 2**31 - 1),
                    "inner": st.none() | st.fixed_dictionaries({"b": st.none() | TEXT}),
                }
            ),
        }
    ),
    max_size=5,
)


@no_deadline
@given(ROWS)
def test_lines_can_be_parsed_again(rows: list[dict[str, Any]]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, ROW)
    assert [json.loads(line) for line in json_lines(batch).to_pylist()] == rows


@no_deadline
@given(ROWS)
def test_a_slice_of_a_batch_is_encoded_as_that_slice(rows: list[dict[str, Any]]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, ROW).slice(1)
    assert [json.loads(line) for line in json_lines(batch).to_pylist()] == rows[1:]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([datetime(2015, 7, 15, 0, 0, 0, 100)], pa.timestamp("us")), '"2015-07-15T00:00:00.000100Z"'),
        # noon UTC, in a column of another zone
        (
            pa.array([datetime(2020, 1, 1, 12, tzinfo=UTC)], pa.timestamp("ns", "Europe/Berlin")),
            '"2020-01-01T12:00:00.000000Z"',
        ),
        (pa.array([date(2020, 2, 29)]), '"2020-02-29"'),
        (pa.array([Decimal("1.50")]), "1.50"),
        (pa.array([float("nan")]), "null"),
        (pa.array([float("-inf")]), "null"),
        (pa.array([None], pa.timestamp("us")), "null"),
        (pa.array([None], pa.null()), "null"),
        (pa.array(["\x00\x1f\n"]), '"\\u0000\\u001f\\n"'),
    ],
)
def test_encoding_of_each_type(column: pa.Array, expected: str) -> None:
    batch = pa.RecordBatch.from_arrays([column], ["x"])
    assert json_lines(batch).to_pylist() == [f'{{"x":{expected}}}']


def test_the_error_for_an_unsupported_type_names_the_column() -> None:
    batch = pa.RecordBatch.from_pydict({"x": [b"bytes"]})
    with pytest.raises(InvalidInput, match="column 'x', binary, cannot be encoded as JSON"):
        json_lines(batch)


@pytest.mark.parametrize("kind", ["bids", "nexmark", "words", "numbers"])
def test_events_survive_encoding(kind: str) -> None:
    batch = events(kind, seed=3, rate=1000).make(np.arange(100))
    for line, row in zip(json_lines(batch).to_pylist(), batch.to_pylist(), strict=True):
        assert json.loads(line) == plain(row)


def plain(value: Any) -> Any:
    """The value with times as strings."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value
