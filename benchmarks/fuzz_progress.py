"""Mutated sequences of progress reports, as the engine and policies see them."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from mutations import dumps, garbled, mutated
from tidegate.core import Decision, ExecutorSample, Limits, Observation
from tidegate.presets import autoscaler
from tidegate.spark.reports import ReportLog

RECORDED = Path(__file__).parents[1] / "tests" / "recorded" / "progress_q11.jsonl"
POLICIES = ("hpa-cpu", "ds2", "daedalus", "keda-lag")
#: reports of a sequence, good reports that follow, and the seconds and records from one to the next
REPORTS, GOOD, TRIGGER, RATE, START = 10, 10, 3.0, 1000.0, 1794796400.0
#: the largest count that is believed; a rate is at most that many in a millisecond
MOST = 2.0**53


@cache
def recorded() -> dict[str, Any]:
    report: dict[str, Any] = json.loads(RECORDED.read_text().splitlines()[2])
    for operator in report["stateOperators"]:
        del operator["customMetrics"]  # nobody reads them
    return report


def _kafka(records: float) -> Any:
    return {"bids": {"0": int(records) // 2, "1": int(records) - int(records) // 2}}


#: kinds of sources: how each writes that so many records have been read
SOURCES: dict[str, Callable[[float], Any]] = {
    "tidegate": lambda n: {"record": int(n), "start": START},
    "kafka": _kafka,
    "kafka text": lambda n: json.dumps(_kafka(n)),
    "rate": lambda n: int(n / RATE),
    "delta": lambda n: {
        "sourceVersion": 1,
        "reservoirId": "a3f1",
        "reservoirVersion": int(n / 3000),
        "index": 1,
        "isStartingVersion": False,
    },
}


@cache
def good(kind: str, number: int) -> str:
    """The report of a batch in a run at a constant rate, in which one trigger's worth of records waits."""
    offset, begin = SOURCES[kind], number * TRIGGER * RATE
    end, planned = begin + TRIGGER * RATE, START + number * TRIGGER
    report = deepcopy(recorded())
    stamp = datetime.fromtimestamp(planned, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    report |= {"timestamp": stamp, "batchId": number, "numInputRows": int(TRIGGER * RATE)}
    report["durationMs"] |= {"triggerExecution": 1500}
    latest = None if kind == "delta" else offset(end + TRIGGER * RATE)
    source = report["sources"][0]
    source |= {"startOffset": offset(begin), "endOffset": offset(end), "latestOffset": latest}
    if kind.startswith("kafka"):
        source["metrics"] = {"avgOffsetsBehindLatest": "1500.0", "maxOffsetsBehindLatest": "1500"}
    report["observedMetrics"] = {"tidegate_records": {"times": [(planned - 3) * 1000, (planned - 1) * 1000]}}
    return json.dumps(report)


def mutants(rng: Random, kind: str) -> list[str]:
    """The texts of a sequence: reports dropped, doubled, swapped, changed and garbled."""
    reports = [json.loads(good(kind, number)) for number in range(REPORTS)]
    for _ in range(rng.randrange(4)):
        a, b = rng.randrange(len(reports)), rng.randrange(len(reports))
        how = rng.randrange(5)
        if how == 0 and len(reports) > 3:
            del reports[a]
        elif how == 1:
            reports.insert(b, deepcopy(reports[a]))
        elif how == 2:
            reports[a], reports[b] = reports[b], reports[a]
        elif how == 3:
            source = reports[a]["sources"][0]
            source["startOffset"], source["endOffset"] = source["endOffset"], source["startOffset"]
        else:
            years = rng.choice((-30, -1, 1, 100))
            reports[a]["timestamp"] = reports[a]["timestamp"].replace("2026-", f"{2026 + years}-")
    for _ in range(rng.randrange(1, 4)):
        a = rng.randrange(len(reports))
        reports[a] = mutated(rng, reports[a], rng.randrange(1, 4))
    texts = [dumps(report) for report in reports]
    if rng.random() < 0.2:
        a = rng.randrange(len(texts))
        texts[a] = garbled(rng, texts[a]).decode("utf-8", "replace")
    return texts


def sequence(rng: Random, folder: Path, names: Sequence[str] = POLICIES) -> None:
    """One sequence: every report is added, every policy decides on every observation."""
    kind = rng.choice(tuple(SOURCES))
    base = 0.0 if kind == "tidegate" and rng.random() < 0.5 else None
    log, policies = ReportLog(base=base), [autoscaler(name, Limits(1, 8), {}).policy for name in names]
    received = rng.random() < 0.7
    texts = mutants(rng, kind)
    for number, text in enumerate(texts):
        now = START + number * TRIGGER + 1.6
        add(log, text, now if received else None)
        check(log, now, policies, rng)
    later = max(len(texts), REPORTS) + rng.randrange(3)
    for number in range(later, later + GOOD):
        now = START + number * TRIGGER + 1.6
        add(log, good(kind, number), now if received else None)
        check(log, now, policies, rng)
    check_healed(log, kind, START + (later + GOOD - 1) * TRIGGER)


def add(log: ReportLog, text: str, received: float | None) -> None:
    """As the engine does. Earlier versions of the log know neither `parse` nor `received`."""
    if not hasattr(log, "parse"):
        log.add(json.loads(text))
        return
    report = log.parse(text)
    if report is not None:
        log.add(report, received)


def check(log: ReportLog, now: float, policies: Iterable[Any], rng: Random) -> None:
    obs = observation(log, now, rng)
    for name in ("arrival_rate", "processing_rate", "backlog", "latency", "trigger", "batch_duration"):
        value = getattr(obs, name)
        assert value is None or math.isfinite(value), f"{name} is not finite"
        assert value is None or value >= 0, f"{name} is negative"
        most = MOST * 1000 if "rate" in name else MOST * 10
        assert value is None or value <= most, f"{name} is beyond all measure"
    for value in (log.state_rows, log.state_bytes, log.rows_dropped):
        assert value is None or 0 <= value <= MOST * 10, "state is no count"
    assert len(getattr(log, "problems", ())) <= 20, "problems pile up"
    for batch in obs.batches:
        numbers = (batch.planned, batch.finished, batch.begin, batch.end, *batch.times)
        assert all(map(math.isfinite, numbers)), "a batch has a number that is not finite"
        assert batch.end >= batch.begin >= 0 <= batch.rows, "a batch goes backwards"
    for policy in policies:
        policy.observe(obs)
        check_decision(policy.decide(obs))


def check_decision(decision: Decision) -> None:
    assert isinstance(decision.executors, int), f"a decision for {decision.executors!r} executors"
    assert not any(math.isnan(value) for value in decision.evidence.values()), "evidence is NaN"
    assert "nan" not in decision.reason.lower().split(), "a reason has NaN"


def check_healed(log: ReportLog, kind: str, now: float) -> None:
    """After good reports the figures are those of the good reports."""
    duration, trigger = log.duration, log.trigger
    assert duration == 1.5, "not healed: duration"
    assert trigger is not None, "not healed: trigger"
    assert math.isclose(trigger, TRIGGER, rel_tol=1e-6), "not healed: trigger"
    processed = log.processing_rate
    assert processed is not None, "not healed: processing rate"
    assert math.isclose(processed, RATE, rel_tol=0.02), "not healed: processing rate"
    if kind == "delta":
        return
    arrival, backlog = log.arrival_rate, log.backlog(now)
    assert arrival is not None, "not healed: arrival rate"
    assert math.isclose(arrival, RATE, rel_tol=0.02), "not healed: arrival rate"
    assert backlog is not None, "not healed: backlog"
    assert math.isclose(backlog, TRIGGER * RATE, rel_tol=0.02), "not healed: backlog"


def observation(log: ReportLog, now: float, rng: Random) -> Observation:
    known = {field.name for field in fields(Observation)}
    values = {
        "arrival_rate": log.arrival_rate,
        "processing_rate": log.processing_rate,
        "backlog": log.backlog(now),
        "latency": log.latency,
        "trigger": log.trigger,
        "batch_duration": log.duration,
        "state_rows": log.state_rows,
        "state_bytes": log.state_bytes,
        "batches": () if log.batch is None else (log.batch,),
    }
    cpu = rng.random()
    executors = tuple(ExecutorSample(str(id), cpu=cpu, busy=cpu, uptime=300.0) for id in range(2))
    return Observation(now, 2, 2, per_executor=executors, **{k: v for k, v in values.items() if k in known})
