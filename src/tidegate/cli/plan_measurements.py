"""Where `tidegate plan` keeps what it measured: a folder for each query, with its records and its configuration."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tidegate.cli import plan_stored
from tidegate.cli.plan_stored import KeptFigures
from tidegate.compare.folder import digest
from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE
from tidegate.core.reading import parse_json, read_text
from tidegate.experiment.settings import Experiment
from tidegate.planner.explorer import Exploration, Probe
from tidegate.planner.spark_configuration.run_figures import RunFigures
from tidegate.planner.validation import Validation
from tidegate.profiling.partition_trial_runs import TrialProbe

ROOT = STORE.parent / "plan"
#: characters of the digest in the name of a folder
DIGEST = 12
PROBES, FIGURES, VALIDATIONS, TRIALS = "probes.json", "figures.json", "validations.json", "trials.json"
#: what is known of a folder that an earlier version wrote
NEVER_LOOKED = "costs and state of the runs were not looked at: --more or --fresh does"


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
        with self._readable(PROBES) as values:
            return plan_stored.items(PROBES, values or [], plan_stored.probe)

    def write(self, exploration: Exploration) -> None:
        if self._fresh:
            self._forget()
        self._write(PROBES, [asdict(probe) for probe in exploration.probes])

    def figures(self) -> tuple[RunFigures | None, str]:
        """Of the largest run, or why there are none."""
        kept = self._kept_figures()
        return (None, NEVER_LOOKED) if kept is None else (kept.figures, kept.reason)

    def keep_figures(self, new: KeptFigures) -> None:
        kept = self._kept_figures()
        if kept is None or kept.rank <= new.rank:
            self._write(FIGURES, new.plain)

    def _kept_figures(self) -> KeptFigures | None:
        with self._readable(FIGURES) as values:
            return None if values is None else plan_stored.figures_kept(FIGURES, values)

    def validations(self) -> tuple[Validation, ...]:
        with self._readable(VALIDATIONS) as values:
            return plan_stored.items(VALIDATIONS, values or [], plan_stored.validation)

    def keep_validation(self, validation: Validation) -> None:
        self._write(VALIDATIONS, [asdict(each) for each in (*self.validations(), validation)])

    def trials(self) -> tuple[TrialProbe, ...]:
        with self._readable(TRIALS) as values:
            return plan_stored.items(TRIALS, values or [], plan_stored.trial)

    def keep_trial(self, probe: TrialProbe) -> None:
        self._write(TRIALS, [asdict(each) for each in (*self.trials(), probe)])

    def _write(self, name: str, values: Any) -> None:
        self.save(name, json.dumps(values))

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

    @contextmanager
    def _readable(self, name: str) -> Iterator[Any]:
        """The values of a file, None without it. What cannot be used is refused, with the way out."""
        file = self.path / name
        try:
            absent = self._fresh or not file.exists()
            yield None if absent else parse_json(read_text(file, f"{name}: cannot be read"), name)
        except InvalidInput as error:
            reason = f"no measurements that Tidegate wrote ({error})"
            raise InvalidInput(f"{self.path}: {reason}: --fresh makes new ones") from None

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
    # a recording is named after its topic and the offsets at that time, wherever the broker is
    settings |= {"recording": Path(e.kafka.recording).name} if e.kafka else {}
    job = re.sub("[^a-z0-9]+", "-", Path(e.job).stem.lower())
    return f"{job}-{digest({**settings, 'contents': contents})[:DIGEST]}"
