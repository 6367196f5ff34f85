"""Names of the metrics that a query observes and that appear in its progress reports."""

from __future__ import annotations

#: metrics of a source's records: their creation times, and the number of malformed rows
RECORDS = "tidegate_records"
