"""Settings of a run, and the simulators configured from them."""

from tidegate.experiment.settings import Experiment, Kafka

__all__ = ["Experiment", "Kafka"]
