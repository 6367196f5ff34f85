"""Records the runs on real Spark that the simulator's models are fitted to, and those that they are validated on.

    python benchmarks/record.py fit [NAMES ...] [--to tests/recorded/truth]
    python benchmarks/record.py hold        # last, once the models are fitted and nothing is changed any more

Each run takes about four minutes. Runs whose recording exists are left out, so an interrupted command goes on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: conditions that all runs share
CONDITIONS = {
    "duration": "150s",
    "quota": "0.3",
    # an executor starts and compiles its first tasks at full speed; then the quota makes it as slow as it stays
    "grace": "8",
    "trigger": "4s",
    "partitions": "8",
    "max-executors": "4",
}


@dataclass(frozen=True)
class Run:
    job: str
    workload: str
    rate: str
    policy: str = "hpa-cpu"
    initial: int = 1
    spread: bool = True

    def flags(self) -> list[str]:
        own = {"job": self.job, "workload": self.workload, "rate": self.rate, "policy": self.policy}
        given = {**CONDITIONS, **own, "initial": str(self.initial)}
        options = ["-p", "down-window=30"] if self.policy == "hpa-cpu" else []
        state = "--spread" if self.spread else "--no-spread"
        return [word for name, value in given.items() for word in (f"--{name}", value)] + [*options, state]


FIT = {
    "q1-a": Run("q1", "tide", "630k"),
    "q1-b": Run("q1", "steps", "1100k", initial=2),
    "q2-a": Run("q2", "tide", "1000k"),
    "q3-a": Run("q3", "tide", "100k"),
    "q5-a": Run("q5", "tide", "20k"),
    "q5-b": Run("q5", "steps", "18k", initial=2),
    "q8-a": Run("q8", "tide", "53k"),
    "q11-a": Run("q11", "steps", "92k", initial=2),
    "q11-b": Run("q11", "tide", "92k", spread=False),
    "wordcount-a": Run("wordcount", "tide", "60k"),
    "ysb-a": Run("ysb", "tide", "50k"),
    "traffic-a": Run("traffic", "tide", "25k"),
    "topspeed-a": Run("topspeed", "tide", "1150"),
}
HOLD = {
    "q1-constant": Run("q1", "constant", "700k"),
    "q1-steps": Run("q1", "steps", "1000k", initial=2),
    "q5-cosine": Run("q5", "cosine", "25k"),
    "q5-increasing": Run("q5", "increasing", "22k", initial=2),
    "q11-cosine": Run("q11", "cosine", "80k", policy="ds2", initial=2),
    "q11-steps": Run("q11", "steps", "110k"),
}


def record(name: str, run: Run, path: Path, store: Path) -> None:
    command = [sys.executable, "-m", "tidegate"]
    settings = [*run.flags(), "--no-verify", "--output", "json", "--store", str(store)]
    print(f"{name}: tidegate run {' '.join(run.flags())}", flush=True)
    done = subprocess.run([*command, "run", *settings], check=True, stdout=subprocess.PIPE, text=True)
    id = json.loads(done.stdout)["run"]
    subprocess.run([*command, "record", id, str(path), "--store", str(store)], check=True)
    # models and tables name their recordings
    path.write_text(path.read_text().replace(f'"name": "{id}"', f'"name": "{path.stem}"', 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=["fit", "hold"])
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--to", type=Path, default=Path("tests/recorded/truth"))
    parser.add_argument("--store", type=Path, default=Path(".tidegate/recordings.db"))
    given = parser.parse_args()
    runs, prefix = (FIT, "cal") if given.kind == "fit" else (HOLD, "hold")
    given.store.parent.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in given.names or runs:
        path = given.to / f"{prefix}-{name}.json"
        if path.exists():
            continue
        try:
            record(name, runs[name], path, given.store)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(f"{name}: exit code {error.returncode}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
