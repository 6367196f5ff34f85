"""Figures of a run as text, where unknown is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.units import UNKNOWN, seconds

if TYPE_CHECKING:
    from tidegate.score.figures import Latency


def latency_text(latency: Latency | None, level: str = "p95") -> str:
    """A percentile of the latency; unknown if no record has one.

    >>> from tidegate.score.figures import Latency
    >>> latency_text(Latency(2.0, 2.0, 4.26, 5.0, 6.0)), latency_text(None), latency_text(Latency(0, 0, 0, 0, 0))
    ('4.3 s', '—', '—')
    """
    return seconds(getattr(latency, level)) if known(latency) else UNKNOWN


def known(latency: Latency | None) -> bool:
    """Whether records have a latency. No record takes no time: a slowest one of 0 s means that no times are known."""
    return latency is not None and latency.max > 0
