"""A user's query as a job."""

from __future__ import annotations

import sys
from pathlib import Path
from pickle import loads

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.cloudpickle import dumps

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
        ("def build(", "orders.py, line 1: .* was never closed"),
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


def test_functions_of_these_names_are_no_settings(tmp_path: Path) -> None:
    own = job(app(tmp_path, "from pyspark.sql.functions import *\nkey = None\ndef build(df):\n    return df\n"))
    assert (own.mode, own.key) == ("append", ())


def test_modules_beside_the_file_can_be_imported_and_travel_with_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_app.py").write_text("def twice(x):\n    return 2 * x\n")
    own = job(app(tmp_path, "import beside_the_app\ntwice = beside_the_app.twice\ndef build(df):\n    return df\n"))
    assert own.name == "orders"
    pickled = dumps(sys.modules["beside_the_app"].twice)
    del sys.modules["beside_the_app"]
    assert str(tmp_path) not in sys.path
    assert loads(pickled)(3) == 6


def test_a_build_that_fails_is_a_sentence(tmp_path: Path) -> None:
    text = "def build(df):\n    return df['nowhere']\n"
    with pytest.raises(InvalidInput, match=r"orders\.py: build fails: KeyError: 'nowhere'"):
        job(app(tmp_path, text)).build({})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="need a DataFrame from build, got NoneType"):
        job(app(tmp_path, "def build(df):\n    pass\n")).build({})  # type: ignore[arg-type]


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
