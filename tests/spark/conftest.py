import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidegate.cluster.session import Cluster, session
from tidegate.sources.embedded import register


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """An embedded cluster with room for three executors, one of them there; a module's tests share it."""
    folder: Path = tmp_path_factory.mktemp("spark")
    with session(Cluster(initial=1, maximum=3, shuffle_partitions=4), folder) as made:
        register(made)
        yield made


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Wait for a condition. The limit is for what never comes: how long things take is the machine's affair."""

    def wait(condition: Callable[[], object], seconds: float = 600.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"did not come true within {seconds:g} s")
            time.sleep(0.25)

    return wait
