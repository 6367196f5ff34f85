"""The examples, run as their first lines say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]


@pytest.mark.proof
def test_attach_from_spark_submit_sends_the_executor_away_that_is_not_needed(tmp_path: Path) -> None:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    memory = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"]
    quiet = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    start = [str(submit), "--master", "local-cluster[2,1,800]", *memory, *quiet, str(ROOT / "examples" / "attach.py")]
    for seconds in (55, 300):  # where everything takes longer, the longer one shows it
        done = subprocess.run(
            [*start, str(seconds)], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found = re.search(r"^(\d+) executors at the end, (\d+) records/s arrived", done.stdout, re.MULTILINE)
        assert found
        if found.group(1) == "1":
            break
    assert re.search(r"^2 -> 1: ", done.stdout, re.MULTILINE)
    assert found.group(1) == "1"
    assert int(found.group(2)) == pytest.approx(10_000, rel=0.2)
