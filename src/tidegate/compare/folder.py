"""The folder of a comparison: its specification (`spec.json`) and one line per finished run, so that an interrupted
comparison can be resumed.
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

from tidegate.compare.cell_runner import CellResult
from tidegate.compare.curves import RunCurves, parse, plain
from tidegate.core import InvalidInput
from tidegate.runs import RunResult, decode, encode

SPEC, RUNS, SERIES, LOCK = "spec.json", "runs.jsonl", "series.jsonl", "lock"
#: files that belong to one comparison
OWN = (SPEC, RUNS, SERIES, "runs.parquet", "runs.csv", "report.html")
#: keys of a specification that do not affect any figure
IDLE = ("title", "description")
#: key of a specification: digest of the code that computed the figures
CODE = "code"


class Folder:
    """Storage for the results of a comparison. Only one comparison at a time may write to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def open(cls, path: Path, spec: Mapping[str, Any], *, fresh: bool = False) -> Iterator[Folder]:
        """Open the folder of a comparison, creating it if necessary. A folder with another comparison is rejected,
        unless `fresh` deletes that. Results of other versions of the code are deleted too.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            with _locked(path):
                folder = cls(path)
                folder._begin(json.loads(json.dumps(spec)), fresh)
                yield folder
        except OSError as error:
            raise InvalidInput(f"cannot keep a comparison in {path}: {error.strerror}") from None

    def runs(self) -> dict[str, RunResult]:
        """Finished runs by key. Failed runs are left out, so that they are tried again."""
        results = (decode(RunResult, line, place) for place, line in _lines(self.path / RUNS))
        # if a run was tried twice, the last line counts
        latest = {result.run: result for result in results}
        return {key: result for key, result in latest.items() if result.status == "done"}

    def curves(self) -> dict[str, RunCurves]:
        stored = (parse(line, place) for place, line in _lines(self.path / SERIES))
        return {curves.key: curves for curves in stored}

    def keep(self, results: Iterable[CellResult]) -> None:
        """Append results. Curves are written first, so that every stored run has them."""
        finished = list(results)
        _append(self.path / SERIES, [plain(result.curves) for result in finished if result.curves is not None])
        _append(self.path / RUNS, [encode(result.run) for result in finished])

    def _begin(self, spec: Mapping[str, Any], fresh: bool) -> None:
        stored = self._spec()
        if stored is None and (self.path / RUNS).exists() and not fresh:
            raise InvalidInput(f"{self.path} has {RUNS} but no readable {SPEC}: --fresh begins anew")
        if stored is not None and not fresh and (changed := difference(_comparable(stored), _comparable(spec))):
            raise InvalidInput(f"{self.path} holds another comparison ({changed}): choose another --out, or --fresh")
        if fresh or stored is None or stored.get(CODE) != spec.get(CODE):
            for name in OWN:
                (self.path / name).unlink(missing_ok=True)
        _replace(self.path / SPEC, json.dumps(spec, indent=2) + "\n")
        for name in (RUNS, SERIES):
            _mend(self.path / name)

    def _spec(self) -> Mapping[str, Any] | None:
        try:
            spec = json.loads((self.path / SPEC).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return spec if isinstance(spec, Mapping) else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the folder with a record lock, which only this process holds and not workers that briefly outlive it."""
    with (path / LOCK).open("w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput(
                f"another comparison is writing to {path}: wait for it, or choose another --out"
            ) from None
        yield


def digest(spec: Mapping[str, Any]) -> str:
    """Digest of the runs of a comparison, independent of its title and of the code."""
    return hashlib.sha256(json.dumps(_comparable(spec), sort_keys=True).encode()).hexdigest()


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in (*IDLE, CODE)}


def difference(there: Any, here: Any, place: str = "") -> str | None:
    """The first difference between two specifications, as text.

    >>> difference({"seeds": [0, 1], "run": {"slo": 30}}, {"seeds": [0, 1], "run": {"slo": 10}})
    'run.slo is 30 there, 10 here'
    >>> difference({"jobs": ["q1"]}, {"jobs": ["q1"]}) is None
    True
    """
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        keys = dict.fromkeys((*there, *here))
        differences = (difference(there.get(key), here.get(key), f"{place}.{key}".lstrip(".")) for key in keys)
        return next((text for text in differences if text), None)
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = enumerate(zip(there, here, strict=True))
        return next((text for k, (a, b) in pairs if (text := difference(a, b, f"{place}[{k}]"))), None)
    return None if there == here else f"{place} is {_short(there)} there, {_short(here)} here"


def _short(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically, even if the process is killed."""
    draft = path.with_suffix(".new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON lines, each with a single system call, so that a signal cannot split it."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        for line in lines:
            os.write(handle, (json.dumps(line) + "\n").encode())
    finally:
        os.close(handle)


def _mend(path: Path) -> None:
    """Remove an incomplete last line, left by a kill or a full disk."""
    if path.exists():
        complete = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(complete[0]) + len(complete[1]))


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parsed lines of a file, each with its place."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            yield f"{path} line {number}", dict(json.loads(line))
        except (ValueError, TypeError, RecursionError):
            raise InvalidInput(f"{path} line {number} is no JSON: --fresh begins anew") from None
