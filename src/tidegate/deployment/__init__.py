"""Deployments: a job on a cluster under a changeable load, used by runs, profiling, planning and fault injection.

`simulated` and `spark` have the same interface. A deployment has an `engine` and a `clock` for the control loop, can be
offered loads, can be redeployed in another shape, and provides a trace.
"""

from tidegate.deployment.port import ClusterShape, Deployment

__all__ = ["ClusterShape", "Deployment"]
