"""Accuracy of forecasts, coverage of their upper bounds, and their cost, on every named workload.

python benchmarks/forecast.py [--seeds 1 2 3] [--workloads tide sine] [--forecasters last chooser] [--keep FOLDER]
python benchmarks/forecast.py --week

Rolling forecasts of 15 minutes on 15 s means, one per minute after the first ten, on the native patterns with 2 % noise
per second. Auto-ARIMA is measured if statsforecast and pmdarima can be imported. It takes half an hour for three seeds,
so `--keep` saves its forecasts in a folder. Times are CPU times of one update and one forecast of 60 steps.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core, as in the control loop

import numpy as np

from tidegate.forecast import FORECASTERS
from tidegate.memory import memory
from tidegate.workloads import NAMED, named

STEP, HORIZON, FIRST, EVERY, MINUTE = 15, 60, 40, 4, 4
NOISE = 0.02
LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Result:
    """One row per origin: forecasts, 0.9 quantiles (not for auto-ARIMA), seconds of each update and forecast."""

    means: np.ndarray
    bounds: np.ndarray | None
    seconds: np.ndarray


def values(name: str, seed: int) -> np.ndarray:
    shape = named(name).noisy(seed, NOISE)
    return shape.means(int(shape.duration // STEP))


def origins(series: np.ndarray) -> range:
    return range(FIRST, len(series) - HORIZON + 1, EVERY)


def ours(name: str, series: np.ndarray) -> Result:
    forecaster, asked = FORECASTERS[name](), set(origins(series))
    means, bounds, seconds = [], [], []
    for count, value in enumerate(series, 1):
        began = time.thread_time()
        forecaster.update(float(value))
        found = forecaster.forecast(HORIZON)
        seconds.append(time.thread_time() - began)
        if count in asked:
            means.append(found.mean)
            bounds.append(found.quantiles[LEVEL])
    return Result(np.array(means), np.array(bounds), np.array(seconds))


def sound(path: np.ndarray, last: float) -> np.ndarray:
    return np.clip(np.where(np.isfinite(path), path, last), 0.0, None)


def statsforecast(series: np.ndarray) -> Iterator[np.ndarray]:
    """Refits orders and coefficients at every origin, on one-minute means."""
    from statsforecast.models import AutoARIMA  # noqa: PLC0415, may not be there

    for origin in origins(series):
        minutes = series[origin % MINUTE : origin].reshape(-1, MINUTE).mean(axis=1)
        try:
            path = AutoARIMA(season_length=1).forecast(minutes, HORIZON // MINUTE)["mean"]
        except Exception:  # it gives up on some series; the last minute stands in
            path = np.full(HORIZON // MINUTE, minutes[-1])
        yield np.repeat(path, MINUTE)


def pmdarima(series: np.ndarray) -> Iterator[np.ndarray]:
    """As in Daedalus: trained once, updated every minute, retrained after 15 minutes in a row off by 10 % or more."""
    from pmdarima import auto_arima  # noqa: PLC0415

    model, last, bad, path = None, 0, 0, None
    for origin in origins(series):
        came = series[last:origin]
        if path is not None:
            missed = np.abs(came - path[: len(came)]).sum() / came.sum() if came.sum() else 1.0
            bad = bad + 1 if missed >= 0.10 else 0
        try:
            if model is None or bad >= 15:
                model, bad = auto_arima(series[:origin], seasonal=False, error_action="ignore"), 0
            else:
                model.update(came)
            path = np.asarray(model.predict(HORIZON), dtype=float)
        except Exception:  # it gives up on some series; the last minute stands in, and it is trained again
            model, path = None, np.full(HORIZON, series[origin - MINUTE : origin].mean())
        path, last = sound(path, series[origin - 1]), origin
        yield path


THEIRS: dict[str, Callable[[np.ndarray], Iterator[np.ndarray]]] = {"statsforecast": statsforecast, "pmdarima": pmdarima}


def theirs(name: str, workload: str, seed: int, keep: Path | None) -> Result | None:
    """None if the library is not installed."""
    file = keep / f"{name}-{workload}-{seed}.npz" if keep else None
    if file and file.exists():
        found = np.load(file)
        return Result(found["means"], None, found["seconds"])
    try:
        __import__(name)
    except ImportError:
        return None
    series = values(workload, seed)
    means, seconds, began = [], [], time.thread_time()
    for origin, path in zip(origins(series), THEIRS[name](series), strict=True):
        seconds.append(time.thread_time() - began)
        means.append(sound(path, series[origin - 1]))
        began = time.thread_time()
    if file:
        np.savez(file, means=means, seconds=seconds)
    return Result(np.array(means), None, np.array(seconds))


def figures(series: np.ndarray, result: Result) -> tuple[float, float, float, float]:
    """WAPE, coverage, median and p99 milliseconds."""
    came = np.stack([series[origin : origin + HORIZON] for origin in origins(series)])
    wape = np.abs(came - result.means).sum() / came.sum()
    covered = np.nan if result.bounds is None else (came <= result.bounds).mean()
    return wape, covered, 1e3 * float(np.median(result.seconds)), 1e3 * float(np.quantile(result.seconds, 0.99))


def measure(name: str, workload: str, seeds: list[int], keep: Path | None) -> np.ndarray | None:
    """One row of figures per seed."""
    rows = []
    for seed in seeds:
        series = values(workload, seed)
        result = ours(name, series) if name in FORECASTERS else theirs(name, workload, seed, keep)
        if result is None:
            return None
        rows.append(figures(series, result))
    return np.array(rows)


def percent(share: float) -> str:
    """Two decimals, or three for small values."""
    return f"{100 * share:.{2 if share >= 0.01 else 3}f}"


def week(name: str) -> str:
    """Time and memory after seven days of waves."""
    forecaster, seconds = FORECASTERS[name](), []
    days = np.arange(7 * 24 * 240) / (24 * 240)
    noise = np.random.default_rng(1).normal(1.0, 0.01, size=len(days))
    for value in 1e5 * (1.5 + np.sin(2 * np.pi * days)) * noise:
        began = time.thread_time()
        forecaster.update(float(value))
        forecaster.forecast(HORIZON)
        seconds.append(time.thread_time() - began)
    size = len(json.dumps(memory(forecaster))) / 1e3
    later = 1e3 * np.array(seconds[6 * 240 :])
    return f"{name}: median {np.median(later):.2f}, p99 {np.quantile(later, 0.99):.2f} ms, memory {size:.0f} kB"


def cells(title: str, names: list[str], rows: dict[str, dict[str, str]]) -> None:
    print(f"\n| {title} | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}")
    for workload, row in rows.items():
        print(f"| {workload} | {' | '.join(row.get(name, '-') for name in names)} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--workloads", nargs="+", default=list(NAMED))
    parser.add_argument("--forecasters", nargs="+", default=[*FORECASTERS, *THEIRS])
    parser.add_argument("--keep", type=Path, help="folder in which auto-ARIMA's forecasts are kept")
    parser.add_argument("--week", action="store_true", help="cost and memory after seven days instead")
    given = parser.parse_args()
    if given.week:
        for name in FORECASTERS:
            print(week(name), flush=True)
        return
    warnings.filterwarnings("ignore")  # of fits that do not converge
    names, missing = list(given.forecasters), set()
    tables: dict[str, dict[str, dict[str, str]]] = {"WAPE": {}, "coverage": {}, "ms, median (p99)": {}}
    for workload in given.workloads:
        for rows in tables.values():
            rows[workload] = {}
        for name in names:
            found = measure(name, workload, given.seeds, given.keep)
            if found is None:
                missing.add(name)
                continue
            wape, _, median, p99 = found.mean(axis=0)
            tables["WAPE"][workload][name] = f"{percent(wape)} ({percent(np.ptp(found[:, 0]))})"
            if name in FORECASTERS:
                tables["coverage"][workload][name] = f"{100 * found[:, 1].min():.0f} to {100 * found[:, 1].max():.0f}"
            tables["ms, median (p99)"][workload][name] = f"{median:.1f} ({p99:.1f})"
        print(
            f"{workload}: " + ", ".join(f"{name} {cell}" for name, cell in tables["WAPE"][workload].items()), flush=True
        )
    print(f"\nSeeds of the noise: {given.seeds}. WAPE in %, mean over the seeds (range). Coverage in %, least to most.")
    for name in sorted(missing):
        print(f"{name} cannot be imported here: not measured")
    for title, rows in tables.items():
        cells(title, [name for name in names if name not in missing], rows)


if __name__ == "__main__":
    main()
