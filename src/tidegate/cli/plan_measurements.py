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
from typing import TYPE_CHECKING

from tidegate.core import InvalidInput
from tidegate.core.defaults import STORE

if TYPE_CHECKING:
    from tidegate.experiment.settings import Experiment
    from tidegate.planner.explorer import Exploration, Probe

ROOT = STORE.parent / "plan"
#: characters of the digest in the name of a folder
DIGEST = 12


class PlanFolder:
    """`probes.json` in it has what was measured; model, profile and report are written beside it."""

    def __init__(self, e: Experiment, root: Path = ROOT) -> None:
        self.path = root / _name(e)
        self._probes = self.path / "probes.json"

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
        from tidegate.planner.explorer import Probe  # noqa: PLC0415

        if not self._probes.exists():
            return ()
        try:
            return tuple(Probe(**probe) for probe in json.loads(self._probes.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            reason = f"no measurements that Tidegate wrote ({error})"
            raise InvalidInput(f"{self._probes}: {reason}: --fresh makes new ones") from None

    def write(self, exploration: Exploration) -> None:
        self.save("probes.json", json.dumps([asdict(probe) for probe in exploration.probes]))

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


def _name(e: Experiment) -> str:
    """Names the measurements that can be used again: those of the same query, records and model, in the same
    configuration. Executors and their memory are what is explored.
    """
    from tidegate.compare.folder import digest  # noqa: PLC0415

    names = ("job", "sample", "engine", "model", "trigger", "partitions", "cores", "quota")
    files = [Path(text.partition("?")[0]) for text in (e.job, e.sample, e.model)]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    settings = {name: getattr(e, name) for name in names}
    # a recording is named after its topic and the offsets at that time, wherever the broker is
    settings |= {"recording": Path(e.kafka.recording).name} if e.kafka else {}
    job = re.sub("[^a-z0-9]+", "-", Path(e.job).stem.lower())
    return f"{job}-{digest({**settings, 'contents': contents})[:DIGEST]}"
