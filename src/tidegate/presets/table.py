"""Every policy that has a name, with the guards that its source has."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.policies import (
    Daedalus,
    Dhalion,
    Ds2,
    DStreams,
    FlinkOperator,
    HpaCpu,
    HpaVarga,
    KedaLag,
    Phoebe,
    SparkDra,
    Static,
    Twres,
)
from tidegate.presets.definition import Options, Preset

KUBERNETES = {"down-window": 300.0, "step-up": 4, "step-factor": 2.0}
#: as deployed in the experiments of the DEBS'24 paper; its HPA variants have their window instead of a cooldown
DEBS = {"cooldown-up": 300.0, "cooldown-down": 300.0, "step-up": 15}
#: fixed numbers, and systems that know neither partitions nor a time in which executors arrive
AS_IS: Options = {"ceiling": 0, "arriving": 0.0}

PRESETS: Mapping[str, Preset] = {
    "static": Preset("always the same number (0: the maximum)", "every comparison's baseline", Static, AS_IS),
    "hpa-cpu": Preset(
        "ceil(current x CPU / target), down after a window", "Kubernetes; DEBS'24 4.3", HpaCpu,
        {**KUBERNETES, "arriving": 0.0},
    ),
    "hpa-varga": Preset(
        "Kubernetes' rule on utilisation and growth of the lag", "Varga et al.; DEBS'24 4.4", HpaVarga,
        {"down-window": 300.0, "step-up": 15},
    ),
    "ds2": Preset("rate that arrives over true rate of an operator's instance", "DS2; DEBS'24 4.2", Ds2, DEBS),
    "dhalion": Preset(
        "more where backpressure has its root, fewer where queues are empty", "Dhalion; DEBS'24 4.1", Dhalion, DEBS
    ),
    "daedalus": Preset("capacity by CPU regression, ARIMA forecast, recovery in time", "ICPE'24", Daedalus),
    "phoebe": Preset("smallest number with normal latency that recovers in time, from a profile", "ICWS'22", Phoebe),
    "twres": Preset("smallest number that can do the forecast of a time window, from a profile", "ICWS'22 IV-C", Twres),
    "flink-reactive": Preset(
        "Kubernetes' rule at 35 % CPU, the advice for Flink's reactive mode", "ICWS'22 IV-C", HpaCpu,
        {**KUBERNETES, "arriving": 0.0, "target": 0.35},
    ),
    "flink-operator": Preset(
        "true processing rate, catch-up, restart time, utilisation band", "Flink Kubernetes operator", FlinkOperator
    ),
    "keda-lag": Preset("ceil(lag / threshold)", "KEDA's Kafka trigger", KedaLag, {**KUBERNETES, "arriving": 0.0}),
    "spark-dra": Preset("pending tasks and idle time", "Spark's dynamic allocation", SparkDra, AS_IS),
    "dstreams": Preset("batch time over interval", "Spark Streaming's dynamic allocation", DStreams, AS_IS),
}  # fmt: skip
