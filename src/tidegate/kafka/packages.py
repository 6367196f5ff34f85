"""The jars of the Kafka broker and of Spark's Kafka connector. Downloaded once and shared by all checkouts of a user.

The connector uses internal APIs of Spark, so its version has to match Spark's. If that version is not published, a
stand-in that is known to work with this version of Spark is used and reported; there is none for untested versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tidegate.core import EnvironmentMissing
from tidegate.kafka.digests import pinned
from tidegate.kafka.maven import NotPublished, cache_folder, fetch, jars_in

Say = Callable[[str], None]

#: the version of the Kafka client in Spark 4.2's connector (kafka.version in its pom)
KAFKA = "3.9.2"
BROKER = (f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-simple:1.7.36")


@dataclass(frozen=True, slots=True)
class StandIn:
    """Versions to use instead of an unpublished connector."""

    connector: str
    #: version of the token provider, a dependency of the connector that is published separately
    tokens: str


#: Spark version -> connector that was tested with it: batch reads, limited stream reads, stream writes.
#: Connector 4.0.0 does not work: its streams fail with NoSuchMethodError (SerializedOffset).
STAND_INS: Mapping[str, StandIn] = {"4.3.0": StandIn(connector="4.2.0", tokens="4.0.0")}


@dataclass(frozen=True, slots=True)
class Connector:
    """Jars for `spark.jars`. `note` is set if the version of the connector differs from Spark's."""

    jars: tuple[Path, ...]
    version: str
    spark: str
    note: str | None = None


def quiet(sentence: str) -> None:
    """Discard the message."""


def broker_jars(say: Say = quiet) -> tuple[Path, ...]:
    """The broker and its dependencies, 46 MB."""
    folder = cache_folder() / f"kafka-{KAFKA}"
    return _fetch(BROKER, folder, say)


def connector(installed: Path | None = None, say: Say = quiet) -> Connector:
    """The jars for `format("kafka")` that Spark does not have. `installed` is Spark's folder of jars, by default
    PySpark's; the versions of Spark and Scala are taken from the file names in it.
    """
    spark_jars = installed or pyspark_jars()
    spark, scala = installed_versions(spark_jars)
    jars = _exact_jars(spark, scala, say)
    if jars is not None:
        return Connector(_missing_from(spark_jars, jars), spark, spark)
    stand_in = STAND_INS[spark]
    folder = _folder(spark, _stand_in_coordinates(stand_in, scala))
    note = (
        f"Maven's repositories have no Kafka connector {spark} for Spark {spark}: {stand_in.connector} is used instead,"
        f" with token provider {stand_in.tokens}; remove {folder} to check again"
    )
    jars = _fetch(_stand_in_coordinates(stand_in, scala), folder, say)
    say(note)
    return Connector(_missing_from(spark_jars, jars), stand_in.connector, spark, note)


def pyspark_jars() -> Path:
    """PySpark's folder of jars, located without importing PySpark."""
    spec = find_spec("pyspark")
    locations = [] if spec is None else list(spec.submodule_search_locations or [])
    if not locations:
        raise EnvironmentMissing("PySpark is not installed: pip install 'pyspark>=4.3,<4.4'")
    return Path(locations[0]) / "jars"


def installed_versions(folder: Path) -> tuple[str, str]:
    """The versions of Spark and Scala, from a name like `spark-core_2.13-4.3.0.jar`."""
    names = (re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name) for jar in jars_in(folder))
    core = next((name for name in names if name), None)
    if core is None:
        raise EnvironmentMissing(f"{folder} has no spark-core jar: cannot determine the version of Spark")
    return core.group(2), core.group(1)


def artifact(jar: Path) -> str:
    """A jar's name without its version.

    >>> artifact(Path("/jars/spark-tags_2.13-4.2.0.jar")), artifact(Path("lz4-java-1.10.1.jar"))
    ('spark-tags_2.13', 'lz4-java')
    """
    versioned = re.fullmatch(r"(.+)-\d.*\.jar", jar.name)
    return versioned.group(1) if versioned else jar.stem


def _exact_jars(spark: str, scala: str, say: Say) -> tuple[Path, ...] | None:
    """The connector with Spark's version; None if it is not published and there is a stand-in."""
    folder, stand_in = _folder(spark, _exact_coordinates(spark, scala)), STAND_INS.get(spark)
    if stand_in and not jars_in(folder) and jars_in(_folder(spark, _stand_in_coordinates(stand_in, scala))):
        return None
    try:
        return _fetch(_exact_coordinates(spark, scala), folder, say)
    except NotPublished:
        if stand_in is None:
            raise
        return None


def _exact_coordinates(spark: str, scala: str) -> tuple[str, ...]:
    return (f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",)


def _stand_in_coordinates(stand_in: StandIn, scala: str) -> tuple[str, ...]:
    # listed explicitly, this version of the token provider overrides the one in the connector's pom
    tokens = f"org.apache.spark:spark-token-provider-kafka-0-10_{scala}:{stand_in.tokens}"
    return (*_exact_coordinates(stand_in.connector, scala), tokens)


def _folder(spark: str, coordinates: tuple[str, ...]) -> Path:
    versions = "-".join(coordinate.split(":")[2] for coordinate in coordinates)
    return cache_folder() / f"spark-{spark}-connector-{versions}"


def _fetch(coordinates: tuple[str, ...], folder: Path, say: Say) -> tuple[Path, ...]:
    if not jars_in(folder):
        untested = "" if pinned(folder.name) else ", a version that Tidegate was not tested with and cannot check"
        say(f"fetching {coordinates[0]} with Maven into {folder}{untested}")
    return fetch(coordinates, folder)


def _missing_from(installed: Path, jars: tuple[Path, ...]) -> tuple[Path, ...]:
    """The jars that Spark does not have. With two versions of a class it is undefined which one is loaded."""
    artifacts = {artifact(jar) for jar in jars_in(installed)}
    return tuple(jar for jar in jars if artifact(jar) not in artifacts)
