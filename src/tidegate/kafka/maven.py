"""Downloads jars with Maven into a folder, completely or not at all."""

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
from tidegate.kafka.digests import Digests, check, pinned

#: Spark's parent pom lists Google's mirror of Maven Central before Central itself. Its id is redefined as Central here,
#: so that machines with access to Central only can download Spark's dependencies.
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
    """The repositories are reachable, but do not have the package."""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/tidegate/jars`, or `~/.cache/tidegate/jars`: shared by all checkouts of a user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tidegate" / "jars"


def jars_in(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.jar")))


def fetch(coordinates: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """The jars of `group:artifact:version` and their runtime dependencies. A folder that has jars is used as it is.

    Jars are downloaded to a temporary folder, which is renamed once it is complete. Those with a pinned digest are
    checked whenever they are used, and in a folder of such jars no others are.
    """
    digests = pinned(folder.name)
    if not jars_in(folder) or digests.keys() - {jar.name for jar in jars_in(folder)}:
        _fetch(coordinates, folder, digests)
    jars = tuple(jar for jar in jars_in(folder) if not digests or jar.name in digests)
    if digests:
        check(jars, digests)
    return jars


def _fetch(coordinates: Sequence[str], folder: Path, digests: Digests) -> None:
    remedy = f"put the jars of {', '.join(coordinates)} and their dependencies into {folder}"
    missing = sorted(digests.keys() - {jar.name for jar in jars_in(folder)})
    lack = f"there is no {missing[0]} in {folder}" if jars_in(folder) else f"there are no jars in {folder}"
    maven = shutil.which("mvn")
    if maven is None:
        raise EnvironmentMissing(
            f"{lack}, and Maven (mvn), which downloads them, is not on the PATH:"
            f" install it (on Debian `apt-get install maven`), or {remedy}"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as temporary:
            _download(maven, coordinates, Path(temporary), remedy)
            downloaded = Path(temporary) / "jars"
            if digests:
                _check_download(downloaded, digests, coordinates)
            _rename(downloaded, folder, missing)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write the jars to {folder}: {error.strerror}") from None


def _check_download(folder: Path, digests: Digests, coordinates: Sequence[str]) -> None:
    jars = jars_in(folder)
    if lacking := sorted(digests.keys() - {jar.name for jar in jars}):
        raise EnvironmentMissing(f"Maven downloaded {', '.join(coordinates)} without {lacking[0]}, which they need")
    check([jar for jar in jars if jar.name in digests], digests)


def _download(maven: str, coordinates: Sequence[str], folder: Path, remedy: str) -> None:
    (folder / "pom.xml").write_text(POM.format(dependencies="".join(map(_dependency, coordinates))))
    # -U: retry packages that were missing before; -C: fail on corrupt downloads
    options = ["-q", "-B", "-U", "-C", "-f", str(folder), COPY, "-DincludeScope=runtime"]
    command = [maven, *options, f"-DoutputDirectory={folder / 'jars'}"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if completed.returncode:
        raise maven_error(completed.stdout + completed.stderr, coordinates, remedy)


def maven_error(output: str, coordinates: Sequence[str], remedy: str) -> EnvironmentMissing:
    """Maven's output as an error. A missing package and unreachable repositories have different remedies.

    >>> output = "[ERROR] Failed: Could not find artifact a:b:jar:1 in central (https://…) -> [Help 1]"
    >>> print(maven_error(output, ["a:b:1"], "put the jars into /jars"))
    Maven's repositories have no a:b:jar:1, which a:b:1 needs: put the jars into /jars
    """
    missing = re.search(r"(?:Could not find artifact (\S+)|(\S+:\S+) was not found in) ", output)
    packages = ", ".join(coordinates)
    if missing and not re.search(r"Could not transfer|Unknown host|Connection refused", output):
        artifact = missing.group(1) or missing.group(2)
        return NotPublished(f"Maven's repositories have no {artifact}, which {packages} needs: {remedy}")
    lines = [line.removeprefix("[ERROR] ") for line in output.splitlines() if line.startswith("[ERROR]")]
    reason = (lines or output.strip().splitlines()[-1:] or ["no output"])[0].removesuffix(" -> [Help 1]")
    return EnvironmentMissing(
        f"Maven could not fetch {packages} ({reason}): give it access to its repositories, or {remedy}"
    )


def _rename(downloaded: Path, folder: Path, missing: Sequence[str]) -> None:
    if jars_in(folder):  # some were removed, or another process was faster
        for name in missing:
            (downloaded / name).replace(folder / name)
        return
    try:
        downloaded.rename(folder)
    except OSError:
        # another process was faster; use its jars
        if not jars_in(folder):
            raise


def _dependency(coordinate: str) -> str:
    group, artifact, version = map(escape, coordinate.split(":"))
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )
