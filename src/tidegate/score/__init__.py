"""Scores of runs. `recorder` turns the ticks of a loop into a trace and `figures` scores it, in the same way for real,
attached, replayed and simulated runs; `RollingScore` does so for runs of any length, in bounded memory. `oracle`
computes the best possible schedule to compare with.
"""

from tidegate.score.figures import Figures, Objective, figures
from tidegate.score.recorder import TraceRecorder, trace_from_ticks
from tidegate.score.rolling import RollingScore
from tidegate.score.trace import Cumulative, Finished, Move, RunTrace

__all__ = [
    "Cumulative",
    "Figures",
    "Finished",
    "Move",
    "Objective",
    "RollingScore",
    "RunTrace",
    "TraceRecorder",
    "figures",
    "trace_from_ticks",
]
