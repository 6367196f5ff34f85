"""Streaming queries and their input data, by name."""

from tidegate.core import UnknownName
from tidegate.jobs import nexmark, topspeed, traffic, wordcount, ysb
from tidegate.jobs.application import SUFFIX, application, check_application
from tidegate.jobs.definition import Job
from tidegate.jobs.event_kinds import KINDS, SPARSE, TIMES, Events, events
from tidegate.jobs.sample import PREFIX as SAMPLE
from tidegate.jobs.sample import Sample, Sampled
from tidegate.jobs.skew import Skew

JOBS = {job.name: job for job in (*nexmark.JOBS, wordcount.JOB, ysb.JOB, traffic.JOB, topspeed.JOB)}


def is_application(name: str) -> bool:
    """Whether a job is a user's query, in a Python file."""
    return name.endswith(SUFFIX)


def job(name: str) -> Job:
    """One of Tidegate's jobs, or that in a Python file.

    >>> job("q1").events
    'bids'
    """
    if is_application(name):
        return application(name)
    if name not in JOBS:
        raise UnknownName("job", name, JOBS)
    return JOBS[name]


__all__ = [
    "JOBS",
    "KINDS",
    "SAMPLE",
    "SPARSE",
    "TIMES",
    "Events",
    "Job",
    "Sample",
    "Sampled",
    "Skew",
    "check_application",
    "events",
    "is_application",
    "job",
]
