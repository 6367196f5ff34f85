"""Speed of the producer with a real broker on the same machine: YSB events as JSON, about 250 bytes each.

Each rate is held for half a minute. `behind` is the age of the oldest record that was offered but not acknowledged: its
maximum over the run, and its maximum after the first five seconds, in which the broker's JVM is cold.

    python benchmarks/producer.py [--rates 100000 150000] [--duration 30]
"""

import argparse
import os
import resource
from pathlib import Path

from tidegate.jobs import events
from tidegate.kafka import Broker, Load, Progress, Target, create_topic, produce
from tidegate.workloads import Constant

COLD = 5.0


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu(pid: int) -> float:
    """CPU-seconds of another process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(rate: float, duration: float) -> None:
    warm: list[float] = [0.0]

    def tell(now: Progress) -> None:
        if now.time >= COLD:
            warm.append(now.behind)

    with Broker() as broker:
        target = Target(broker.address, "ysb", create_topic(broker.address, "ysb", 4))
        assert broker.pid is not None
        ours, theirs = own_cpu(), cpu(broker.pid)
        made = produce(Load(events("ysb", seed=0, rate=rate), Constant(duration, level=rate)), target, on_progress=tell)
        ours, theirs = own_cpu() - ours, cpu(broker.pid) - theirs
    print(
        f"{rate:9,.0f}/s wanted: {made.acknowledged / made.seconds:9,.0f}/s, {made.acknowledged:,} acknowledged,"
        f" {made.failed} failed; behind at most {made.behind:.2f} s, after {COLD:g} s {max(warm):.2f} s;"
        f" CPU of producer {ours:.1f} s, of broker {theirs:.1f} s in {made.seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", type=float, nargs="+", default=[100_000, 150_000])
    parser.add_argument("--duration", type=float, default=30)
    given = parser.parse_args()
    for rate in given.rates:
        measure(rate, given.duration)


if __name__ == "__main__":
    main()
