"""The papers' queries: what is published comes out again."""

import pytest

from tidegate.core import UnknownName
from tidegate.sim.papers import PAPERS, paper_query


def test_every_query_says_where_its_numbers_come_from() -> None:
    for name, query in PAPERS.items():
        assert query.graph.name == name
        assert query.origin
        assert query.paper
        assert len(query.graph.operators) <= query.start <= query.most


def test_daedalus_measured_capacities_come_out() -> None:
    ysb = paper_query("daedalus-ysb").graph
    assert ysb.capacity_of(1) == pytest.approx(62_600)
    assert ysb.capacity_of(12) == pytest.approx(488_000)
    # peaks of 40k, 100k and 150k, and 488/400 of them with 12 workers
    capacities = {name: PAPERS[f"daedalus-{name}"].graph.capacity_of(12) for name in ("wordcount", "traffic")}
    assert capacities == {"wordcount": pytest.approx(48_800), "traffic": pytest.approx(122_000)}
    assert PAPERS["daedalus-kafka-streams"].graph.capacity_of(12) == pytest.approx(183_000)


def test_phoebes_capacities() -> None:
    assert paper_query("phoebe-ysb").graph.capacity_of(4) == 42_500
    measured = {2: 36_522, 5: 83_495, 8: 129_612, 11: 195_827, 14: 220_976, 17: 288_421, 20: 319_741, 23: 369_729}
    through_zero = sum(s * t for s, t in measured.items()) / sum(s * s for s in measured)
    tsw = paper_query("phoebe-tsw").graph
    assert tsw.capacity_of(1) == pytest.approx(through_zero, rel=1e-4)
    assert all(tsw.capacity_of(s) == pytest.approx(t, rel=0.12) for s, t in measured.items())
    assert tsw.capacity_of(30) == tsw.capacity_of(24)  # partitions


def test_the_cosines_peak_on_q11() -> None:
    # 2.3M/s, and the slowest subtask: source 2.3M x 1.075 / 408,556 = 6.05; window 2.3M x 0.9711 x 1.128 / 238,697 =
    # 10.55; sink 2.3M x 0.0227 / 3.15M = 0.02
    q11 = paper_query("espa-q11").graph
    assert q11.capacity({"source": 7, "window": 11, "sink": 1}) > 2_300_000
    assert q11.capacity({"source": 6, "window": 11, "sink": 1}) < 2_300_000
    assert q11.capacity({"source": 7, "window": 10, "sink": 1}) < 2_300_000


def test_saturated_operators_show_the_logged_cpu() -> None:
    source, window, _ = paper_query("espa-q11").graph.operators
    assert source.cpu / (1 + source.skew) == pytest.approx(0.95)
    assert window.cpu / (1 + window.skew) == pytest.approx(0.94)


def test_selectivities_by_arithmetic() -> None:
    # 1 of 4 is a person, half of those pass; with 0.75 auctions 0.875 come to the join
    assert paper_query("espa-q3").graph.ratios == pytest.approx((0.25, 0.75, 0.25, 0.875, 0.375))
    assert paper_query("espa-q2").graph.ratios[2] == pytest.approx(0.0034476, rel=1e-4)
    # 1 / (0.25 / 37,587 + 0.75 / 95,938 + 0.41625 / 31,260) = 1 / (6.651 + 7.818 + 13.316 millionths)
    assert paper_query("espa-q8").graph.operators[2].rate == pytest.approx(35_991, rel=1e-4)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'espa-q11'"):
        paper_query("espa-q111")
