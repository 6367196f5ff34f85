"""A user's own query as a job: a Python file with a function `build(df) -> df`.

    def build(orders):
        return orders.withWatermark("at", "10 seconds").groupBy(F.window("at", "1 minute"), "shop").count()

Optionally the file says, as a `Job` does, the output mode (`mode = "update"`, with the columns that identify a row in
`key`), and in append mode the time column that the watermark must pass before a row is final (`closed_by = "end"`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.cloudpickle import register_pickle_by_value

from tidegate.core import InvalidInput, TidegateError, UnknownName
from tidegate.jobs.definition import Job

SUFFIX = ".py"
MODES = ("append", "update")


def application(file: str) -> Job:
    """The job in a file. A file that has changed is read again."""
    try:
        changed = Path(file).stat().st_mtime_ns
    except (OSError, ValueError) as error:
        raise InvalidInput(f"app {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return _load(file, changed)


@lru_cache(maxsize=8)
def _load(file: str, changed: int) -> Job:
    module = _module(file)
    build = getattr(module, "build", None)
    if not callable(build):
        raise InvalidInput(f"app {file}: need a function build(df) that returns the result, it has none")
    mode = _text(module, file, "mode") or "append"
    if mode not in MODES:
        raise UnknownName(f"mode of the app {file}", mode, MODES)
    key = _columns(getattr(module, "key", ()), file)
    if mode == "update" and not key:
        raise InvalidInput(f"app {file}: in update mode need the columns that identify a row, as in key = ['user']")
    summary = (module.__doc__ or "").strip().splitlines()
    return Job(
        Path(file).stem,
        summary[0] if summary else "a query of one's own",
        "",
        build,
        mode=mode,  # type: ignore[arg-type]
        closed_by=_text(module, file, "closed_by"),
        key=key,
    )


def _module(file: str) -> ModuleType:
    name = f"tidegate_app_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"app {file}: need a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except TidegateError:
        raise
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise InvalidInput(f"app {file}: fails when it is imported: {type(error).__name__}: {error}") from error
    # executors do not have the file: its functions travel with the query
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module


def _text(module: ModuleType, file: str, name: str) -> str | None:
    value = getattr(module, name, None)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"app {file}: need text for {name}, got {value!r}")
    return value


def _columns(value: Any, file: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"app {file}: need names of columns for key, got {value!r}")
    return names
