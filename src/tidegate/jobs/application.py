"""A user's query as a job: a Python file with a function `build(df) -> df`.

    def build(orders):
        return orders.withWatermark("at", "10 seconds").groupBy(F.window("at", "1 minute"), "shop").count()

Optionally the file says, as a `Job` does, the output mode (`mode = "update"`, with the columns that identify a row in
`key`), and in append mode the time column that the watermark must pass before a row is final (`closed_by = "end"`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame

from tidegate.core import InvalidInput, TidegateError, UnknownName
from tidegate.jobs.definition import Job

SUFFIX = ".py"
MODES = ("append", "update")


def application(file: str) -> Job:
    """The job in a file. A file that has changed is read again. Spark has to run: user-defined functions need it."""
    check_application(file)
    return _load(file, Path(file).stat().st_mtime_ns)


def check_application(file: str) -> None:
    """That a file is Python, as far as can be said without running it."""
    try:
        compile(Path(file).read_bytes(), file, "exec")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"app {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except SyntaxError as error:
        raise InvalidInput(f"app {file}, line {error.lineno}: {error.msg}") from None


@lru_cache(maxsize=8)
def _load(file: str, changed: int) -> Job:
    module = _module(file)
    build = getattr(module, "build", None)
    if not callable(build):
        raise InvalidInput(f"app {file}: need a function build(df) that returns the result, it has none")
    mode = _text(module, file, "mode") or "append"
    if mode not in MODES:
        raise UnknownName(f"mode of the app {file}", mode, MODES)
    key = _columns(_setting(module, "key") or (), file)
    if mode == "update" and not key:
        raise InvalidInput(f"app {file}: in update mode need the columns that identify a row, as in key = ['user']")
    summary = (module.__doc__ or "").strip().splitlines()
    return Job(
        Path(file).stem,
        summary[0] if summary else "a user's query",
        "",
        partial(_built, build, file),
        mode=mode,  # type: ignore[arg-type]
        closed_by=_text(module, file, "closed_by"),
        key=key,
    )


def _built(build: Callable[[DataFrame], DataFrame], file: str, records: DataFrame) -> DataFrame:
    """The result, or a sentence about why there is none."""
    try:
        result: object = build(records)
    except TidegateError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise InvalidInput(f"app {file}: build fails: {type(error).__name__}: {reason}") from error
    if not isinstance(result, DataFrame):
        raise InvalidInput(f"app {file}: need a DataFrame from build, got {type(result).__name__}")
    return result


def _module(file: str) -> ModuleType:
    name = f"tidegate_app_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"app {file}: need a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder, before = str(Path(file).absolute().parent), set(sys.modules)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except TidegateError:
        raise
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise InvalidInput(f"app {file}: fails when it is imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    # executors have neither the file nor those beside it: their functions travel with the query
    for imported in (name, *(set(sys.modules) - before)):
        if str(getattr(sys.modules[imported], "__file__", None) or "").startswith(folder):
            register_pickle_by_value(sys.modules[imported])  # type: ignore[no-untyped-call]
    return module


def _setting(module: ModuleType, name: str) -> Any:
    """A function is none: `from pyspark.sql.functions import *` brings one that is named `mode`."""
    value = getattr(module, name, None)
    return None if callable(value) else value


def _text(module: ModuleType, file: str, name: str) -> str | None:
    value = _setting(module, name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"app {file}: need text for {name}, got {value!r}")
    return value


def _columns(value: Any, file: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"app {file}: need names of columns for key, got {value!r}")
    return names
