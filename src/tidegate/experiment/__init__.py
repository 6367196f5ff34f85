"""One run: a job under a workload with a policy, on real Spark, stored as it goes and scored at its end."""

from tidegate.experiment.live import Outcome, run
from tidegate.experiment.settings import Experiment, Kafka

__all__ = ["Experiment", "Kafka", "Outcome", "run"]
