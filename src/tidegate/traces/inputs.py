"""The files behind what a user names: paths, patterns and folders, grouped by how they are read."""

from __future__ import annotations

import bz2
import glob
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput

#: how a file's name ends -> format
FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
#: compressed texts that Spark reads, and how their first line is read here
OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


@dataclass(frozen=True, slots=True)
class Source:
    """Files that are read alike. `files` are absolute paths, or one address that only Spark can look into."""

    format: str
    files: tuple[str, ...]
    #: first line of CSV files; None where it has not been looked at
    first: str | None = None
    separator: str = ","
    #: folder below which names like `region=eu` are columns (Parquet)
    base: str | None = None

    @property
    def remote(self) -> bool:
        return "://" in self.files[0]


@dataclass(frozen=True, slots=True)
class Inputs:
    sources: tuple[Source, ...]
    #: files in named folders that are left out: of another kind, or empty
    left_out: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file for source in self.sources for file in source.files)


@dataclass(frozen=True, slots=True)
class Found:
    """A file, and the folder that was named if it was not the file itself."""

    path: Path
    folder: Path | None = None


def find(logs: Iterable[str], format: str | None = None, separator: str | None = None) -> Inputs:
    """All files, each once however often it is named. What matches nothing is refused, as is a file whose format its
    name does not tell; such files in a folder are left out, and named.
    """
    named = [log.removeprefix("file://") for log in logs]
    remote = [log for log in named if "://" in log]
    found = {one.path.resolve(): one for log in named if "://" not in log for one in _matches(log)}
    groups: dict[tuple[str, str | None, str, str | None], list[str]] = {}
    left_out = []
    for path, one in found.items():
        kind = format or format_of(path.name)
        if kind is None and one.folder is None:
            raise InvalidInput(_no_format(str(path)))
        if kind is None or path.stat().st_size == 0:
            left_out.append(str(path))
            continue
        splits = separator or _separator(path.name)
        base = str(one.folder) if one.folder and kind == "parquet" else None
        key = (kind, first_line(path) if kind == "csv" else None, splits, base)
        groups.setdefault(key, []).append(str(path))
    sources = [Source(kind, tuple(files), first, splits, base) for (kind, first, splits, base), files in groups.items()]
    sources += [_remote(url, format, separator) for url in remote]
    if not sources:
        raise InvalidInput(f"nothing to read: {_few(left_out)} {_no_rows(format)}")
    return Inputs(tuple(sources), tuple(left_out))


def format_of(name: str) -> str | None:
    """
    >>> format_of("a.csv"), format_of("b.JSON.gz"), format_of("part-0.snappy.parquet"), format_of("README")
    ('csv', 'json', 'parquet', None)
    """
    return FORMATS.get(_ending(name))


def _ending(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in OPENERS else path.suffix


def _separator(name: str) -> str:
    return "\t" if _ending(name) == ".tsv" else ","


def _no_format(path: str) -> str:
    return f"{path} does not end in one of {', '.join(FORMATS)} (or these with .gz, .bz2): say which with --format"


def _no_rows(format: str | None) -> str:
    return (
        "is empty" if format else f"is empty or does not end in one of {', '.join(FORMATS)}: --format says what it is"
    )


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"each of {', '.join(names[:3])}{more}" if len(names) > 1 else names[0]


def _remote(url: str, format: str | None, separator: str | None) -> Source:
    kind = format or format_of(url)
    if kind is None:
        raise InvalidInput(_no_format(url))
    return Source(kind, (url,), separator=separator or _separator(url))


def _matches(log: str) -> Iterator[Found]:
    """A name that is there is taken as it is, even with a `*` in it."""
    paths = [Path(log)] if Path(log).exists() else [Path(name) for name in sorted(glob.glob(log, recursive=True))]
    if not paths:
        raise InvalidInput(f"no file or folder matches {log!r} (looked in {Path.cwd()})")
    for path in paths:
        if path.is_dir():
            yield from _inside(path)
        else:
            yield Found(path)


def _inside(folder: Path) -> Iterator[Found]:
    """As Spark does, without what begins with a dot or an underscore: marks and half-written files."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    if not inside:
        raise InvalidInput(f"the folder {folder} has no files")
    for path in inside:
        yield Found(path, folder.resolve())


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def first_line(path: Path) -> str:
    """Of a text, without its end and without a byte order mark."""
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            line: bytes = file.readline()
        return line.decode("utf-8-sig").rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}") from None
