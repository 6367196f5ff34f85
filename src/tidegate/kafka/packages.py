"""The jars of Kafka: the broker, and Spark's connector. Fetched once, shared by all clones, then needing no network.

Spark's connector has to be of Spark's own version: it calls what is not public in Spark. Where the repositories lack
that version a stand-in that was seen to work is taken, and said; it is never taken for a version it was not tried on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tidegate.core import EnvironmentMissing
from tidegate.kafka.maven import NotPublished, cache_folder, fetch, jars_in

Say = Callable[[str], None]

#: of the client that Spark 4.2's connector brings (its pom: kafka.version)
KAFKA = "3.9.2"
BROKER = (f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-simple:1.7.36")


@dataclass(frozen=True, slots=True)
class StandIn:
    connector: str
    #: of the connector's helper for logins, which has releases of its own in the repositories
    tokens: str


#: Spark's version -> what was seen to work on it in its place: batch reads, limited stream reads, stream writes.
#: Connector 4.0.0 does not: its streams fail with NoSuchMethodError (SerializedOffset).
STAND_INS: Mapping[str, StandIn] = {"4.3.0": StandIn(connector="4.2.0", tokens="4.0.0")}


@dataclass(frozen=True, slots=True)
class Connector:
    """Jars for `spark.jars`; `note` is a sentence where the connector is not of Spark's own version."""

    jars: tuple[Path, ...]
    version: str
    spark: str
    note: str | None = None


def quiet(sentence: str) -> None:
    """Tells nobody."""


def broker_jars(say: Say = quiet) -> tuple[Path, ...]:
    """The broker and all it needs, 46 MB."""
    folder = cache_folder() / f"kafka-{KAFKA}"
    return _fetched(BROKER, folder, say)


def connector(installed: Path | None = None, say: Say = quiet) -> Connector:
    """What Spark needs for `format("kafka")` beyond the jars it has; `installed` is Spark's folder of jars, PySpark's
    if not given. The versions of Spark and Scala are read off the names in it.
    """
    have = installed or pyspark_jars()
    spark, scala = versions(have)
    jars = _own(spark, scala, say)
    if jars is not None:
        return Connector(_beyond(jars, have), spark, spark)
    stand_in = STAND_INS[spark]
    folder = _folder(spark, _replaced(stand_in, scala))
    note = (
        f"Maven's repositories have no Kafka connector {spark} for Spark {spark}: {stand_in.connector} is used instead,"
        f" with token provider {stand_in.tokens}; remove {folder} to look again"
    )
    jars = _fetched(_replaced(stand_in, scala), folder, say)
    say(note)
    return Connector(_beyond(jars, have), stand_in.connector, spark, note)


def pyspark_jars() -> Path:
    """Where PySpark keeps its jars, found without importing it."""
    found = find_spec("pyspark")
    places = [] if found is None else list(found.submodule_search_locations or [])
    if not places:
        raise EnvironmentMissing("PySpark is not installed: pip install 'pyspark>=4.3,<4.4'")
    return Path(places[0]) / "jars"


def versions(folder: Path) -> tuple[str, str]:
    """Of Spark and of Scala, from `spark-core_2.13-4.3.0.jar`."""
    names = (re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name) for jar in jars_in(folder))
    found = next((name for name in names if name), None)
    if found is None:
        raise EnvironmentMissing(f"{folder} has no spark-core jar, which tells the version of Spark")
    return found.group(2), found.group(1)


def artifact(jar: Path) -> str:
    """A jar's name without its version.

    >>> artifact(Path("/jars/spark-tags_2.13-4.2.0.jar")), artifact(Path("lz4-java-1.10.1.jar"))
    ('spark-tags_2.13', 'lz4-java')
    """
    found = re.fullmatch(r"(.+)-\d.*\.jar", jar.name)
    return found.group(1) if found else jar.stem


def _own(spark: str, scala: str, say: Say) -> tuple[Path, ...] | None:
    """The connector of Spark's version; None where a stand-in has to do, which has been fetched or can be."""
    folder, stand_in = _folder(spark, _exact(spark, scala)), STAND_INS.get(spark)
    if stand_in and not jars_in(folder) and jars_in(_folder(spark, _replaced(stand_in, scala))):
        return None
    try:
        return _fetched(_exact(spark, scala), folder, say)
    except NotPublished:
        if stand_in is None:
            raise
        return None


def _exact(spark: str, scala: str) -> tuple[str, ...]:
    return (f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",)


def _replaced(stand_in: StandIn, scala: str) -> tuple[str, ...]:
    # named here, the token provider's version goes before that in the connector's pom
    tokens = f"org.apache.spark:spark-token-provider-kafka-0-10_{scala}:{stand_in.tokens}"
    return (*_exact(stand_in.connector, scala), tokens)


def _folder(spark: str, coordinates: tuple[str, ...]) -> Path:
    return cache_folder() / f"spark-{spark}-connector-{'-'.join(each.split(':')[2] for each in coordinates)}"


def _fetched(coordinates: tuple[str, ...], folder: Path, say: Say) -> tuple[Path, ...]:
    if not jars_in(folder):
        say(f"fetching {coordinates[0]} with Maven into {folder}")
    return fetch(coordinates, folder)


def _beyond(jars: tuple[Path, ...], installed: Path) -> tuple[Path, ...]:
    """Only what Spark does not have already: of two versions of one class nobody knows which is taken."""
    there = {artifact(jar) for jar in jars_in(installed)}
    return tuple(jar for jar in jars if artifact(jar) not in there)
