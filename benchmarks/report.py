"""Cost of a report: CPU and memory of `tidegate report` on the last run of a store, in a process of its own.

python benchmarks/synthetic.py day.db && python benchmarks/report.py day.db
"""

import argparse
import resource
import time
from pathlib import Path

from tidegate.report import ticks_needed, write
from tidegate.store import Store


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--to", type=Path, default=Path("report.html"))
    given = parser.parse_args()
    imported = time.process_time()
    with Store.open(given.store) as store:
        run = store.run("last")
        path = write(run, (tick for _, tick in store.ticks(run.id, at_most=ticks_needed(run))), given.to)
    used, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"run {run.id}: {used:.1f} CPU-seconds, {imported:.1f} of them for imports; peak {peak:.0f} MiB;"
        f" {path} {path.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
