from tidegate.planner.measurement import Measurement
from tidegate.planner.outliers import contradictions


def points(*pairs: tuple[int, float]) -> list[Measurement]:
    return [Measurement(slots, 512, rate) for slots, rate in pairs]


CURVE = ((1, 100.0), (2, 195.0), (4, 390.0), (8, 740.0), (12, 1080.0), (16, 1400.0))


def test_a_run_far_from_all_others_is_left_out() -> None:
    assert contradictions(points(*CURVE, (16, 300.0))) == [6]


def test_less_than_a_factor_of_two_is_no_contradiction() -> None:
    assert contradictions(points(*CURVE, (16, 800.0))) == []


def test_few_measurements_contradict_nothing() -> None:
    assert contradictions(points(*CURVE[:5], (16, 300.0))) == []
    assert contradictions(points(*((1, 100.0), (2, 200.0)) * 4, (2, 20.0))) == []  # two numbers of slots


def test_at_most_a_fifth_is_left_out() -> None:
    # 10 measurements: 2 at most, the worst first
    data = points(*CURVE, (1, 99.0), (16, 30.0), (8, 20.0), (4, 15.0))
    assert len(contradictions(data)) <= 2
