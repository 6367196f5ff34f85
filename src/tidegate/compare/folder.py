"""The folder of a comparison: what it is (`spec.json`), and a line for each run that is done, so that a comparison
that was interrupted goes on where it was.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tidegate.compare.cell_runner import Result
from tidegate.core import InvalidInput

SPEC, RUNS, SERIES, LOCK = "spec.json", "runs.jsonl", "series.jsonl", "lock"
#: of what a folder holds, all that belongs to one comparison
OWN = (SPEC, RUNS, SERIES, "runs.parquet", "runs.csv", "report.html")
#: of a specification: may change without changing a figure
IDLE = ("title", "description")
#: of a specification: the code that made the figures
CODE = "code"


class Folder:
    """Where results go. Only one comparison at a time writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def open(cls, path: Path, spec: Mapping[str, Any], *, fresh: bool = False) -> Iterator[Folder]:
        """The folder of a comparison, made if need be. One that holds another comparison is refused, unless `fresh`
        drops it. Results of other code are no use to go on from: they are dropped too.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            with _alone(path):
                folder = cls(path)
                folder._begin(json.loads(json.dumps(spec)), fresh)
                yield folder
        except OSError as error:
            raise InvalidInput(f"cannot keep a comparison in {path}: {error.strerror}") from None

    def runs(self) -> dict[str, dict[str, Any]]:
        """Those that are done, by key. Failed ones are not: they are tried again."""
        found = {str(line["run"]): line for line in _lines(self.path / RUNS)}
        return {key: run for key, run in found.items() if run["status"] == "done"}

    def series(self) -> dict[str, dict[str, Any]]:
        return {str(line["key"]): line for line in _lines(self.path / SERIES)}

    def keep(self, results: Iterable[Result]) -> None:
        """Curves first: a run that is there has them."""
        kept = list(results)
        _append(self.path / SERIES, [one.series for one in kept if one.series is not None])
        _append(self.path / RUNS, [one.run for one in kept])

    def _begin(self, spec: Mapping[str, Any], fresh: bool) -> None:
        kept = self._spec()
        if kept is None and (self.path / RUNS).exists() and not fresh:
            raise InvalidInput(f"{self.path} has {RUNS} but no readable {SPEC}: --fresh begins anew")
        if kept is not None and not fresh and (other := difference(_named(kept), _named(spec))):
            raise InvalidInput(f"{self.path} holds another comparison ({other}): choose another --out, or --fresh")
        if fresh or kept is None or kept.get(CODE) != spec.get(CODE):
            for name in OWN:
                (self.path / name).unlink(missing_ok=True)
        _replace(self.path / SPEC, json.dumps(spec, indent=2) + "\n")
        for name in (RUNS, SERIES):
            _mend(self.path / name)

    def _spec(self) -> Mapping[str, Any] | None:
        try:
            found = json.loads((self.path / SPEC).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return found if isinstance(found, Mapping) else None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """A record lock belongs to this process only: workers that outlive it by a moment do not hold it."""
    with (path / LOCK).open("w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput(
                f"another comparison is writing to {path}: wait for it, or choose another --out"
            ) from None
        yield


def digest(spec: Mapping[str, Any]) -> str:
    """The same for comparisons of the same runs, whatever they are called and whichever code runs them."""
    return hashlib.sha256(json.dumps(_named(spec), sort_keys=True).encode()).hexdigest()


def _named(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in (*IDLE, CODE)}


def difference(there: Any, here: Any, place: str = "") -> str | None:
    """Where two specifications first differ.

    >>> difference({"seeds": [0, 1], "run": {"slo": 30}}, {"seeds": [0, 1], "run": {"slo": 10}})
    'run.slo is 30 there, 10 here'
    >>> difference({"jobs": ["q1"]}, {"jobs": ["q1"]}) is None
    True
    """
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        keys = dict.fromkeys((*there, *here))
        found = (difference(there.get(key), here.get(key), f"{place}.{key}".lstrip(".")) for key in keys)
        return next((one for one in found if one), None)
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = enumerate(zip(there, here, strict=True))
        return next((one for k, (a, b) in pairs if (one := difference(a, b, f"{place}[{k}]"))), None)
    return None if there == here else f"{place} is {_short(there)} there, {_short(here)} here"


def _short(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _replace(path: Path, text: str) -> None:
    """Whole or not at all, whenever the process is killed."""
    draft = path.with_suffix(".new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Each line in one call to the system, so that no signal tears it."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        for line in lines:
            os.write(handle, (json.dumps(line) + "\n").encode())
    finally:
        os.close(handle)


def _mend(path: Path) -> None:
    """Drop what a kill or a full disk has left of a last line."""
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole[0]) + len(whole[1]))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield dict(json.loads(line))
        except ValueError:
            raise InvalidInput(f"{path} line {number} is no JSON: --fresh begins anew") from None
