"""The events of the papers' other jobs: words, advertisements, vehicles and cars."""

import itertools
import json
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.core import InvalidInput, UnknownName
from tidegate.jobs import KINDS, events
from tidegate.jobs.city import BLOCK, REACH, library
from tidegate.jobs.words import vocabulary

START = 1_436_918_400_000  # ms


def parsed_events(name: str, count: int, rate: float, *, seed: int = 0, skew: str = "default") -> list[dict[str, Any]]:
    batch = events(name, seed=seed, rate=rate, skew=skew).make(np.arange(count))
    return [json.loads(text) for text in batch["value"].to_pylist()]


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(list(KINDS)),
    records=st.lists(st.integers(0, 10**9), min_size=1, max_size=30),
    seed=st.integers(0, 2**63),
)
def test_a_record_does_not_depend_on_other_records(name: str, records: list[int], seed: int) -> None:
    kind = events(name, seed=seed, rate=1000)
    together = kind.make(np.array(records)).to_pylist()
    assert together == [kind.make(np.array([record])).to_pylist()[0] for record in records]


def test_words_follow_zipf_or_are_equally_frequent() -> None:
    def shares(skew: str) -> list[float]:
        lines = events("words", seed=1, rate=1, skew=skew).make(np.arange(20_000))["line"].to_pylist()
        counts = Counter(word for line in lines for word in line.split())
        assert counts.total() == 8 * 20_000
        assert set(counts) <= set(vocabulary().to_pylist())
        return [count / counts.total() for _, count in counts.most_common(2)]

    # 1 / sum of 1/k for k up to 10,000 = 1/9.788 = 0.102, the second half of it; exponent 1.5: 1/2.592 = 0.386
    assert shares("default") == pytest.approx([0.102, 0.051], abs=0.004)
    assert shares("heavy") == pytest.approx([0.386, 0.136], abs=0.006)
    assert shares("off")[0] < 0.0005  # 1/10,000 on average


def test_ysb_events_have_the_seven_fields_of_the_benchmark() -> None:
    ysb_events = parsed_events("ysb", 30_000, 1000)
    fields = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"]
    assert all(list(event) == fields for event in ysb_events)
    assert [ysb_events[k]["event_time"] for k in (0, 1, 29_999)] == [str(START), str(START + 1), str(START + 29_999)]
    kinds = Counter(event["event_type"] for event in ysb_events)
    # a third each; five standard deviations are 5 * sqrt(30,000 * 1/3 * 2/3) = 408
    assert kinds.keys() == {"view", "click", "purchase"}
    assert all(abs(count - 10_000) < 408 for count in kinds.values())
    assert (len({e["ad_id"] for e in ysb_events}), len({e["user_id"] for e in ysb_events})) == (1000, 100)
    sizes = [len(text) for text in events("ysb", seed=0, rate=1000).make(np.arange(1000))["value"].to_pylist()]
    assert 230 <= min(sizes) <= max(sizes) <= 264


def test_ysb_heavy_skew_makes_the_first_ads_hot() -> None:
    counts = Counter(event["ad_id"] for event in parsed_events("ysb", 30_000, 1000, skew="heavy"))
    # 1 / sum of 1/k for k up to 1000 = 1/7.485
    assert counts.most_common(1)[0][1] / 30_000 == pytest.approx(0.1336, abs=0.01)


def test_vehicles_report_once_per_second_and_do_not_share_plates() -> None:
    reports = parsed_events("traffic", 50 * 400, 50)
    tracks = defaultdict(list)
    for k, event in enumerate(reports):
        assert event["ts"] == START + 1000 * (k // 50)
        tracks[event["lp"]].append(event)
    assert len({(event["lp"], event["ts"]) for event in reports}) == len(reports)
    for track in tracks.values():
        assert [event["ts"] - track[0]["ts"] for event in track] == [1000 * k for k in range(len(track))]
        for a, b in itertools.pairwise(track):
            metres = 111_195 * np.hypot(b["pt"]["lt"] - a["pt"]["lt"], (b["pt"]["lg"] - a["pt"]["lg"]) * 0.6085)
            assert metres < 79 / 3.6 + 0.5  # the fastest, with six decimals
    assert len(tracks) > 50  # vehicles finish their routes and are replaced


def test_the_city_is_larger_than_the_radius_of_the_filter() -> None:
    metres = 111_195 * (library().latitude - 52.51623)
    assert np.abs(metres).max() <= BLOCK * REACH + 1
    assert np.abs(metres).max() > 1000


def test_speed_changes_by_5_and_distance_matches_speed() -> None:
    reports = parsed_events("topspeed", 3 * 650, 3)
    tracks = defaultdict(list)
    for event in reports:
        tracks[event["id"]].append(event)
    assert {id: len(track) for id, track in tracks.items()} == dict(zip("012345", [600] * 3 + [50] * 3, strict=True))
    for track in tracks.values():
        speeds = [50, *(event["sd"] for event in track)]
        assert all(abs(b - a) == 5 or a == b in (0, 100) for a, b in itertools.pairwise(speeds))
        # metres of whole seconds at km/h / 3.6
        assert [e["dt"] for e in track] == pytest.approx(np.cumsum(speeds[1:]) / 3.6, abs=0.001)
        assert [e["ts"] for e in track] == [track[0]["ts"] + 1000 * k for k in range(len(track))]


@pytest.mark.parametrize("name", ["traffic", "topspeed"])
def test_events_without_skew_reject_heavy(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        events(name, seed=0, rate=10, skew="heavy")
    assert str(caught.value) == f"events {name}: every key occurs once per second, so skew 'heavy' is not supported"
    with pytest.raises(InvalidInput, match=f"events {name}: need an event rate >= 1 records/s, got 0.5"):
        events(name, seed=0, rate=0.5)


def test_an_unknown_skew_is_an_error() -> None:
    with pytest.raises(UnknownName) as caught:
        events("bids", seed=0, rate=1, skew="hevy")
    assert str(caught.value) == "no skew is named 'hevy'; did you mean 'heavy'? (known: default, heavy, off)"
