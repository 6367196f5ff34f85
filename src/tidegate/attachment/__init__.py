"""Attach an autoscaler to a query that already runs, whatever its source."""

from tidegate.attachment.attaching import attach
from tidegate.attachment.attachment import Attachment
from tidegate.attachment.settings import Settings, bounds

__all__ = ["Attachment", "Settings", "attach", "bounds"]
