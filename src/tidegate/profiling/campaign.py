"""An exploration carried out: for each configuration that it asks for, a capacity search on a deployment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tidegate.deployment.simulated import SimulatedDeployment
from tidegate.experiment.settings import Experiment
from tidegate.planner.estimator.search_settings import SearchSettings
from tidegate.planner.explorer import Exploration, Question
from tidegate.profiling.machine_load import this_machine
from tidegate.profiling.search_run import OPENING, Searcher, SearchRun, configured
from tidegate.profiling.testbed import Testbed

#: told each search after it has ended, with the exploration that contains it
OnProbe = Callable[[Exploration, SearchRun], None]
#: the number of configurations that were not measured yet beyond which a search does not care about them
MOST_DUE = 5


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is explored, and how."""

    searcher: Searcher
    on_probe: OnProbe = lambda exploration, run: None

    def run(self, exploration: Exploration) -> Exploration:
        """The exploration with all answers, within its budget. It goes on after a query has failed, and ends where a
        testbed cannot be opened.
        """
        while isinstance(question := exploration.ask(), Question):
            settings = self._settings(exploration)
            if settings is None:
                break
            expected = _expected(exploration, question)
            run = self.searcher.run(question, expected, settings, repetition=len(exploration.probes))
            exploration = exploration.tell(run.probe(question))
            self.on_probe(exploration, run)
        return exploration

    def _settings(self, exploration: Exploration) -> SearchSettings | None:
        """Those of the next search, which takes its share of the time that is left: what the configurations that were
        not measured yet leave to it. None if there is not enough for a search.
        """
        if not exploration.rules.minutes:
            return self.searcher.usual
        left = 60 * (exploration.rules.minutes - exploration.minutes)
        probed = {probe.configuration for probe in exploration.probes}
        due = min(MOST_DUE, sum(configuration not in probed for configuration in exploration.space))
        return self.searcher.within(left, left / max(1, due) - OPENING)


def _expected(exploration: Exploration, question: Question) -> float | None:
    """In proportion to the measurement with the closest number of slots. None without any."""
    if not exploration.measurements:
        return None
    nearest = min(exploration.measurements, key=lambda m: abs(m.slots - question.slots))
    return nearest.rate * question.slots / nearest.slots


@contextmanager
def simulated_testbed(e: Experiment) -> Iterator[Testbed]:
    def begin(rate: float) -> Testbed:
        deployment = SimulatedDeployment(configured(e, e.maximum * e.cores, rate))
        return Testbed(deployment, e.maximum, e.trigger, restart=begin)

    yield begin(e.peak)


@contextmanager
def spark_testbed(e: Experiment) -> Iterator[Testbed]:
    """A Spark session of its own, whose executors are warm and under their quota."""
    from tidegate.cluster.session import workspace  # noqa: PLC0415, imports Spark
    from tidegate.deployment.replayed import connector_jars, replayed_feed  # noqa: PLC0415
    from tidegate.deployment.spark import SparkDeployment, spark_host, warm_up  # noqa: PLC0415

    with workspace() as folder, spark_host(e, folder, connector_jars(e)) as host, ExitStack() as deployed:
        warm_up(host, e, bind=True)

        def begin(rate: float) -> Testbed:
            deployed.close()
            expected = configured(e, e.maximum * e.cores, rate)
            feed = deployed.enter_context(replayed_feed(expected)) if expected.kafka else None
            deployment = SparkDeployment(host, expected, feed)
            deployed.callback(deployment.close)
            deployment.start()
            testbed = Testbed(deployment, e.maximum, e.trigger, deployment.resume, begin)
            # only the executors of an embedded cluster are on this machine for certain
            testbed.machine = this_machine if e.master is None else None
            return testbed

        yield begin(e.peak)
