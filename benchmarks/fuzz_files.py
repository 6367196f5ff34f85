"""Mutated files of every kind that Tidegate reads, each read and used as its command does."""

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from mutations import dumps, garbled, mutated, toml
from tidegate.backtest.request import Backtest, experiment, peak_overload
from tidegate.capacity.profile import Profile
from tidegate.capacity.profiletext import parse as parse_profile
from tidegate.compare import grid as grids
from tidegate.compare.cells import cells
from tidegate.core import ExecutorSample, Limits, Observation
from tidegate.deployment.simulated import simulate
from tidegate.experiment import Experiment
from tidegate.presets import autoscaler
from tidegate.profiling.profile import needs
from tidegate.runs import RunResult, RunSpec, decode, encode
from tidegate.score.trace import Cumulative
from tidegate.sim import recording
from tidegate.sim.batch_model import bundled, model
from tidegate.sim.check import check
from tidegate.sim.fit import fit
from tidegate.workloads import from_spec, named

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "tests" / "recorded" / "truth"
EXAMPLES = ROOT / "examples"
#: ticks of the longest run that is simulated here
TICKS = 1000
#: how gaps of a trace are filled
GAPS = (*("", "?gaps=zero", "?gaps=hold") * 6, "?gaps=none")
#: levels, digits and repetitions of a bomb
SIZES = (100, 1000, 10_000, 100_000)


def finite(what: str, numbers: Iterable[float | None]) -> None:
    assert all(number is None or math.isfinite(number) for number in numbers), f"{what} is not finite"


@cache
def texts(folder: Path, suffix: str) -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(folder.iterdir()) if path.suffix == suffix)


def written(rng: Random, folder: Path, name: str, value: Any, write: Callable[[Any], str] = dumps) -> Path:
    """A file with the mutated value, and perhaps garbled."""
    path = folder / name
    changed = mutated(rng, value, rng.choice((1, 1, 1, 2, 3)))
    try:
        text = write(changed)
    except (ValueError, RecursionError):  # an integer of thousands of digits has no JSON
        text = write(value)
    path.write_bytes(garbled(rng, text) if rng.random() < 0.1 else text.encode("utf-8", "replace"))
    return path


def recordings(rng: Random, folder: Path) -> None:
    """`tidegate calibrate` and `tidegate validate`."""
    path = written(rng, folder, "run.json", json.loads(rng.choice(texts(RECORDINGS, ".json"))))
    read = getattr(recording, "read", None) or (lambda path: recording.parse(path.read_text("utf-8"), str(path)))
    run = read(path)
    verdict = check(model("q1"), run)
    finite("a verdict", [verdict.windows, verdict.batches])
    finite("a figure", [n for f in verdict.figures.values() for n in (f.real, f.simulated, f.error)])
    if rng.random() < 0.1:  # takes a second
        fitted = fit([run])
        finite("a fit", [fitted.error, fitted.worst, *_numbers(asdict(fitted.model))])


def models(rng: Random, folder: Path) -> None:
    """`tidegate compare --model`."""
    name = rng.choice(sorted(bundled()))
    path = written(rng, folder, "job.json", json.loads(bundled()[name]))
    fitted = model(str(path))
    for executors in (1, 2, 8):
        finite("a capacity", [fitted.batch_time(1e6, executors), fitted.capacity(executors, 10.0, 1e6)])
    run(Experiment(engine="sim", job=name, model=str(path), duration=900.0, trigger=10.0, maximum=8, policy="hpa-cpu"))


def run(e: Experiment) -> None:
    """Simulate an experiment, or its beginning if it is long."""
    if e.engine == "spark" or needs(e) or e.duration / e.period > TICKS:
        return
    trace = simulate(e)
    for array in (trace.times, trace.executors, trace.finished.times, trace.finished.ends, trace.arrivals.totals):
        assert np.all(np.isfinite(array)), "a trace is not finite"


def traces(rng: Random, folder: Path) -> None:
    """`tidegate workloads trace:FILE` and `tidegate backtest`."""
    begin, step = rng.choice((0.0, 1.7e9)), rng.choice((1.0, 60.0, 0.5))
    rows = [[begin + k * step, round(1000 + 500 * math.sin(k / 9), rng.choice((0, 3)))] for k in range(40)]
    path = folder / rng.choice(("t.csv", "t.parquet"))
    if path.suffix == ".csv":
        changed = mutated(rng, rows, rng.choice((0, 1, 1, 2)))
        if rng.random() < 0.4 and changed and isinstance(changed[-1], list) and changed[-1]:
            changed[-1][0] = begin + rng.choice((60, 1e3, 1e5, 3.2e6, 3.2e7, 1e9, 1e11, 1e15, 1e308))
        lines = [",".join(map(_cell, row)) if isinstance(row, list) else _cell(row) for row in changed]
        text = "\n".join([*(["time,rate"] if rng.random() < 0.7 else []), *lines]) + "\n"
        path.write_bytes(garbled(rng, text) if rng.random() < 0.1 else text.encode("utf-8", "replace"))
    else:
        _write_parquet(rng, path, rows)
    shape = named(f"trace:{path}{rng.choice(GAPS)}")
    finite(
        "a workload", [shape.duration, shape.average(), shape.total(shape.duration), shape.created(0), shape.rate(1)]
    )
    assert np.all(np.isfinite(shape.means(50))), "a workload is not finite"
    if shape.duration < 1e7:
        finite("arrivals", [Cumulative.of(shape).whole])
    e = experiment(Backtest(str(path), "q1", ["hpa-cpu"], {"maximum": 4}))
    if e.duration < 1e6:
        peak_overload(e)
        run(e)


def _cell(value: Any) -> str:
    try:
        return "" if value is None else str(value).replace("\x00", "")
    except ValueError:
        return "9" * 400


def _write_parquet(rng: Random, path: Path, rows: list[list[float]]) -> None:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    columns: dict[str, Any] = {"time": [row[0] for row in rows], "rate": [row[1] for row in rows]}
    if rng.random() < 0.7:
        name = rng.choice(("time", "rate"))
        strange = rng.choice((None, -1.0, math.nan, math.inf, 1e308, 5e17, 0.0, 1e9))
        columns[name][rng.randrange(len(rows))] = strange
    if rng.random() < 0.3:
        name = rng.choice(("time", "rate"))
        columns[name] = rng.choice(
            ([str(value) for value in columns[name]], [[value] for value in columns[name]], [None] * len(rows))
        )
    if rng.random() < 0.1:
        columns["Rate" if rng.random() < 0.5 else "other"] = columns.pop("rate")
    table = pa.table(columns)
    if rng.random() < 0.05:
        table = table.append_column("rate", table.column(0))
    if rng.random() < 0.1:
        table = table.slice(0, rng.randrange(3))
    parquet.write_table(table, path)
    if rng.random() < 0.3:
        data = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data[: rng.choice((len(data), len(data) // 2, 8))]))


def profiles(rng: Random, folder: Path) -> None:
    """`tidegate run --policy phoebe -p profile=FILE`."""
    ours = rng.random() < 0.7
    header = (
        ["executors", "rate", "latency", "saturated"] if ours else ["scaleOut", "avgThr", "avgLat(ms)", "isBckPres"]
    )
    points = [[n, 900.0 * n * s, s if ours else 1000 * s, int(s > 1)] for n in (1, 2, 4, 8) for s in (0.5, 0.8, 1.2)]
    rows: list[Any] = [header, *points]
    changed = mutated(rng, rows, rng.choice((1, 1, 2, 4)))
    text = "\n".join(",".join(map(_cell, row)) if isinstance(row, list) else _cell(row) for row in changed) + "\n"
    path = folder / "profile.csv"
    path.write_bytes(garbled(rng, text) if rng.random() < 0.1 else text.encode("utf-8", "replace"))
    finite("a capacity", Profile.of(parse_profile(path.read_text("utf-8", "replace"))).capacities().values())
    for name in ("phoebe", "twres"):
        policy = autoscaler(name, Limits(1, 8), {"profile": str(path)}).policy
        for k in range(0, 600, 15):
            rate = 1000.0 + 300 * math.sin(k / 40)
            sample = ExecutorSample("1", cpu=0.5, busy=0.5, uptime=300.0)
            obs = Observation(1.7e9 + k, 2, 2, rate, rate, 1000.0, 3.0, 10.0, 4.0, per_executor=(sample, sample))
            policy.observe(obs)
            decision = policy.decide(obs)
        assert isinstance(decision.executors, int), "a decision is no number"
        assert not any(map(math.isnan, decision.evidence.values())), "evidence is NaN"


@cache
def _examples() -> tuple[dict[str, Any], ...]:
    small = {
        "policies": ["ds2", {"name": "hpa-cpu", "label": "HPA 80", "options": {"target": 0.8, "down-window": "1m"}}],
        "jobs": ["q1", {"name": "q5", "maximum": 12}],
        "workloads": ["steps", {"name": "tide", "peak": "250k", "noise": 0.1}],
        "seeds": 2,
        "vary": "workload",
        "run": {"duration": "30m", "slo": 20, "failures": ["10m", 720], "price": 1.5, "period": "15s", "cores": 2},
    }
    return (small, small, *(tomllib.loads(text) for text in texts(EXAMPLES, ".toml")))


def experiments(rng: Random, folder: Path) -> None:
    """`tidegate compare FILE`: all its runs are laid out, and one is simulated."""
    path = written(rng, folder, "x.toml", rng.choice(_examples()), toml)
    grid = grids.grid(grids.merged(grids.read(path), {}), str(path))
    runs = cells(grid, place=str(path))
    finite("a peak", [cell.experiment.peak for cell in runs])
    one = rng.choice(runs).experiment
    run(replace(one, duration=min(one.duration, 900.0)))


def stored(rng: Random, folder: Path) -> None:
    """Specs and results of runs, as `tidegate compare` and the store read them."""
    e = Experiment(engine="sim", policy="ds2", duration=600.0)
    kind, values = rng.choice(((RunSpec, encode(e.spec())), (RunResult, encode(RunResult("r", "failed", error="x")))))
    path = written(rng, folder, "spec.json", values)
    try:
        plain = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return
    read: Any = decode(kind, plain, "run r")  # type: ignore[type-var]
    if kind is RunSpec and isinstance(read.workload_spec, Mapping):
        from_spec(read.workload_spec)


def bombs(rng: Random, folder: Path) -> None:
    """Files that are small and cost much: deep, long, huge numbers, many runs."""
    size = rng.choice(SIZES)
    kind = rng.randrange(6)
    if kind == 0:
        _bomb_toml(rng, folder, size)
    elif kind == 1:
        path = folder / "bomb.json"
        path.write_text(rng.choice(_json_bombs(size)))
        rng.choice((lambda: model(str(path)), lambda: recording.parse(path.read_text(), str(path))))()
    elif kind == 2:
        path = folder / "bomb.csv"
        path.write_text(
            rng.choice(("1," * size, "0,1\n1,1\n" + "9" * size + ",1\n", '"' * size, "0,1\n" * size, "\n" * size))
        )
        named(f"trace:{path}?gaps=zero")
    elif kind == 3:
        gap = rng.choice((1e4, 1e6, 1e8, 1e11, 1e15, 1e300))
        path = folder / "gap.csv"
        path.write_text(f"time,rate\n0,5\n1,{rng.choice(('5', '1e308', '1e12'))}\n2,7\n{gap},3\n")
        shape = named(f"trace:{path}?gaps={rng.choice(('zero', 'hold'))}")
        finite("a workload", [shape.average(), shape.created(1)])
    elif kind == 4:
        fields = {name: rng.choice((1e-9, 1e9, 1e308, 10**9, 10**30)) for name in rng.sample(NUMBERS, 2)}
        run(Experiment(**{"engine": "sim", "duration": 600.0, "policy": "static", **fields}))  # type: ignore[arg-type]
    else:
        parse_profile("executors,rate,latency,saturated\n" + rng.choice(("1,1,1,0\n", "1e308,1,1,0\n", '"')) * size)


NUMBERS = ("duration", "peak", "slo", "trigger", "period", "maximum", "initial", "limit", "partitions", "cores", "seed")


def _bomb_toml(rng: Random, folder: Path, size: int) -> None:
    base = 'policies = ["ds2"]\njobs = ["q1"]\nworkloads = ["tide"]\n'
    bomb = rng.choice(
        (
            f"seeds = {10**9}\n", f"seeds = {size}\n", "seeds = 0x" + "f" * size + "\n", f"seeds = 1{'0' * size}\n",
            "title = " + "[" * size + "\n", "run = " + "{a=" * size + "\n", ".".join("a" * size) + " = 1\n",
            "[" + ".".join("a" * size) + "]\n", "title = " + _levels(size) + "\n", 'title = "' + "x" * size + '"\n',
            'title = """' + '"' * size + "\n", "".join(f"[a{k}]\n" for k in range(size)), "[run]\nduration = 1e300\n",
            "[run]\nperiod = 1e-300\n", "[run]\nmaximum = 1000000000\n", f'[run]\nduration = "{"9" * size}h"\n',
            "[run]\nfailures = [" + "1," * size + "]\n", "x = " + "'" * size + "\n", "#" + "a" * size, "\x00" * size,
        )
    )  # fmt: skip
    path = folder / "bomb.toml"
    path.write_text(base + bomb)
    grid = grids.grid(grids.merged(grids.read(path), {}), str(path))
    runs = cells(grid, place=str(path))
    run(replace(runs[0].experiment, duration=600.0))


def _json_bombs(size: int) -> list[str]:
    job = '{"job": "q1", "cost": %s}'
    values = [
        "[" * size,
        '{"a":' * size,
        _levels(size),
        "9" * size,
        "1e" + "9" * size,
        '"' + "\\u0000" * size + '"',
        "1" * size + "e-1",
    ]
    return [*values, *(job % value for value in values), '{"job": "q1", ' + '"x": 1, ' * size + '"y": 1}']


def _levels(levels: int) -> str:
    return "[" * levels + "]" * levels


def _numbers(values: Mapping[str, Any]) -> list[float]:
    return [value for value in values.values() if isinstance(value, int | float)]


FILES: Mapping[str, Callable[[Random, Path], None]] = {
    "recordings": recordings,
    "models": models,
    "traces": traces,
    "profiles": profiles,
    "experiments": experiments,
    "stored runs": stored,
    "bombs": bombs,
}
