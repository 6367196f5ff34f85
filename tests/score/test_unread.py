"""Records of a portion that no task read."""

import numpy as np

from tidegate.score.latency import unread
from tidegate.score.trace import Finished


def portions(*rows: float | None) -> Finished:
    """Portions of 100 records each, of which so many rows were read."""
    begins = 100.0 * np.arange(len(rows))
    read = None if None in rows else np.array(rows, dtype=float)
    return Finished(begins + 10.0, begins, begins + 100.0, rows=read)


def test_a_single_record_counts_and_a_fraction_of_one_does_not() -> None:
    assert unread(portions(99)) == 1
    assert unread(portions(99.5)) == 0  # simulated record counts are not whole numbers
    assert unread(portions(100, 97, 100)) == 3


def test_rows_that_were_read_twice_make_up_for_none_that_was_not() -> None:
    assert unread(portions(120, 90)) == 10


def test_rows_that_are_not_counted_are_not_missing() -> None:
    assert unread(portions(None)) == 0
