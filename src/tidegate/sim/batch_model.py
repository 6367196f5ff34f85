"""How long a job's micro-batches take, how its executors come and go: what a simulated Spark needs to know of a job.

    batch time = fixed + (overhead * W + cost * records * X * n / speed + what a change of executors adds) * pace

with W and X the waves and the spread of its tasks over n executors' slots (`capacity.microbatch`). Executors that have
just come are slow and get faster with what they do: after `worked` seconds of tasks they have 1 / (1 + young *
exp(-worked / fade)) of their later speed; `speed` is the sum over all. The machine's own pace varies by `noise`
(`sim.pace`). Seconds, records, shares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tidegate.capacity.microbatch import Layout
from tidegate.core import InvalidInput, UnknownName, check, parameter
from tidegate.core.reading import parse_json, read_text, shown

#: keys of a model that are no numbers
TEXTS = frozenset({"job", "origin"})
#: bounds of a model: a day, and what no cluster has
DAY, MANY = 86_400, 1_000_000


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A job on Spark, in numbers. `tidegate calibrate` fits them to stored runs.

    >>> model = BatchModel("q1", fixed=0.5, overhead=0.0, cost=1e-5, tasks=12)
    >>> model.batch_time(100_000, 1), model.batch_time(100_000, 4), model.batch_time(100_000, 99)
    (1.5, 0.75, 0.5833333333333334)
    """

    job: str
    fixed: float = parameter(0.3, "s", "time of a batch without tasks: planning and commit", least=0, most=DAY)
    overhead: float = parameter(0.02, "s", "time of a wave of tasks apart from records", least=0, most=DAY)
    cost: float = parameter(1e-5, "s", "time of a slot for a record", above=0, most=DAY)
    tasks: int = parameter(12, "", "tasks of each stage: its partitions", least=1, most=MANY)
    stages: int = parameter(1, "", "stages of a batch", least=1, most=MANY)
    #: of the work, what is done in the first stage; and what it passes on for a record
    first: float = parameter(1.0, "share", "of the work in the first stage", least=0, most=1)
    passed: float = parameter(1.0, "", "records that the first stage passes on for each it reads", least=0, most=1e12)
    skew: float = parameter(0.0, "share", "by how much the largest partition exceeds the mean", least=0, most=MANY)
    cores: int = parameter(1, "", "slots of an executor", least=1, most=MANY)
    cpu: float = parameter(0.95, "share", "of a slot's time that its CPU is busy", above=0, most=1)
    idle: float = parameter(0.02, "share", "CPU of an executor without tasks", least=0, most=1)
    startup: float = parameter(4.0, "s", "from asking for an executor until it can be used", least=0, most=DAY)
    leave: float = parameter(
        2.0, "s", "for which executors that must go and have no more tasks are still there", least=0, most=DAY
    )
    cold: float = parameter(
        1.0, "s", "in which a new executor loads and compiles: its first batch waits for it", least=0, most=DAY
    )
    reload: float = parameter(
        0.0, "s", "by which the batch after a loss of executors is longer: state loaded", least=0, most=DAY
    )
    #: below 0 where it is faster, as under a quota that holds only after a while
    young: float = parameter(
        0.0, "share", "by how much an executor that has done nothing needs more time", above=-1, most=MANY
    )
    fade: float = parameter(60.0, "s", "of work after which 63 % of that has gone", least=0.001, most=MANY)
    noise: float = parameter(0.03, "share", "by how much the machine's pace varies, up and down", least=0, most=0.25)
    state: float = parameter(0.0, "rows", "of state for each record a second", least=0, most=1e12)
    #: where the numbers come from
    origin: str = ""

    def __post_init__(self) -> None:
        check(self, f"model of {self.job}")

    @property
    def layout(self) -> Layout:
        shares = (self.first, 1 - self.first) if self.stages > 1 else (1.0,)
        return Layout(tuple((self.tasks, share) for share in shares), self.cores)

    @property
    def ceiling(self) -> int:
        """From so many executors on, more of them do nothing."""
        return -(-self.tasks // self.cores)

    def parts(self, executors: int) -> tuple[float, float]:
        """Seconds of an empty batch, and for each record, with executors that are not young."""
        layout = self.layout
        waves = self.overhead * layout.waves(executors)
        return self.fixed + waves, self.cost * max(layout.spread(executors), (1 + self.skew) / self.tasks)

    def speed(self, worked: float) -> float:
        """Of an executor after so many seconds of tasks, as a share of its later speed."""
        return 1 / (1 + self.young * math.exp(-worked / self.fade))

    def batch_time(self, records: float, executors: int) -> float:
        empty, each = self.parts(executors)
        return empty + each * records

    def capacity(self, executors: int, trigger: float, limit: float) -> float:
        """The largest rate that can be kept up, with batches of at most `limit` records."""
        if executors < 1:
            return 0.0
        return limit / max(trigger, self.batch_time(limit, executors))


def text(model: BatchModel) -> str:
    return json.dumps(asdict(model), indent=2) + "\n"


def parse(found: str, place: str) -> BatchModel:
    """A model from JSON; unknown keys and values out of bounds are refused with the place."""
    values = parse_json(found, place)
    if not isinstance(values, Mapping) or not isinstance(values.get("job"), str):
        raise InvalidInput(f"{place}: need an object with the key 'job', got {found.strip()[:40]!r}")
    return _model(dict(values), place)


def _model(values: dict[str, Any], place: str) -> BatchModel:
    known = {one.name: one for one in fields(BatchModel)}
    for key, value in values.items():
        if key not in known:
            raise UnknownName(f"key of the model {place}", key[:60], known)
        if key in TEXTS and not isinstance(value, str):
            raise InvalidInput(f"{place}: need text for {key}, got {shown(value)}")
        if key not in TEXTS and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InvalidInput(f"{place}: need a number for {key}, got {shown(value)}")
        if isinstance(known[key].default, int) and value != int(value):
            raise InvalidInput(f"{place}: need a whole number for {key}, got {value:g}")
    wholes = {key: int(value) for key, value in values.items() if isinstance(known[key].default, int)}
    return BatchModel(**{**values, **wholes})


def bundled() -> dict[str, str]:
    """The models that come with the project, by job: fitted to runs on real Spark (docs/simulator.md)."""
    folder = files("tidegate.sim") / "models"
    return {one.name.removesuffix(".json"): one.read_text() for one in folder.iterdir() if one.name.endswith(".json")}


@cache
def _bundled(name: str) -> BatchModel | None:
    known = bundled()
    return parse(known[name], f"the model of {name}") if name in known else None


def model(name: str) -> BatchModel:
    """Of a job by its name, or from a file that `tidegate calibrate` wrote."""
    found = _bundled(name)
    if found is not None:
        return found
    path = Path(name)
    if path.suffix != ".json":
        raise UnknownName("model", name, [*sorted(bundled()), "FILE.json"])
    return parse(read_text(path, f"model {name}: cannot be read"), f"model {name}")


#: records: what no batch ever has
UNLIMITED = 1e18


@dataclass(frozen=True, slots=True)
class Query:
    """How a job is run: its trigger, the most records of a batch, and where the grid of triggers begins."""

    trigger: float = 10.0
    limit: float = UNLIMITED
    phase: float = 0.0
    #: seconds after the workload's end until which the query goes on
    drain: float = 0.0
    #: seconds of tasks that the executors of the start have done
    worked: float = math.inf
    #: when an executor dies
    failures: tuple[float, ...] = field(default=())
