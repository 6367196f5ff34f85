import pytest

from tidegate.core import InvalidInput
from tidegate.planner.needs.peak import Peak, absorbed, peak_of
from tidegate.workloads import Constant, Ramp, Steps


def test_a_short_burst_counts_for_its_share_of_the_window() -> None:
    load = Steps(duration=60, levels=(100.0, 100.0, 400.0, 100.0, 100.0, 100.0))
    # 10 s of 400/s and 10 s of 100/s: 5,000 records in 20 s; first where it ends with the burst
    assert peak_of(load, 20.0) == Peak(rate=250.0, window=20.0, start=10.0)
    assert peak_of(load, 10.0) == Peak(rate=400.0, window=10.0, start=20.0)
    # 4 s fit into the burst
    assert peak_of(load, 4.0) == Peak(rate=400.0, window=4.0, start=20.0)


def test_the_whole_trace_may_be_the_window() -> None:
    # (100 + 300) / 2
    assert peak_of(Steps(duration=60, levels=(100.0, 300.0)), 60.0) == Peak(rate=200.0, window=60.0, start=0.0)


def test_loads_that_are_no_table_are_looked_at_each_second() -> None:
    # from 0 to 600/s in 60 s: between second 50 and 60 the mean is 550
    assert peak_of(Ramp(duration=60, first=0, last=600), 10.0).rate == pytest.approx(550.0)
    assert peak_of(Constant(duration=9.5, level=7.0), 4.0) == Peak(rate=7.0, window=4.0, start=0.0)


def test_what_an_slo_absorbs() -> None:
    # a record takes up to 2 * 10 s anyway
    assert absorbed(trigger=10.0, slo=60.0) == 40.0
    assert absorbed(trigger=10.0, slo=25.0) == 10.0
    assert absorbed(trigger=10.0) == 10.0


def test_a_trace_that_is_shorter_than_a_window() -> None:
    with pytest.raises(InvalidInput) as refused:
        peak_of(Steps(duration=3, levels=(5.0, 6.0, 7.0)), 4.0, "trace day.csv")
    assert str(refused.value) == "trace day.csv: need at least 4 s, for which a peak is to last, it has 3"


def test_loads_without_records_and_windows_without_length() -> None:
    with pytest.raises(InvalidInput, match=r"^trace: need records for a peak, all rates are 0$"):
        peak_of(Constant(duration=60, level=0.0), 4.0)
    with pytest.raises(InvalidInput, match=r"^trace: need a peak that lasts for more than 0 s, got 0$"):
        peak_of(Constant(duration=60, level=1.0), 0.0)
