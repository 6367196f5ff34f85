"""What tests of more than one room share: a real Kafka broker."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tidegate.core import EnvironmentMissing
from tidegate.kafka import Broker

# no example has a deadline: how long one takes depends on what else the machine does
settings.register_profile("tidegate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidegate")

# workers of pytest-xdist have a fixed width, which the console would keep when it is made
os.environ.pop("COLUMNS", None)

#: why there was no broker, for the last lines of the run
_reasons = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One for all tests, which take topics of their own; those that kill one start another."""
    try:
        made = Broker()
    except EnvironmentMissing as error:
        request.config.stash[_reasons] = str(error)
        pytest.skip(str(error))
    with made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _reasons in config.stash:
        terminalreporter.write_line(f"Kafka tests skipped: {config.stash[_reasons]}")
