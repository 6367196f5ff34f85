"""Spark's errors as Tidegate errors with a one-sentence message."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from pyspark.errors import PySparkException

from tidegate.cluster.jvm import JvmError
from tidegate.core import InvalidInput, QueryFailed, TidegateError


@contextmanager
def translated_errors() -> Iterator[None]:
    """Convert Spark's errors in the block, and keep PySpark from logging their stack traces to the terminal."""
    logger = logging.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    except (PySparkException, JvmError) as error:
        raise translate(str(error)) from error
    finally:
        logger.disabled = disabled


def translate(message: str) -> TidegateError:
    """
    >>> translate("[PATH_NOT_FOUND] Path does not exist: hdfs://host/a. SQLSTATE: 42K03")
    InvalidInput('Path does not exist: hdfs://host/a')
    >>> translate("[FAILED_READ_FILE.X] Error while reading file file:/a.gz. SQLSTATE: 1\\nCaused by: E: cut")
    InvalidInput('cannot read /a.gz: E: cut')
    """
    cause = (re.findall(r"^Caused by: (.*)$", message, re.MULTILINE) or [_first_line(message)])[-1]
    if file := re.search(r"reading file (\S+?)\.?(?:\s|$)", message):
        return InvalidInput(f"cannot read {file_name(file.group(1))}: {cause}")
    if "PATH_NOT_FOUND" in message or "No FileSystem for scheme" in message or "FileSystem not found" in message:
        return InvalidInput(_first_line(message) if "PATH_NOT_FOUND" in message else cause)
    return QueryFailed(f"Spark could not count the logs: {cause}")


def _first_line(message: str) -> str:
    """The first meaningful line, without Spark's error codes."""
    lines = [line for line in message.splitlines() if line and not line.startswith("An error occurred while calling")]
    return re.sub(r"^[: ]*(\[[A-Z0-9_.]+\] )?|\.? SQLSTATE: \w+.*$", "", lines[0] if lines else "no reason was given")


def file_name(url: str) -> str:
    """The path of a local file from Spark's URL for it; other URLs are unchanged.

    >>> file_name("file:///logs/a%20b.csv"), file_name("hdfs://host/a.csv")
    ('/logs/a b.csv', 'hdfs://host/a.csv')
    """
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url
