"""What Spark says to a query that it does not start. No Spark is needed for that."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tidegate.core import InvalidInput
from tidegate.deployment.spark import started


class Writer:
    def start(self) -> Any:
        raise AnalysisException("[STREAMING_OUTPUT_MODE.UNSUPPORTED] no watermark\nin a plan\nof many lines")


def test_a_query_that_spark_does_not_start_is_a_sentence() -> None:
    with pytest.raises(InvalidInput) as refused:
        started(Writer(), "orders.py")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "query orders.py: Spark does not start it: [STREAMING_OUTPUT_MODE.UNSUPPORTED] no watermark"
    )
