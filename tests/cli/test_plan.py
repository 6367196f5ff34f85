"""`tidegate plan` on a simulated testbed."""

import fcntl
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate.cli import main
from tidegate.core import QueryFailed
from tidegate.experiment import Experiment
from tidegate.planner.estimator.phases import Measurement, Phase
from tidegate.profiling import campaign
from tidegate.profiling.machine_load import CpuTimes
from tidegate.profiling.testbed import Testbed
from tidegate.sim.batch_model import BatchModel, text

Command = Callable[..., Any]
MODEL = BatchModel("plain", fixed=0.5, overhead=0.0, cost=1e-4, tasks=24, cold=0.0, noise=0.02)
#: with state, so that there are more questions
KEYED = replace(MODEL, stages=2, first=0.5, state=2.0, overhead=0.01)
PLAIN_WORDS = ("plan", "--engine", "sim", "--model", "m.json", "--testbed", "1-6", "--budget", "1h")
KEYED_WORDS = ("plan", "--engine", "sim", "--model", "k.json", "--testbed", "2-4", "--budget", "70m")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[BatchModel], Path]:
    """A folder with the measurements of a model, made once, as the searches take longer than all else."""
    folders: dict[str, Path] = {}

    def folder(model: BatchModel) -> Path:
        words, name = (KEYED_WORDS, "k.json") if model is KEYED else (PLAIN_WORDS, "m.json")
        if name not in folders:
            made = folders[name] = tmp_path_factory.mktemp("measured")
            (made / name).write_text(text(model))
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(made)
                patch.setattr(sys, "argv", ["tidegate", *words, "--rate", "20k", "--no-trial"])
                with suppress(SystemExit):
                    main()
        return folders[name]

    return folder


@pytest.fixture
def plan(tidegate: Command, tmp_path: Path) -> Command:
    (tmp_path / "m.json").write_text(text(MODEL))
    return lambda *words: tidegate(*PLAIN_WORDS, *words)


@pytest.fixture
def copied(
    tmp_path: Path, measured: Callable[[BatchModel], Path], capsys: pytest.CaptureFixture[str]
) -> Callable[[BatchModel], None]:
    """Put the measurements of a model into the folder of the test."""

    def copy(model: BatchModel) -> None:
        shutil.copytree(measured(model), tmp_path, dirs_exist_ok=True)
        capsys.readouterr()  # what the first test of a model printed while it was measured

    return copy


@pytest.fixture
def known(tidegate: Command, copied: Callable[[BatchModel], None]) -> Command:
    """Like `plan`, and measured already."""
    copied(MODEL)
    return lambda *words: tidegate(*PLAIN_WORDS, *words)


def test_a_plan_for_a_rate(plan: Command) -> None:
    ended = plan("--rate", "50k", "--price", "0.05")
    assert ended.code == 0
    assert "spark-submit --num-executors" in ended.out
    assert "of the trigger" in ended.out
    assert ".trigger(processingTime='4 seconds')" in ended.out
    assert "tidegate.attach(query, min_executors=1, max_executors=" in ended.out
    assert "a month" in ended.out
    values = json.loads(plan("--rate", "50k", "--output", "json").out)
    # 3.5 of 4 s for 10,000 a second on each: 8,750/s each, and 6 for 50,000/s
    assert values["planned"]
    assert 6 <= values["slots"] <= 7
    assert values["interval"]["low"] <= 6 <= values["interval"]["high"]
    configuration = values["configuration"]
    assert configuration["executors"] == values["slots"]
    assert (configuration["cores"], configuration["memory"], configuration["trigger"]) == (1, 512, 4.0)
    # without a shuffle
    assert configuration["state_partitions"] is None
    assert configuration["source_partitions"] % values["slots"] == 0
    assert configuration["batch_limit"] >= 4 * 50_000


def test_measurements_are_used_again_for_another_rate(known: Command) -> None:
    first = json.loads(known("--rate", "20k", "--output", "json").out)
    again = known("--rate", "30k", "--output", "json")
    assert "are used again" in again.err
    assert json.loads(again.out)["probes"] == first["probes"]
    more = json.loads(known("--rate", "30k", "--more", "--output", "json").out)
    assert more["probes"][: len(first["probes"])] == first["probes"]
    assert len(more["probes"]) > len(first["probes"])


def test_needs_beyond_the_rate_and_the_files_that_a_plan_leaves(known: Command, tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("time,rate\n" + "".join(f"{60 * k},{20_000 + 500 * k}\n" for k in range(60)))
    words = ("--rate", "30k", "--trace", "day.csv", "--recovery", "5m", "--outage", "1m", "--price", "0.05")
    ended = known(*words)
    assert ended.code == 0
    assert "peak of day.csv: " in ended.out
    assert "recovery within 300 s of a failure at " in ended.out
    assert "autoscaled by hpa-cpu, 1 to " in ended.out
    assert ended.out.count("a month") >= 4
    values = json.loads(known(*words, "--output", "json").out)
    assert values["needs"]["peak"]["plan"]["slots"] > values["slots"]
    assert values["needs"]["day"]["policy"] == "hpa-cpu"
    names = {Path(file).name: Path(file) for file in values["files"]}
    assert set(names) == {"model.json", "profile.csv", "plan.html"}
    page = names["plan.html"].read_text()
    assert "static for the peak of day.csv" in page
    assert "autoscaled by hpa-cpu" in page


def test_what_is_wrong_with_needs_is_said_before_anything_runs(plan: Command) -> None:
    ended = plan("--rate", "30k", "--trace", "nowhere.csv")
    assert ended.code == 2
    assert "nowhere.csv" in ended.err
    assert "warmup" not in ended.err
    assert plan("--rate", "30k", "--recovery", "0s").code == 2
    assert plan("--rate", "30k", "--policy", "hpa-cup").code == 2


def test_measurements_of_another_model_are_not(known: Command, tmp_path: Path) -> None:
    first = json.loads(known("--rate", "20k", "--output", "json").out)
    (tmp_path / "m.json").write_text(text(replace(MODEL, cost=2e-4)))
    second = known("--rate", "20k", "--output", "json")
    assert "used again" not in second.err
    assert json.loads(second.out)["probes"][0]["rate"] < 0.6 * first["probes"][0]["rate"]


def test_measurements_that_are_damaged_are_a_sentence(known: Command, tmp_path: Path) -> None:
    (file,) = (tmp_path / ".tidegate" / "plan").glob("*/probes.json")
    file.write_text("[{")
    ended = known("--rate", "20k")
    assert ended.code == 2
    assert "--fresh makes new ones" in ended.err.replace("\n", " ")
    assert known("--rate", "20k", "--fresh", "--budget", "20m").code == 0


@pytest.fixture
def keyed(tidegate: Command, tmp_path: Path) -> Command:
    """A query with state, measured with 2 to 4 executors, in a budget with time for more than that."""
    (tmp_path / "k.json").write_text(text(KEYED))
    return lambda *words: tidegate(*KEYED_WORDS, *words)


@pytest.fixture
def known_keyed(tidegate: Command, copied: Callable[[BatchModel], None]) -> Command:
    copied(KEYED)
    return lambda *words: tidegate(*KEYED_WORDS, *words)


def test_figures_of_the_largest_run_are_kept_for_another_rate(known_keyed: Command, tmp_path: Path) -> None:
    (file,) = (tmp_path / ".tidegate" / "plan").glob("*/figures.json")
    assert json.loads(file.read_text())["slots"] == 4
    second = json.loads(known_keyed("--rate", "40k", "--output", "json").out)["configuration"]
    # about 8,300/s each
    assert 5 <= second["executors"] <= 6
    assert second["state_partitions"] >= second["most_executors"] == 2 * second["executors"]
    assert f"spark.sql.shuffle.partitions={second['state_partitions']}" in second["submit"]
    file.write_text(json.dumps({"slots": 4, "memory": 512, "figures": None, "reason": "the run was too short"}))
    without = known_keyed("--rate", "40k")
    assert "nothing is known of the rest: the run was too short" in without.out
    file.unlink()
    assert "were not looked at: --more or --fresh does" in known_keyed("--rate", "40k").out
    file.write_text(json.dumps({"slots": 4, "memory": 512, "figures": {"rate": -1}, "reason": ""}))
    damaged = known_keyed("--rate", "40k")
    assert damaged.code == 2
    assert "--fresh makes new ones" in damaged.err.replace("\n", " ")


def test_a_latency_that_is_wanted_shortens_the_trigger(known_keyed: Command) -> None:
    short = json.loads(known_keyed("--rate", "40k", "--slo", "6s", "--output", "json").out)["configuration"]
    assert short["latency"] <= 6.0
    assert short["trigger"] < 4.0
    assert short["attach"].endswith("slo=6.0)")


def test_state_partitions_are_tried_where_there_is_time(keyed: Command) -> None:
    ended = keyed("--rate", "40k")
    assert ended.code == 0
    assert "trial of " in ended.err
    assert "trial on the testbed: " in ended.out
    again = keyed("--rate", "40k", "--output", "json")
    assert "trial of " not in again.err
    values = json.loads(again.out)
    assert "partitions" in values["trial"]["reason"]
    # of 70 minutes, three searches of 75 + 360 s are not the exploration's
    assert sum(probe["minutes"] for probe in values["probes"]) < 70 - 21.7
    assert json.loads(keyed("--rate", "40k", "--no-trial", "--output", "json").out)["trial"] is None


def test_a_trial_that_is_asked_for_is_made_with_measurements_that_are_there(known_keyed: Command) -> None:
    ended = known_keyed("--rate", "40k", "--trial")
    assert "trial of " in ended.err
    assert "trial on the testbed: " in ended.out


def test_a_trial_that_cannot_be_made_says_why(known: Command, keyed: Command) -> None:
    assert "no partition trial: the query has no state" in known("--rate", "20k", "--trial").out
    fixed = keyed("--rate", "20k", "--trial", "--partitions", "12").out
    assert "no partition trial: --partitions says that they are fixed" in fixed


def test_a_validation_run_is_shown_learnt_from_and_kept(known_keyed: Command, tmp_path: Path) -> None:
    ended = known_keyed("--rate", "100k", "--validate", "8", "--no-trial")
    assert ended.code == 0
    assert "the run with 8 slots reached " in ended.out
    assert "that were predicted" in ended.out
    (file,) = (tmp_path / ".tidegate" / "plan").glob("*/figures.json")
    assert json.loads(file.read_text())["slots"] == 8
    again = known_keyed("--rate", "100k", "--validate", "8", "--output", "json")
    assert "validation" not in again.err
    values = json.loads(again.out)
    assert [v["measurement"]["slots"] for v in values["validations"]] == [8]
    assert max(probe["slots"] for probe in values["probes"]) == 4
    fresh = json.loads(known_keyed("--rate", "100k", "--fresh", "--budget", "8m", "--output", "json").out)
    assert fresh["validations"] == []


def test_a_hot_key_is_a_sentence_about_what_to_change(known_keyed: Command, tmp_path: Path) -> None:
    (file,) = (tmp_path / ".tidegate" / "plan").glob("*/figures.json")
    stored = json.loads(file.read_text())
    # a key with half of the records: its task takes 25 µs of each, and a batch has 3.4 of 4 s for them
    stored["figures"]["stages"][1]["skew"] = {"partitions": 12, "largest": 0.54}
    file.write_text(json.dumps(stored))
    ended = known_keyed("--rate", "40k")
    assert ended.code == 0
    assert "no plan: no number of slots does more than 3" in ended.out
    assert "divide the key" in ended.out


def test_a_testbed_of_one_slot_supports_one_slot(tidegate: Command, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text(MODEL))
    words = ("--engine", "sim", "--model", "m.json", "--testbed", "1", "--budget", "1h")
    ended = tidegate("plan", *words, "--rate", "50k")
    assert ended.code == 0
    assert "all measurements are with 1 slot, which shows nothing about more of them" in ended.out
    assert "--testbed 1-4" in ended.out
    assert "1 slot, which sustains" in tidegate("plan", *words, "--rate", "6k").out


@contextmanager
def failing(e: Experiment) -> Iterator[Testbed]:
    raise QueryFailed("the query failed: no such column")
    yield


class Growing(Testbed):
    observations = ()

    def __init__(self) -> None:
        self._rows = 1.0

    def begin_again(self, rate: float) -> "Testbed":
        return self

    def measure(self, phase: Phase) -> Measurement:
        self._rows *= 2
        return Measurement(15.0, phase.rate, 1_000.0, state_rows=self._rows)


@contextmanager
def growing(e: Experiment) -> Iterator[Testbed]:
    yield Growing()


@pytest.mark.parametrize(
    ("testbed", "sentence"),
    [
        (failing, "no configuration could be measured: the query failed: no such column"),
        (growing, "no configuration could be measured: the query did not become steady during the warm-up"),
    ],
)
def test_a_query_that_cannot_be_measured(
    plan: Command, monkeypatch: pytest.MonkeyPatch, testbed: Any, sentence: str
) -> None:
    monkeypatch.setattr(campaign, "simulated_testbed", testbed)
    ended = plan("--rate", "20k")
    assert ended.code == 4
    assert sentence in ended.err


def test_a_machine_that_was_the_limit_is_named(plan: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def busy(e: Experiment) -> Iterator[Testbed]:
        times = iter(CpuTimes(0.99 * k, k) for k in range(1_000))
        with simulated(e) as testbed:
            again = testbed.begin_again

            def begin_again(rate: float) -> Testbed:
                other = again(rate)
                other.machine = lambda: next(times)
                return other

            testbed.machine = lambda: next(times)
            testbed.begin_again = begin_again  # type: ignore[method-assign]
            yield testbed

    simulated = campaign.simulated_testbed
    monkeypatch.setattr(campaign, "simulated_testbed", busy)
    assert (
        "with 6 slots the machine was the limit: the query itself may be able to do more" in plan("--rate", "20k").out
    )


APP = "def build(df):\n    return df\n"


@pytest.mark.parametrize("engine", ["sim", "spark"])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("at,shop\n", "need at least one row, it has none"),
        ("time,shop\n2024-01-01T12:00:00,1\n", "no column of the sample"),
    ],
)
def test_a_sample_that_cannot_be_used(tidegate: Command, tmp_path: Path, engine: str, rows: str, sentence: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "sample.csv").write_text(rows)
    (tmp_path / "m.json").write_text(text(MODEL))
    model = ("--model", "m.json") if engine == "sim" else ()
    words = ("--app", "app.py", "--sample", "sample.csv", "--event-time", "at", "--rate", "10k", "--engine", engine)
    ended = tidegate("plan", *words, *model)
    assert ended.code == 2
    assert sentence in ended.err
    assert not (tmp_path / ".tidegate" / "plan").exists()


def test_a_sample_of_less_than_a_second_is_a_warning(tidegate: Command, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "sample.csv").write_text("at,shop\n2024-01-01T12:00:00,1\n2024-01-01T12:00:01,2\n")
    (tmp_path / "m.json").write_text(text(MODEL))
    words = ("--app", "app.py", "--sample", "sample.csv", "--event-time", "at", "--engine", "sim", "--model", "m.json")
    ended = tidegate("plan", *words, "--rate", "20k", "--budget", "1h")
    assert ended.code == 0
    assert "it is repeated 1e+04 times a second, and has the same keys each time" in ended.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "0"], "need --rate > 0, got 0"),
        (["--rate", "-5"], "is not like 5000"),
        (["--rate", "5k", "--testbed", "0-3"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--testbed", "3-1"], "need numbers of executors from 1 on"),
        (["--rate", "5k", "--memory", "512,much"], "need numbers of MiB of heap from 1 on"),
        (["--rate", "5k", "--engine", "operators"], "engine of a testbed"),
        (["--rate", "5k", "--sample", "x.parquet"], "are for --app"),
        (["--rate", "5k", "--budget", "1m"], "need --budget >= 375s"),
        (["--rate", "5k", "--slo", "0s"], "need --slo > 0"),
        (["--rate", "5k", "--slo", "soon"], "is not like 90s"),
        (["--rate", "5k", "--validate", "6"], "need --validate > 6, the executors of the testbed, got 6"),
        (["--rate", "5k", "--validate", "100000"], "<= 10000, got 100000"),
        (["--rate", "5k", "--partitions", "-1"], "need 0 <= partitions"),
        (["--rate", "5k", "--validate", "-1"], "need --validate > 6, the executors of the testbed, got -1"),
    ],
)
def test_what_is_wrong_with_a_request(plan: Command, words: list[str], sentence: str) -> None:
    ended = plan(*words)
    assert ended.code == 2
    assert sentence in ended.err


def test_a_rate_beyond_the_partitions_says_how_many_it_takes(plan: Command) -> None:
    ended = plan("--rate", "200k", "--partitions", "12")
    assert ended.code == 0
    assert "no plan: 12 partitions keep at most 12 slots busy" in ended.out
    assert "repartition the topic to at least 2" in ended.out


def test_the_same_query_is_not_measured_by_two_commands_at_once(known: Command, tmp_path: Path) -> None:
    (lock,) = (tmp_path / ".tidegate" / "plan").glob("*/lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = known("--rate", "20k")
    assert ended.code == 2
    assert "another `tidegate plan` measures this query" in ended.err.replace("\n", " ")
    assert known("--rate", "20k").code == 0
