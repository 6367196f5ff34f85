"""Queries and their data, by name."""

from tidegate.core import UnknownName
from tidegate.jobs.events import Events, events
from tidegate.jobs.job import Job
from tidegate.jobs.nexmark import JOBS as NEXMARK

JOBS = {job.name: job for job in NEXMARK}


def job(name: str) -> Job:
    """
    >>> job("q1").events
    'bids'
    """
    if name not in JOBS:
        raise UnknownName("job", name, JOBS)
    return JOBS[name]


__all__ = ["JOBS", "Events", "Job", "events", "job"]
