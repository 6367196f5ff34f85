"""Streaming queries and their input data, by name."""

from tidegate.core import UnknownName
from tidegate.jobs import nexmark, topspeed, traffic, wordcount, ysb
from tidegate.jobs.definition import Job
from tidegate.jobs.event_kinds import KINDS, SPARSE, Events, events
from tidegate.jobs.skew import Skew

JOBS = {job.name: job for job in (*nexmark.JOBS, wordcount.JOB, ysb.JOB, traffic.JOB, topspeed.JOB)}


def job(name: str) -> Job:
    """
    >>> job("q1").events
    'bids'
    """
    if name not in JOBS:
        raise UnknownName("job", name, JOBS)
    return JOBS[name]


__all__ = ["JOBS", "KINDS", "SPARSE", "Events", "Job", "Skew", "events", "job"]
