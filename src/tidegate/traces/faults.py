"""What Spark says when it fails, as a sentence."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tidegate.core import InvalidInput, QueryFailed, TidegateError


@contextmanager
def explained() -> Iterator[None]:
    """Spark's errors leave the block as ours, and none goes to the terminal with its stack, as PySpark would log it."""
    logger = logging.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise sentence(str(error)) from error
    finally:
        logger.disabled = disabled


def sentence(told: str) -> TidegateError:
    """
    >>> sentence("[PATH_NOT_FOUND] Path does not exist: hdfs://host/a. SQLSTATE: 42K03")
    InvalidInput('Path does not exist: hdfs://host/a')
    >>> sentence("[FAILED_READ_FILE.X] Error while reading file file:/a.gz. SQLSTATE: 1\\nCaused by: E: cut")
    InvalidInput('cannot read /a.gz: E: cut')
    """
    cause = (re.findall(r"^Caused by: (.*)$", told, re.MULTILINE) or [_first(told)])[-1]
    if file := re.search(r"reading file (\S+?)\.?(?:\s|$)", told):
        return InvalidInput(f"cannot read {plain(file.group(1))}: {cause}")
    if "PATH_NOT_FOUND" in told or "No FileSystem for scheme" in told or "FileSystem not found" in told:
        return InvalidInput(_first(told) if "PATH_NOT_FOUND" in told else cause)
    return QueryFailed(f"Spark could not count the logs: {cause}")


def _first(told: str) -> str:
    """The first line that says something, without Spark's codes."""
    lines = [line for line in told.splitlines() if line and not line.startswith("An error occurred while calling")]
    return re.sub(r"^[: ]*(\[[A-Z0-9_.]+\] )?|\.? SQLSTATE: \w+.*$", "", lines[0] if lines else "no reason was given")


def plain(address: str) -> str:
    """A file's name from the address that Spark has for it.

    >>> plain("file:///logs/a%20b.csv"), plain("hdfs://host/a.csv")
    ('/logs/a b.csv', 'hdfs://host/a.csv')
    """
    parts = urlsplit(address)
    return unquote(parts.path) if parts.scheme == "file" else address
