"""What a run depends on, and its parts: settings, the simulators set up by them."""

from tidegate.experiment.settings import Experiment, Kafka

__all__ = ["Experiment", "Kafka"]
