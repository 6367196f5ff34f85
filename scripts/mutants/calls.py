"""A plugin of pytest: which test file calls which functions of Tidegate, and how long it takes.

`--calls FILE` writes {test file: {"calls": [[source file, first line of a function]], "seconds": s, "failed": [test]}}.
A call counts for the whole test file, since its tests share fixtures and caches.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

#: bytes of address space: a mutant that allocates for ever must not take the machine with it
MEMORY = 8 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", help="write which test file calls which functions to this file")


def pytest_configure(config: pytest.Config) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if config.getoption("--calls"):
        config.pluginmanager.register(_Calls(Path(config.getoption("--calls"))))


class _Calls:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.codes: dict[str, set[CodeType]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: dict[str, list[str]] = defaultdict(list)
        self._called: set[CodeType] = set()

    def _trace(self, frame: FrameType, event: str, arg: object) -> None:
        self._called.add(frame.f_code)  # and nothing for the lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._called = self.codes[item.nodeid.split("::")[0]]
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid.split("::")[0]
        self.seconds[test] += report.duration
        if report.failed:
            self.failed[test].append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed[report.nodeid.split("::")[0]].append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        found = {}
        for test in {*self.codes, *self.failed}:
            codes = self.codes[test]
            calls = {(code.co_filename, code.co_firstlineno) for code in codes if "/tidegate/" in code.co_filename}
            found[test] = {"calls": sorted(calls), "seconds": self.seconds[test], "failed": self.failed[test]}
        self.file.write_text(json.dumps(found))
