"""NEXMark: persons, auctions and bids, and queries over them."""

from tidegate.jobs.nexmark.bids import Bids
from tidegate.jobs.nexmark.queries import JOBS
from tidegate.jobs.nexmark.stream import Nexmark

__all__ = ["JOBS", "Bids", "Nexmark"]
