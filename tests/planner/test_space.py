import pytest

from tidegate.core import InvalidInput
from tidegate.planner.space import Configuration, Space


def test_four_corners_or_two_or_one() -> None:
    assert Space.of([2, 8, 4], [1.0, 4.0]).corners == (
        Configuration(2, 1.0),
        Configuration(8, 1.0),
        Configuration(2, 4.0),
        Configuration(8, 4.0),
    )
    assert Space.of([2, 8, 4], [1.0]).corners == (Configuration(2, 1.0), Configuration(8, 1.0))
    assert Space.of([4], [1.0, 2.0, 4.0]).corners == (Configuration(4, 1.0), Configuration(4, 4.0))
    assert Space.of([4], [1.0]).corners == (Configuration(4, 1.0),)


def test_the_paper_s_example_has_312_configurations() -> None:
    # 9 operators on 48 cores, "39 possible values for slots" (10 to 48), 512 MB to 4 GB in steps of 512 MB
    assert len(list(Space.of(range(10, 49), range(512, 4097, 512)))) == len(
        Space.of(range(10, 49), range(512, 4097, 512))
    )
    assert len(Space.of(range(10, 49), range(512, 4097, 512))) == 312


@pytest.mark.parametrize(
    ("slots", "memory", "sentence"),
    [
        ([], [1.0], "exploration: need slots and memory to choose from, got 0 and 1"),
        ([0, 2], [1.0], "exploration: need whole numbers of slots >= 1, got 0, 2"),
        ([2], [1.0, -1.0], "exploration: need finite memory > 0, got 1, -1"),
    ],
)
def test_impossible_spaces_are_refused(slots: list[int], memory: list[float], sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Space.of(slots, memory)
    assert str(error.value) == sentence
