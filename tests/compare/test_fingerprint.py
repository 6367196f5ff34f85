"""A comparison is another one where a file that it refers to has changed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate.compare.fingerprint import specification
from tidegate.compare.grid import grid


@pytest.mark.parametrize("changed", ["orders.py", "orders.parquet"])
def test_a_changed_query_or_sample_makes_another_comparison(tmp_path: Path, changed: str) -> None:
    app, sample = tmp_path / "orders.py", tmp_path / "orders.parquet"
    app.write_text("def build(df):\n    return df\n")
    pyarrow.parquet.write_table(pa.table({"at": [1]}), sample)
    values = {
        "policies": ["ds2"],
        "jobs": [str(app)],
        "workloads": ["tide"],
        "run": {"engine": "spark", "sample": f"{sample}?time=at", "duration": "1m", "peak": "1k"},
    }
    before = specification(grid(values, "test"))
    assert set(before["files"]) == {str(app), str(sample)}
    (tmp_path / changed).write_bytes(b"\n" + (tmp_path / changed).read_bytes())
    assert specification(grid(values, "test")) != before
