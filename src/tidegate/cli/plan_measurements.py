"""Where `tidegate plan` keeps what it measured: a folder for each query, with its records and its configuration."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from tidegate.compare.folder import digest
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE
from tidegate.experiment.settings import Experiment
from tidegate.planner.averaging import Interval
from tidegate.planner.explorer import Exploration, Probe
from tidegate.planner.measurement import Measurement
from tidegate.planner.space import Configuration
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.planner.spark_configuration.stored_figures import figures_from
from tidegate.planner.spark_configuration.stored_figures import plain as plain_figures
from tidegate.planner.validation import Validation
from tidegate.profiling.partition_trial_runs import TrialProbe

ROOT = STORE.parent / "plan"
#: characters of the digest in the name of a folder
DIGEST = 12
PROBES, FIGURES, VALIDATIONS, TRIALS = "probes.json", "figures.json", "validations.json", "trials.json"
#: what is known of a folder that an earlier version wrote
NEVER_LOOKED = "costs and state of the runs were not looked at: --more or --fresh does"

T = TypeVar("T")


class PlanFolder:
    """`probes.json` in it has what was measured; figures of the largest run, validation runs and partition trials are
    beside it. `fresh` leaves all of it aside, and replaces it as soon as something new is kept.
    """

    def __init__(self, e: Experiment, root: Path = ROOT, *, fresh: bool = False) -> None:
        self.path = root / _name(e)
        self._fresh = fresh

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refused while another command measures the same."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("w")
        except OSError as error:
            raise InvalidInput(f"cannot write {self.path}: {error.strerror or error}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidInput(f"{self.path}: another `tidegate plan` measures this query; wait for it") from None
            yield

    def read(self) -> tuple[Probe, ...]:
        return self._items(PROBES, lambda values: Probe(**values))

    def write(self, exploration: Exploration) -> None:
        if self._fresh:
            self._forget()
        self.save(PROBES, json.dumps([asdict(probe) for probe in exploration.probes]))

    def figures(self) -> tuple[RunFigures | None, str]:
        """Of the largest run, or why there are none."""
        with self._readable(FIGURES):
            stored = self._stored(FIGURES)
            if stored is None:
                return None, NEVER_LOOKED
            if stored["figures"] is None:
                return None, str(stored["reason"])
            return figures_from(stored["figures"], f"{self.path / FIGURES}"), ""

    def keep_figures(self, of: Configuration, figures: RunFigures | None, reason: str) -> None:
        """Unless there are figures of a larger run. Some of a smaller one are better than none."""
        if self._rank() <= (figures is not None, of.slots, of.memory):
            run = None if figures is None else plain_figures(figures)
            self.save(FIGURES, json.dumps({**asdict(of), "figures": run, "reason": reason}))

    def _rank(self) -> tuple[bool, int, float]:
        with self._readable(FIGURES):
            stored = self._stored(FIGURES)
            if stored is None:
                return False, 0, 0.0
            return stored["figures"] is not None, int(stored["slots"]), float(stored["memory"])

    def validations(self) -> tuple[Validation, ...]:
        return self._items(
            VALIDATIONS,
            lambda values: Validation(Measurement(**values["measurement"]), Interval(**values["predicted"])),
        )

    def keep_validation(self, validation: Validation) -> tuple[Validation, ...]:
        """All of them."""
        return self._add(VALIDATIONS, self.validations(), validation)

    def trials(self) -> tuple[TrialProbe, ...]:
        return self._items(TRIALS, lambda values: TrialProbe(**values))

    def keep_trial(self, probe: TrialProbe) -> tuple[TrialProbe, ...]:
        return self._add(TRIALS, self.trials(), probe)

    def save(self, name: str, text: str) -> Path:
        """As a whole or not at all, whenever the command is killed."""
        file = self.path / name
        new = file.with_name(f"{name}.new")
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(file)
        except OSError as error:
            raise InvalidInput(f"cannot write {file}: {error.strerror or error}") from None
        return file

    def _add(self, name: str, kept: Sequence[T], new: T) -> tuple[T, ...]:
        everything = (*kept, new)
        self.save(name, json.dumps([asdict(item) for item in everything]))  # type: ignore[call-overload]
        return everything

    def _items(self, name: str, made: Callable[[Any], T]) -> tuple[T, ...]:
        with self._readable(name):
            return tuple(made(values) for values in self._stored(name) or ())

    def _stored(self, name: str) -> Any:
        """None without the file."""
        file = self.path / name
        if self._fresh or not file.exists():
            return None
        return json.loads(file.read_text(encoding="utf-8"))

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError, KeyError, InvalidInput) as error:
            reason = f"no measurements that Tidegate wrote ({error})"
            raise InvalidInput(f"{self.path / name}: {reason}: --fresh makes new ones") from None

    def _forget(self) -> None:
        for name in (PROBES, FIGURES, VALIDATIONS, TRIALS):
            (self.path / name).unlink(missing_ok=True)
        self._fresh = False


def _name(e: Experiment) -> str:
    """Names the measurements that can be used again: those of the same query, records and model, in the same
    configuration. Executors and their memory are what is explored.
    """
    names = ("job", "sample", "engine", "model", "trigger", "partitions", "cores", "quota")
    files = [Path(text.partition("?")[0]) for text in (e.job, e.sample, e.model)]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    settings = {name: getattr(e, name) for name in names}
    job = re.sub("[^a-z0-9]+", "-", Path(e.job).stem.lower())
    return f"{job}-{digest({**settings, 'contents': contents})[:DIGEST]}"
