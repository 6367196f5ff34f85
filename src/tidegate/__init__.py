"""Tidegate: the executors a Spark streaming query needs, and no more.

with tidegate.attach(query, policy="hpa-cpu", min_executors=1, max_executors=8):
    query.awaitTermination()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Attachment", "__version__", "attach"]

if TYPE_CHECKING:
    from tidegate.attachment import Attachment, attach


def __getattr__(name: str) -> Any:
    """Spark is imported only by those who use it: the command line answers `--help` without."""
    if name in ("Attachment", "attach"):
        from tidegate import attachment  # noqa: PLC0415

        return getattr(attachment, name)
    raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
