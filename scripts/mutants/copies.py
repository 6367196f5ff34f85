"""Copies of the tree in which mutants live, one at a time in each.

Tests run in children of a server that has imported what they need of other packages, which is most of the time that a
short test takes.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTEST = ("-q", "-p", "calls", "-m", "not spark and not kafka", "--hypothesis-seed=0", "--tb=line")
#: hypothesis is imported before pytest, which would rewrite its assertions
IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "spark-warehouse")

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["pytest", "hypothesis.strategies", "numpy", "pandas", "scipy.optimize", "rich.table"])
_running: set[BaseProcess] = set()


def kill_all() -> None:
    """End the tests of all copies, for whoever does not want to wait for them."""
    for process in list(_running):
        _kill(process)


def _kill(process: BaseProcess) -> None:
    if process.pid is not None and process.is_alive():
        with suppress(ProcessLookupError):  # it is no leader of a group yet, or it has just ended
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()


@dataclass(frozen=True, slots=True)
class Copy:
    root: Path

    @classmethod
    def made(cls, root: Path) -> Copy:
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)
        return cls(root)

    def pytest(self, *arguments: str, limit: float | None = None) -> tuple[int | None, str]:
        """(exit code, output) of the copy's tests, with the copy's Tidegate; the code is None after the time limit."""
        # an example that failed under one mutant is no test of another
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
        process = _server.Process(target=_run, args=(self.root, [*PYTEST, *IMPORTED, *arguments]))
        process.start()
        _running.add(process)
        process.join(limit)
        if process.is_alive():
            _kill(process)
        _running.discard(process)
        code = process.exitcode
        return None if code == -signal.SIGKILL else code, (self.root / "output.txt").read_text(errors="replace")

    def meet(self, file: str, source: str, tests: Iterable[str], limit: float) -> tuple[str, str]:
        """(outcome, test that failed) of the tests while a file has another source."""
        path = self.root / "src/tidegate" / file
        original = path.read_text()
        try:
            self._write(path, source)
            code, output = self.pytest("-x", *tests, limit=limit)
        finally:
            self._write(path, original)
        if code is None:
            return "timeout", ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return "survived" if code in {0, 5} else "killed", failed[1] if failed else ""

    @staticmethod
    def _write(path: Path, source: str) -> None:
        path.write_text(source)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()  # Python trusts one that has the source's size and second


def _run(root: Path, arguments: Sequence[str]) -> None:
    """In a child, which is the leader of a group of its own: the copy comes before the installed Tidegate."""
    os.setsid()
    os.chdir(root)
    with (root / "output.txt").open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.path[:0] = [str(root / "src"), str(HERE)]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    import pytest  # noqa: PLC0415, here and not where the mutants are chosen

    sys.exit(int(pytest.main(list(arguments))))
