"""Log files named by paths, patterns and folders, grouped by how they are read."""

from __future__ import annotations

import bz2
import glob
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.core import InvalidInput

#: file extension -> format
FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
#: compressions that Spark can read, and how to open them here for their first line
OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}

#: bytes of the header of a CSV file
LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Files with the same format and layout. `files` are absolute paths, or a single URL that only Spark can open."""

    format: str
    files: tuple[str, ...]
    #: first line of CSV files; None if it has not been read
    first: str | None = None
    separator: str = ","
    #: folder below which directory names like `region=eu` are partition columns (Parquet)
    base: str | None = None

    @property
    def remote(self) -> bool:
        return "://" in self.files[0]


@dataclass(frozen=True, slots=True)
class Inputs:
    sources: tuple[Source, ...]
    #: files in the given folders that are skipped: unknown format, or empty
    left_out: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file for source in self.sources for file in source.files)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file, and the folder that the user named if it was not the file itself."""

    path: Path
    folder: Path | None = None


def find(logs: Iterable[str], format: str | None = None, separator: str | None = None) -> Inputs:
    """All matching files, each of them once.

    A pattern without matches is an error, and so is a file whose format cannot be told from its name. In a folder such
    files are skipped and listed in `left_out`.
    """
    names = [log.removeprefix("file://") for log in logs]
    urls = [name for name in names if "://" in name]
    files = {file.path.resolve(): file for name in names if "://" not in name for file in _matches(name)}
    groups: dict[tuple[str, str | None, str, str | None], list[str]] = {}
    left_out = []
    for path, file in files.items():
        file_format = format or format_of(path.name)
        if file_format is None and file.folder is None:
            raise InvalidInput(_unknown_format(str(path)))
        if file_format is None or path.stat().st_size == 0:
            left_out.append(str(path))
            continue
        file_separator = separator or _separator(path.name)
        base = str(file.folder) if file.folder and file_format == "parquet" else None
        key = (file_format, first_line(path) if file_format == "csv" else None, file_separator, base)
        groups.setdefault(key, []).append(str(path))
    sources = [
        Source(file_format, tuple(paths), first, file_separator, base)
        for (file_format, first, file_separator, base), paths in groups.items()
    ]
    sources += [_remote(url, format, separator) for url in urls]
    if not sources:
        raise InvalidInput(f"nothing to read: {_abridged(left_out)} {_why_skipped(format)}")
    return Inputs(tuple(sources), tuple(left_out))


def format_of(name: str) -> str | None:
    """
    >>> format_of("a.csv"), format_of("b.JSON.gz"), format_of("part-0.snappy.parquet"), format_of("README")
    ('csv', 'json', 'parquet', None)
    """
    return FORMATS.get(_extension(name))


def _extension(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in OPENERS else path.suffix


def _separator(name: str) -> str:
    return "\t" if _extension(name) == ".tsv" else ","


def _unknown_format(path: str) -> str:
    return f"{path} does not end in one of {', '.join(FORMATS)} (or these with .gz, .bz2): set its format with --format"


def _why_skipped(format: str | None) -> str:
    return (
        "is empty"
        if format
        else f"is empty or does not end in one of {', '.join(FORMATS)}: set the format with --format"
    )


def _abridged(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"each of {', '.join(names[:3])}{more}" if len(names) > 1 else names[0]


def _remote(url: str, format: str | None, separator: str | None) -> Source:
    source_format = format or format_of(url)
    if source_format is None:
        raise InvalidInput(_unknown_format(url))
    return Source(source_format, (url,), separator=separator or _separator(url))


def _matches(log: str) -> Iterator[LogFile]:
    """An existing file is taken literally, even if its name contains a `*`."""
    paths = [Path(log)] if Path(log).exists() else [Path(name) for name in sorted(glob.glob(log, recursive=True))]
    if not paths:
        raise InvalidInput(f"no file or folder matches {log!r} (looked in {Path.cwd()})")
    for path in paths:
        if path.is_dir():
            yield from _files_in(path)
        else:
            yield LogFile(path)


def _files_in(folder: Path) -> Iterator[LogFile]:
    """Like Spark, ignore names that start with a dot or an underscore: markers and incomplete files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    if not paths:
        raise InvalidInput(f"the folder {folder} has no files")
    for path in paths:
        yield LogFile(path, folder.resolve())


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def first_line(path: Path) -> str:
    """The first line of a text file, without its line end and without a byte order mark."""
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            line: bytes = file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"cannot read {path}: need a first line of at most {LONGEST_LINE:,} bytes")
        return line.decode("utf-8-sig").rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}") from None
