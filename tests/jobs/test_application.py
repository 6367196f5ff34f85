"""A query of one's own as a job."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidegate.core import InvalidInput, TidegateError
from tidegate.experiment import Experiment
from tidegate.jobs import job

APP = '''"""Orders of each shop in a minute."""

mode, key = "update", ["shop"]


def build(orders):
    return orders.groupBy("shop").count()
'''


def app(folder: Path, text: str = APP) -> str:
    file = folder / "orders.py"
    file.write_text(text)
    return str(file)


def test_a_file_is_a_job(tmp_path: Path) -> None:
    own = job(app(tmp_path))
    assert (own.name, own.summary, own.mode, own.key, own.closed_by) == (
        "orders", "Orders of each shop in a minute.", "update", ("shop",), None,
    )  # fmt: skip


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    assert job(app(tmp_path)).mode == "update"
    assert job(app(tmp_path, 'closed_by = "end"\ndef build(df):\n    return df\n')).closed_by == "end"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "need a function build"),
        ("build = 1", "need a function build"),
        ("import nowhere_to_be_seen", "fails when it is imported: ModuleNotFoundError"),
        ("def build(", "fails when it is imported: SyntaxError"),
        ("raise SystemExit(3)", "fails when it is imported: SystemExit"),
        ('mode = "complete"\ndef build(df): return df', "mode of the app"),
        ("mode = 1\ndef build(df): return df", "need text for mode, got 1"),
        ('mode = "update"\ndef build(df): return df', "need the columns that identify a row"),
        ("key = 5\ndef build(df): return df", "need names of columns for key, got 5"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TidegateError, match=sentence):
        job(app(tmp_path, text))


def test_a_missing_file() -> None:
    with pytest.raises(InvalidInput, match=r"app nowhere\.py: cannot be read: No such file"):
        job("nowhere.py")


def test_a_run_needs_records_for_it_and_has_them_from_the_sample(tmp_path: Path) -> None:
    file = app(tmp_path)
    with pytest.raises(InvalidInput, match=r"need a sample of records for .*orders\.py"):
        Experiment(job=file)
    pyarrow.parquet.write_table(pa.table({"at": [1_700_000_000], "shop": ["a"]}), tmp_path / "orders.parquet")
    sample = f"{tmp_path}/orders.parquet?time=at"
    assert Experiment(job=file, sample=sample).source_options()["events"] == f"sample:{sample}"
    with pytest.raises(InvalidInput, match="q1 has its own records"):
        Experiment(job="q1", sample=sample)
