from tidegate.planner.estimator.phases import Measurement
from tidegate.planner.estimator.steadiness import is_steady


def windows(rates: list[float | None], rows: list[float] | None = None) -> list[Measurement]:
    states = rows or [None] * len(rates)
    return [Measurement(10.0, processed_rate=rate, state_rows=state) for rate, state in zip(rates, states, strict=True)]


def test_two_groups_of_windows_are_needed() -> None:
    assert not is_steady(windows([100.0] * 3), group=2, change=0.05)
    assert is_steady(windows([100.0] * 4), group=2, change=0.05)


def test_throughput_may_change_by_so_much_either_way() -> None:
    assert is_steady(windows([100.0, 100.0, 105.0, 105.0]), 2, 0.05)
    assert not is_steady(windows([100.0, 100.0, 105.0, 106.0]), 2, 0.05)
    assert not is_steady(windows([100.0, 100.0, 94.0, 95.0]), 2, 0.05)
    assert not is_steady(windows([100.0, 106.0]), 1, 0.05)


def test_on_a_noisy_machine_throughput_may_change_by_its_standard_error() -> None:
    # 100 and 115; variances 800 and 450: sqrt(1250 / 2) = 25
    assert is_steady(windows([80.0, 120.0, 100.0, 130.0]), 2, 0.05)
    # 100 and 107 with 2 each: sqrt(4 / 2) = 1.4
    assert not is_steady(windows([99.0, 101.0, 106.0, 108.0]), 2, 0.05)
    # 95 and 115, a slope: variances 50 each: sqrt(100 / 2) = 7.1
    assert not is_steady(windows([90.0, 100.0, 110.0, 120.0]), 2, 0.05)


def test_single_windows_may_vary_more() -> None:
    assert is_steady(windows([80.0, 120.0, 110.0, 90.0]), 2, 0.05)


def test_windows_without_a_finished_batch_do_not_count() -> None:
    assert is_steady(windows([100.0, None, 100.0, None, 100.0, 100.0]), 2, 0.05)
    assert not is_steady(windows([100.0, None, 100.0, None, 100.0]), 2, 0.05)


def test_a_window_in_which_nothing_was_processed_is_not_steady() -> None:
    assert not is_steady(windows([0.0] * 4), 2, 0.05)
    assert not is_steady(windows([100.0, 0.0, 100.0, 0.0]), 2, 0.05)


def test_state_that_has_stopped_growing() -> None:
    # 1050 after 1000, then 1060: 6 % more, with a standard error of sqrt(200 / 2) = 10
    assert is_steady(windows([100.0] * 4, [1000, 1000, 1040, 1060]), 2, 0.05)
    assert not is_steady(windows([100.0] * 4, [1000, 1000, 1050, 1070]), 2, 0.05)


def test_state_of_single_windows_may_vary_more() -> None:
    """As where time windows are emptied at every other batch."""
    assert is_steady(windows([100.0] * 4, [800, 1200, 1150, 850]), 2, 0.05)


def test_state_that_grows_with_the_records_takes_nine_windows() -> None:
    # a row for each of the 1000 records of a window
    growing = [1000.0 * (k + 1) for k in range(9)]
    assert not is_steady(windows([100.0] * 8, growing[:8]), 2, 0.05)
    assert is_steady(windows([100.0] * 9, growing), 2, 0.05)


def test_state_may_grow_with_a_changing_rate_too() -> None:
    rates: list[float | None] = [96.0] * 5 + [98.0] * 2 + [100.0] * 2
    rows = [0.0]
    for rate in rates[1:]:
        rows.append(rows[-1] + 5 * 10 * (rate or 0.0))
    assert is_steady(windows(rates, rows), 2, 0.05)


def test_state_that_grows_ever_faster_or_fills_up_is_not_steady() -> None:
    assert not is_steady(windows([100.0] * 9, [float(k**3) for k in range(9)]), 2, 0.05)
    # 100, 150, 175, 187.5 ...: by 19 rows per window, then by 5, of which the last are 3 % of all
    filling = [200 - 200 * 0.8**k for k in range(9)]
    assert not is_steady(windows([100.0] * 9, filling), 2, 0.05)


def test_state_that_some_windows_do_not_know_is_ignored() -> None:
    measured = windows([100.0] * 4)
    assert is_steady([*measured[:3], Measurement(10.0, processed_rate=100.0, state_rows=9e9)], 2, 0.05)
