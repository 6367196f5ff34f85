import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegate import __version__
from tidegate.cli.app import app
from tidegate.cli.doctor import Finding
from tidegate.core import Batch, Decision, Observation, Step, Tick
from tidegate.runs import RunResult, RunSpec, encode
from tidegate.score.figures import Figures, Latency, Rescales, Slo, Throughput, Workers
from tidegate.store import Store

Command = Callable[..., Any]


FIGURES = Figures(
    processed=100,
    lost=0,
    latency=Latency(mean=2.0, p50=2.0, p95=4.26, p99=5.0, max=6.0),
    slo=Slo(10.0, 0.0),
    workers=Workers(mean=1.5, max=2, seconds=3.0),
    rescales=Rescales(count=1, up=1),
    backlog=None,
    throughput=Throughput(None, None, None),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs, of which the last is done and scored."""
    path = tmp_path / "kept" / "runs.db"
    path.parent.mkdir()
    with Store.open(path) as kept:
        kept.begin(RunSpec(job="q11", workload="cosine", policy="static", slo=10, start=0.0))
        spec = RunSpec(job="q1", workload="tide", policy="hpa-cpu", slo=10, start=0.0)
        run = kept.begin(spec)
        batch = Batch(0, 1, 2, 0, 100, arrived=100, rows=100)
        kept.append(run, Tick(Observation(1, 1, 1, arrival_rate=100.0), (Step("hpa-cpu", Decision(2, "busy")),), True))
        kept.append(run, Tick(Observation(2, 2, 2, arrival_rate=100.0, latency=1.0, batches=(batch,))))
        kept.end(run, "done", replace(RunResult.of(run, "done", spec), figures=FIGURES, verified=True))
    return path


TRAFFIC = "events traffic: every key occurs once per second, so skew 'heavy' is not supported"


def last(store: Path) -> str:
    with Store.open(store) as kept:
        return kept.run("last").id


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--job", "wordcont"], "no job is named 'wordcont'; did you mean 'wordcount'?"),
        (["--policy", "hpa"], "no policy is named 'hpa'; did you mean 'hpa-cpu'? (known: daedalus, dhalion, "),
        (["--workload", "cosin"], "no workload is named 'cosin'; did you mean 'cosine'?"),
        (["--engine", "flink"], "no engine is named 'flink' (known: operators, sim, spark)"),
        (["--source", "kafak"], "no source is named 'kafak'; did you mean 'kafka'? (known: embedded, kafka)"),
        (["--skew", "hot"], "no skew is named 'hot' (known: default, heavy, off)"),
        (["--mode", "monitoring"], "no mode is named 'monitoring'; did you mean 'monitor'?"),
        (["-p", "targett=0.5"], "no option of policy hpa-cpu is named 'targett'; did you mean 'target'?"),
        (["--policy", "static", "--option", "target=1"], "no option of policy static is named 'target'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(tidegate: Command, words: list[str], sentence: str) -> None:
    ended = tidegate("run", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"tidegate: {sentence}")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--min-executors", "5", "--max-executors", "2"], "need 0 < minimum <= maximum executors, got 5, 2"),
        (["--min-executors", "0"], "run: need 1 <= minimum <= 10000, got 0"),
        (["--initial", "9"], "run: need 1 <= executors at the start <= 4, got 9"),
        (["--duration", "soon"], "duration 'soon' is not like 90s, 3m or 1h30m"),
        (["--duration", "0"], "run: need duration > 0, got 0"),
        (["--slo", "x"], "duration 'x' is not like 90s, 3m or 1h30m"),
        (["--rate", "fast"], "rate 'fast' is not like 5000, 250k or 1.2M records/s"),
        (["--rate", "0"], "run: need peak > 0, got 0"),
        (["--quota", "3"], "run: need 0.02 <= quota <= 1 cores, got 3"),
        (["-p", "target"], "policy option 'target' is not NAME=VALUE"),
        (["-p", "target=1.5"], "policy hpa-cpu: need 0 < target <= 1, got 1.5"),
        (["--skew", "heavy", "--job", "traffic"], TRAFFIC),
        (["--source", "kafka", "--topic", "bids"], "run: source kafka needs --bootstrap"),
        (["--source", "kafka", "--bootstrap", "localhost:9092"], "run: source kafka needs --topic"),
        (["--topic", "bids"], "run: --bootstrap, --topic, --sink and --kafka-… are for --source kafka"),
        (
            ["--source", "kafka", "--bootstrap", "localhost:9092", "--topic", "bids", "--sink", "bids"],
            "run: the result cannot go to 'bids', the topic it is made from",
        ),
        (["-p", "interval=0"], "policy hpa-cpu: need 0 < interval, got 0"),
        (["--sinks", "jsnl:x"], "no sink is named 'jsnl'; did you mean 'jsonl'? (known: jsonl, log)"),
        (["--sinks", "jsonl"], "sink jsonl: need a file, like jsonl:ticks.jsonl"),
    ],
)
def test_a_bad_value_is_one_sentence(tidegate: Command, words: list[str], sentence: str) -> None:
    assert tidegate("run", *words) == (2, "", f"tidegate: {sentence}\n")
    assert not Path(".tidegate").exists()  # before anything is made


#: five simulated minutes
SIMULATED = ("run", "--engine", "sim", "--duration", "5m", "--trigger", "10s", "--slo", "30s")


def test_a_simulated_run_for_a_program(tidegate: Command, tmp_path: Path) -> None:
    ended = tidegate(*SIMULATED, "--sinks", "jsonl:ticks.jsonl", "--output", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert (found["status"], found["engine"], found["source"], found["verified"]) == ("done", "sim", "simulated", None)
    assert {"latency", "slo", "workers", "rescales", "oracle", "throughput"} < set(found)
    assert (tmp_path / found["report"]).exists()
    with Store.open(tmp_path / ".tidegate" / "tidegate.db") as kept:
        run = kept.run("last")
        assert run.result is not None
        assert {**encode(run.result), "report": found["report"]} == found
        seen = [tick.observation.time for _, tick in kept.ticks(run.id)]
    # the further sink has seen the same ticks
    lines = (tmp_path / "ticks.jsonl").read_text().splitlines()
    assert [json.loads(line)["observation"]["time"] for line in lines] == seen
    assert len(seen) == 21  # each 15 s of 300 s


def test_a_simulated_run_for_people(tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    ended = tidegate(*SIMULATED, "--policy", "static", "-p", "executors=3")
    assert ended.code == 0
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in ended.out.splitlines() if "│" in line]
    shown = {row[0]: row[1] for row in cells}
    assert shown.keys() == {"records", "latency", "SLO", "executors", "rescales", "verified", "report"}
    assert shown["executors"].startswith("3.00 on average, 3 at most, 900 executor-seconds paid, ")
    assert shown["verified"] == "not checked"
    assert "25 % fewer executor-seconds than 4 executors all the time, p95 latency " in ended.out


@pytest.mark.parametrize(
    ("conditions", "code", "told"),
    [
        (["late>50%", "p95<1s"], 0, ""),
        (["executors>=3", "max-executors>3"], 5, 'executors is 3: --fail-if "executors>=3"'),
        (["verified==false"], 5, 'verified is not known, so --fail-if "verified==false" cannot be checked'),
    ],
)
def test_a_threshold_that_is_broken_has_an_exit_code_of_its_own(
    tidegate: Command, conditions: list[str], code: int, told: str
) -> None:
    words = [word for condition in conditions for word in ("--fail-if", condition)]
    ended = tidegate(*SIMULATED, "--policy", "static", "-p", "executors=3", "--output", "json", *words)
    run = json.loads(ended.out)["run"]  # the result is told in any case
    assert ended.code == code
    assert [line for line in ended.err.splitlines() if "tidegate:" in line] == (
        [f"tidegate: run {run}: {told}"] if told else []
    )


def test_a_wrong_threshold_is_refused_before_anything_starts(tidegate: Command) -> None:
    ended = tidegate("run", "--fail-if", "lat>1%")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tidegate: no figure for --fail-if is named 'lat'; did you mean 'late'?")
    assert not Path(".tidegate").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["backtest", "day.csv", "--seeds", "1000000000"], "backtest: need 1 <= --seeds <= 10000, got 1e+09"),
        (["backtest", "day.csv", "--trials", "1"], "backtest: need 2 <= --trials <= 10000, got 1"),
        (["backtest", "day.csv", "--processes", "-1"], "backtest: need 0 <= --processes <= 10000, got -1"),
        (["compare", "--price", "-0.5"], "compare: run: need 0 <= price <= 1e+09, got -0.5"),
        (["compare", "--max-executors", "20000"], "compare: run: need 1 <= maximum <= 10000, got 20000"),
        (["run", "--engine", "sim", "--seed", "-1"], "run: need 0 <= seed <= 9.22337e+18, got -1"),
        (["run", "--engine", "sim", "--cores", "0"], "run: need 1 <= cores <= 1000, got 0"),
        (["run", "--ui-port", "70000"], "run: need 0 <= --ui-port <= 65535, got 70000"),
        (["profile", "--max-executors", "20000"], "run: need 1 <= maximum <= 10000, got 20000"),
        (["workloads", "random", "--seed", "-3"], "workloads: need 0 <= --seed <= 9.22337e+18, got -3"),
        (["broker", "--port", "0"], "broker: need 1 <= --port <= 65535, got 0"),
        (["produce", "--topic", "x", "--partitions", "0"], "produce: need 1 <= --partitions <= 10000, got 0"),
    ],
)
def test_numbers_out_of_bounds_are_one_sentence(tidegate: Command, words: list[str], sentence: str) -> None:
    assert tidegate(*words) == (2, "", f"tidegate: {sentence}\n")


@pytest.mark.parametrize("words", [["fly"], ["run", "--fast"], ["runs", "--output", "xml"], ["run", "--cores", "two"]])
def test_what_the_command_line_does_not_know_is_a_sentence_too(tidegate: Command, words: list[str]) -> None:
    ended = tidegate(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tidegate: ")
    assert words[-1] in ended.err or words[-2] in ended.err


@pytest.mark.parametrize("name", ["[/x]", "[bold]", "q[red]1"])
def test_brackets_are_shown_as_they_were_typed(tidegate: Command, name: str) -> None:
    ended = tidegate("run", "--job", name)
    assert ended.code == 2
    assert f"no job is named {name!r}" in ended.err


@pytest.mark.parametrize("command", ["report", "runs"])
def test_without_a_store_there_is_nothing_to_show(tidegate: Command, command: str) -> None:
    sentence = "tidegate: there are no runs in .tidegate/tidegate.db yet: `tidegate demo` makes one\n"
    assert tidegate(command) == (2, "", sentence)
    assert not Path(".tidegate").exists()  # asking makes none
    assert "there are no runs in elsewhere.db yet" in tidegate(command, "--store", "elsewhere.db").err


def test_what_is_no_store_is_named(tidegate: Command, tmp_path: Path) -> None:
    ended = tidegate("runs", "--store", str(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"tidegate: cannot use {tmp_path} as a store of runs: ")


def test_an_unknown_run_is_refused_with_those_there_are(tidegate: Command, store: Path) -> None:
    ended = tidegate("report", "yesterday", "--store", str(store))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tidegate: no run 'yesterday' in the store (the last ones: ")
    assert last(store) in ended.err


def test_a_report_is_written_where_it_is_wanted(tidegate: Command, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "page.html"
    assert tidegate("report", "last", "-o", str(target), "--store", str(store)) == (0, f"report: {target}\n", "")
    assert target.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_a_report_for_a_program_is_json_and_nothing_else(
    tidegate: Command, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_STORE", str(store))
    ended = tidegate("report", "--output", "json")
    beside = store.parent / "reports" / f"{last(store)}.html"
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"run": last(store), "report": str(beside)}
    assert beside.exists()


def test_a_report_that_cannot_be_written_is_a_sentence(tidegate: Command, store: Path, tmp_path: Path) -> None:
    ended = tidegate("report", "last", "-o", str(tmp_path), "--store", str(store))
    assert (ended.code, ended.out) == (2, "")
    assert str(tmp_path) in ended.err


def test_a_path_with_brackets_is_shown_whole(tidegate: Command, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "page[a].html"
    assert tidegate("report", "-o", str(target), "--store", str(store)).out == f"report: {target}\n"


def test_runs_for_a_program(tidegate: Command, store: Path) -> None:
    ended = tidegate("runs", "--output", "json", "--store", str(store))
    assert (ended.code, ended.err) == (0, "")
    first, second = json.loads(ended.out)
    assert (first["status"], first["spec"]["job"], first["result"]) == ("running", "q11", None)
    assert (second["id"], second["status"], second["result"]["verified"]) == (last(store), "done", True)
    assert second.keys() == {
        *("id", "created", "status", "spec", "result"),
        *("health", "conditions", "seen", "ended"),
    }
    assert tidegate("runs", "--json", "--store", str(store)) == ended


def test_the_doctor_for_a_program(tidegate: Command) -> None:
    ended = tidegate("doctor", "--output", "json")
    found = json.loads(ended.out)
    assert [one["what"] for one in found] == ["Python", "Java", "PySpark", "cores", "memory", "CPU quotas"]
    assert all(one.keys() == {"what", "ok", "found", "advice"} for one in found)
    assert ended.code == (3 if any(one["ok"] is False for one in found) else 0)


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize(("ok", "code"), [(True, 0), (None, 0), (False, 3)])
def test_the_doctor_s_exit_code_says_whether_something_needed_is_missing(
    tidegate: Command, monkeypatch: pytest.MonkeyPatch, output: str, ok: bool | None, code: int
) -> None:
    monkeypatch.setattr("tidegate.cli.doctor.findings", lambda: [Finding("Java", ok, "11", "get another")])
    ended = tidegate("doctor", "--output", output)
    assert ended.code == code
    assert "get another" in ended.out


def test_the_version(tidegate: Command) -> None:
    assert tidegate("--version") == (0, f"tidegate {__version__}\n", "")


def test_the_help_names_every_command(tidegate: Command) -> None:
    ended = tidegate("--help")
    assert ended.code == 0
    for command in ("demo", "run", "report", "runs", "doctor"):
        assert f" {command} " in ended.out
        assert tidegate(command, "--help").code == 0


def test_the_help_of_every_command_teaches_with_an_example(tidegate: Command) -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.callback.__name__
        assert f"[bold]tidegate {name}" in (command.callback.__doc__ or ""), name
