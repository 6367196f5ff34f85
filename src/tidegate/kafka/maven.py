"""Jars from Maven's repositories into a folder: complete or not at all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tidegate.core import EnvironmentMissing

#: Spark's parent pom names Google's mirror of Maven Central before Central itself: by its id it is Central here, so
#: that a machine that reaches Central only can fetch what Spark needs
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegate</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <repositories><repository>
    <id>gcs-maven-central-mirror</id><url>https://repo.maven.apache.org/maven2</url>
  </repository></repositories>
  <dependencies>{dependencies}</dependencies>
</project>
"""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"


class NotPublished(EnvironmentMissing):
    """The repositories answered, and do not have the package."""


def cache_folder() -> Path:
    """Shared by all clones of one user: `$XDG_CACHE_HOME/tidegate/jars`, or below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tidegate" / "jars"


def jars_in(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.jar")))


def fetch(coordinates: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """The jars of `group:artifact:version` and all they need at run time; a folder with jars is taken as it is.

    They are copied beside the folder, which gets its name when it is complete, so that nobody sees half of it.
    """
    if found := jars_in(folder):
        return found
    place = f"or put the jars of {', '.join(coordinates)} and what they need into {folder}"
    maven = shutil.which("mvn")
    if maven is None:
        raise EnvironmentMissing(
            f"there are no jars in {folder}, and Maven (mvn) that fetches them is not on the PATH:"
            f" install it (on Debian `apt-get install maven`), {place}"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as made:
            _copy(maven, coordinates, Path(made), place)
            _rename(Path(made) / "jars", folder)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write the jars to {folder}: {error.strerror}") from None
    return jars_in(folder)


def _copy(maven: str, coordinates: Sequence[str], made: Path, place: str) -> None:
    (made / "pom.xml").write_text(POM.format(dependencies="".join(map(_dependency, coordinates))))
    # -U: what was missing yesterday is looked for again; -C: a damaged download is an error, not a warning
    options = ["-q", "-B", "-U", "-C", "-f", str(made), COPY, "-DincludeScope=runtime"]
    command = [maven, *options, f"-DoutputDirectory={made / 'jars'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise failure(done.stdout + done.stderr, coordinates, place)


def failure(told: str, coordinates: Sequence[str], place: str) -> EnvironmentMissing:
    """What Maven said, as a sentence: whether the package is not there or nobody was reached decides what helps.

    >>> told = "[ERROR] Failed: Could not find artifact a:b:jar:1 in central (https://…) -> [Help 1]"
    >>> print(failure(told, ["a:b:1"], "or put the jars into /jars"))
    Maven's repositories have no a:b:jar:1, which a:b:1 needs: or put the jars into /jars
    """
    missing = re.search(r"(?:Could not find artifact (\S+)|(\S+:\S+) was not found in) ", told)
    wanted = ", ".join(coordinates)
    if missing and not re.search(r"Could not transfer|Unknown host|Connection refused", told):
        what = missing.group(1) or missing.group(2)
        return NotPublished(f"Maven's repositories have no {what}, which {wanted} needs: {place}")
    lines = [line.removeprefix("[ERROR] ") for line in told.splitlines() if line.startswith("[ERROR]")]
    reason = (lines or told.strip().splitlines()[-1:] or ["it said nothing"])[0].removesuffix(" -> [Help 1]")
    return EnvironmentMissing(f"Maven could not fetch {wanted} ({reason}): let it reach its repositories, {place}")


def _rename(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        # another process was quicker: its jars are as good
        if not jars_in(folder):
            raise


def _dependency(coordinate: str) -> str:
    group, artifact, version = map(escape, coordinate.split(":"))
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )
