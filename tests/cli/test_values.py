import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.cli.values import options
from tidegate.core import InvalidInput
from tidegate.core.amounts import duration, rate


def refusal(call: object, value: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        call(value)  # type: ignore[operator]
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        (" 90 ", 90),
        ("90s", 90),
        ("500ms", 0.5),
        ("3m", 180),
        ("3min", 180),
        ("3 min", 180),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1h 30min 5s", 5405),
        ("2d", 172_800),
        ("3M", 180),
        ("0s", 0),
    ],
)
def test_durations_in_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "s", "-5s", "5x", "3m5", "1h,30m", "1e3s", "3 m 5 parsecs", "1.2.3s"])
def test_what_is_no_duration_is_told_by_example(text: str) -> None:
    assert refusal(duration, text) == f"duration {text!r} is not like 90s, 3m or 1h30m"


@given(hours=st.integers(0, 99), minutes=st.integers(0, 59), seconds=st.integers(0, 59))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert duration(f"{hours}h{minutes}m{seconds}s") == 3600 * hours + 60 * minutes + seconds


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("800", 800),
        ("250k", 250_000),
        ("250K", 250_000),
        ("1.2M", 1_200_000),
        ("1.2m", 1_200_000),
        (" 5 k ", 5000),
        ("5k/s", 5000),
    ],
)
def test_rates_in_records_per_second(text: str, records: float) -> None:
    assert rate(text) == records


@pytest.mark.parametrize("text", ["", "fast", "-5", "5g", "k", "1e5", "5k/min"])
def test_what_is_no_rate_is_told_by_example(text: str) -> None:
    assert refusal(rate, text) == f"rate {text!r} is not like 5000, 250k or 1.2M records/s"


def test_options_are_text_for_the_policy_to_judge() -> None:
    given_options = [" window = 10s", "excluded=Mon-Fri 08:00-10:00, 12:00-13:00", "target=70%", "profile=", "each=5m"]
    assert options(given_options) == {
        "window": "10s",
        "excluded": "Mon-Fri 08:00-10:00, 12:00-13:00",
        "target": "70%",
        "profile": "",
        "each": "5m",  # 300 s, or 5 million records/s: the policy knows
    }
    assert options([]) == {}
    assert options(["target=0.8", "target=0.9"]) == {"target": "0.9"}  # the last one counts


def test_what_is_no_option_is_told() -> None:
    assert refusal(options, ["target"]) == "policy option 'target' is not NAME=VALUE"
