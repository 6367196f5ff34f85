"""Finds the Java that Spark will use and checks that Spark 4.3 supports it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tidegate.core import EnvironmentMissing

SUPPORTED = (17, 21)
HOW = "on Debian `apt-get install openjdk-17-jre-headless`, elsewhere any JDK 17 or 21 with JAVA_HOME pointing at it"


@dataclass(frozen=True, slots=True)
class Java:
    path: Path
    version: int


def find_java() -> Java:
    """The Java of JAVA_HOME, else the one on the PATH, as Spark searches for it."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    path = shutil.which(command)
    if path is None:
        place = f"JAVA_HOME={home} has no bin/java" if home else "no java on the PATH and no JAVA_HOME"
        raise EnvironmentMissing(f"Spark needs Java {_either()}, but there is {place}: {HOW}")
    try:
        output = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise EnvironmentMissing(f"Spark needs Java {_either()}, but {path} does not run ({error}): {HOW}") from None
    version = parse_version(output)
    if version is None or version not in SUPPORTED:
        raise EnvironmentMissing(
            f"Spark needs Java {_either()}, but {path} is {version or 'of unknown version'}: {HOW}"
        )
    return Java(Path(path), version)


def parse_version(output: str) -> int | None:
    """
    >>> parse_version('openjdk version "17.0.15" 2025-04-15'), parse_version('java version "1.8.0_392"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def _either() -> str:
    return " or ".join(map(str, SUPPORTED))
