"""A job on a cluster, under a load that can be changed: what runs, profiling, planning and fault injection act on.

`simulated` and `spark` have the same shape. A deployment has an `engine` and a `clock` for the driver, is offered
loads, can be started again in another shape, and leaves a trace.
"""

from tidegate.deployment.port import ClusterShape, Deployment

__all__ = ["ClusterShape", "Deployment"]
