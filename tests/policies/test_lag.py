import pytest

from tidegate.core import Batch, Observation
from tidegate.policies.lag import behind, trigger_wait
from tidegate.progress import ProgressLog


@pytest.mark.parametrize(
    ("trigger", "took", "lag"),
    [
        (4.0, 1.5, 200.0),  # 1000 - 2 * 4 * 100
        (1.5, 4.0, 200.0),
        (None, 3.0, 400.0),
        (3.0, None, 400.0),
        (None, None, 1000.0),
        (5.0, 1.0, 0.0),
        (6.0, 1.0, 0.0),
    ],
)
def test_what_arrives_in_two_cycles_is_no_lag(trigger: float | None, took: float | None, lag: float) -> None:
    obs = Observation(0, 1, 1, backlog=1000.0, arrival_rate=100.0, trigger=trigger, batch_duration=took)
    assert behind(obs) == lag


def test_without_arrivals_all_is_lag_and_without_a_backlog_nothing_is_known() -> None:
    assert behind(Observation(0, 1, 1, backlog=1000.0, trigger=4.0)) == 1000
    assert behind(Observation(0, 1, 1, arrival_rate=100.0)) is None


@pytest.mark.parametrize(
    ("trigger", "pause", "wait"),
    [(60.0, 48.0, 60.0), (10.0, 1.1, 10.0), (10.0, 1.0, 0.0), (10.0, 0.0, 0.0), (10.0, None, 0.0), (None, 3.0, 0.0)],
)
def test_a_query_that_pauses_waits_for_its_trigger(trigger: float | None, pause: float | None, wait: float) -> None:
    assert trigger_wait(Observation(0, 1, 1, trigger=trigger, pause=pause)) == wait


def test_a_pause_is_from_the_end_of_a_batch_to_the_next_one() -> None:
    log, pauses = ProgressLog(), []
    # the third took 75 s, so that the fourth follows at once; the report of the fifth was lost
    for id, planned, finished in [(0, 0, 12), (1, 60, 70), (2, 120, 195), (3, 195, 235), (5, 300, 310), (6, 305, 312)]:
        log.finish(Batch(id, float(planned), float(finished), 0.0, 1.0))
        pauses.append(log.pause)
    assert pauses == [None, 48, 50, 0, None, 0]
