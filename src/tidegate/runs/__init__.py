"""What a run is and what came of it, as frozen values: the same in the store, in files, in reports and in programs."""

from tidegate.runs.codec import decode, encode
from tidegate.runs.result import KafkaCounts, LateStretch, ProfilingCost, RunResult, SinkCounts
from tidegate.runs.spec import KafkaSettings, RunSpec

__all__ = [
    "KafkaCounts",
    "KafkaSettings",
    "LateStretch",
    "ProfilingCost",
    "RunResult",
    "RunSpec",
    "SinkCounts",
    "decode",
    "encode",
]
