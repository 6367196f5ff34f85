from tidegate.spark.skew import SkewMeter

EACH = {"1": 2, "2": 2, "3": 2}
EVEN = {"1": 100, "2": 110, "3": 90}
HOT = {"1": 800, "2": 100, "3": 100}


def kinds(meter: SkewMeter, *batches: dict[str, int], partitions: dict[str, int] = EACH) -> list[str]:
    return [
        event.kind for number, records in enumerate(batches) for event in meter.read(number, records, partitions, 1)
    ]


def test_records_that_are_spread_are_no_skew() -> None:
    meter = SkewMeter()
    assert (kinds(meter, *[EVEN] * 9), meter.ceiling) == ([], None)


def test_a_hot_partition_is_told_once_after_three_batches() -> None:
    meter = SkewMeter()
    assert (kinds(meter, HOT, HOT), meter.ceiling) == ([], None)
    (event,) = meter.read(2, HOT, EACH, 1)
    # the others have 50 per partition, so the hot one has 750 of 1000: 1.3 executors' worth while it is worked on
    assert event.message == "a state partition of executor 1 gets 75% of the records: more than 2 executors cannot help"
    assert (kinds(meter, HOT, HOT), meter.ceiling) == ([], 2)


def test_who_holds_more_partitions_may_read_more() -> None:
    partitions = {"1": 6, "2": 2, "3": 2}
    assert kinds(SkewMeter(), *[HOT] * 5, partitions=partitions) == []  # 133, 50 and 50 per partition
    assert kinds(SkewMeter(), *[HOT] * 5, partitions={"1": 4, "2": 2, "3": 2}) == ["StateSkewed"]  # 200, 50 and 50


def test_three_times_as_much_as_the_others_is_not_yet_skew() -> None:
    meter = SkewMeter()
    assert kinds(meter, *[{"1": 300, "2": 100, "3": 100}] * 5) == []
    assert kinds(meter, *[{"1": 301, "2": 100, "3": 100}] * 3) == ["StateSkewed"]


def test_an_executor_that_reads_nothing_counts() -> None:
    assert kinds(SkewMeter(), *[{"1": 150, "2": 100}] * 3) == []  # 75, 50 and 0 per partition: thrice the 25 of others
    assert kinds(SkewMeter(), *[{"1": 152, "2": 100}] * 3) == ["StateSkewed"]


def test_a_batch_without_skew_ends_it() -> None:
    meter = SkewMeter()
    kinds(meter, HOT, HOT, HOT)
    assert (kinds(meter, EVEN), meter.ceiling) == ([], None)
    assert kinds(meter, HOT, HOT) == []
    assert kinds(meter, HOT) == ["StateSkewed"]


def test_what_was_counted_on_other_executors_does_not_count() -> None:
    meter = SkewMeter()
    kinds(meter, HOT, HOT, HOT)
    meter.forget()
    assert (kinds(meter, HOT, HOT), meter.ceiling) == ([], None)
    assert (kinds(meter, HOT), meter.ceiling) == ([], 2)  # and it is not told again


def test_one_executor_and_no_records_are_never_skewed() -> None:
    assert kinds(SkewMeter(), *[{"1": 500}] * 5, partitions={"1": 4}) == []
    assert kinds(SkewMeter(), *[dict[str, int]()] * 5) == []


def test_a_few_records_are_never_even() -> None:
    meter = SkewMeter()
    assert (kinds(meter, *[{"1": 1}] * 9), meter.ceiling) == ([], None)
    assert kinds(meter, *[{"1": 119}] * 9) == []  # 20 for each of six partitions would be enough
    assert kinds(meter, *[{"1": 120}] * 3) == ["StateSkewed"]


def test_another_executor_each_time_is_no_hot_partition() -> None:
    other = {"1": 100, "2": 800, "3": 100}
    assert kinds(SkewMeter(), *[HOT, other] * 5) == []


def test_an_executor_with_more_cores_works_on_others_meanwhile() -> None:
    meter = SkewMeter()
    for batch in range(3):
        meter.read(batch, {"1": 400, "2": 50, "3": 50}, {"1": 1, "2": 1, "3": 1}, cores=2)
    assert meter.ceiling == 1  # 1.25 partitions' worth: two slots, which are those of one executor
