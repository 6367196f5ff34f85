"""The digests of jars that are downloaded: code that runs as the user must be what was tested, whoever delivers it.

They are in `jars.sha256`, in the format of `sha256sum`, with the names of files in the cache folder:
`cd ~/.cache/tidegate/jars && sha256sum -c …/jars.sha256` checks them by hand. Versions that nobody has tested yet, like
a connector that is published after this release, are not in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from tidegate.core import EnvironmentMissing

#: file name -> SHA-256
Digests = Mapping[str, str]


class WrongDigest(EnvironmentMissing):
    """A jar is not the one that was tested. It has been removed."""


@cache
def pinned(folder: str) -> Digests:
    """The jars of a folder of the cache; empty if they are not pinned."""
    return parse(files("tidegate.kafka").joinpath("jars.sha256").read_text()).get(folder, {})


def parse(text: str) -> dict[str, dict[str, str]]:
    """
    >>> parse("0a1b  kafka-3.9.2/kafka.jar")
    {'kafka-3.9.2': {'kafka.jar': '0a1b'}}
    """
    folders: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        digest, path = line.split()
        folder, name = path.split("/")
        folders.setdefault(folder, {})[name] = digest
    return folders


def check(jars: Iterable[Path], digests: Digests) -> None:
    """Remove the jars that differ from their digest, and refuse them."""
    wrong = [(jar, actual) for jar in jars if (actual := sha256(jar)) != digests[jar.name]]
    if not wrong:
        return
    for jar, _ in wrong:
        jar.unlink()
    jar, actual = wrong[0]
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    raise WrongDigest(
        f"{jar} is not the file that Tidegate was tested with: its SHA-256 is {actual}, not {digests[jar.name]}{more}."
        " It was removed and not used; try again to download it, from a repository that you trust"
    )


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
