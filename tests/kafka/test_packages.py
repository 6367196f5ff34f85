"""With a Maven that is a small script: what it is asked for, and what becomes of its answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.core import EnvironmentMissing
from tidegate.kafka import broker_jars, connector
from tidegate.kafka.maven import NotPublished, cache_folder, failure
from tidegate.kafka.packages import artifact, versions

#: writes the jars it is told to into the folder it is given, and a line for every call
MAVEN = """#!/bin/sh
echo called >> {calls}
for word in "$@"; do case $word in -DoutputDirectory=*) to=${{word#*=}};; esac; done
for word in "$@"; do case $word in /*) [ -f $word/pom.xml ] && pom=$word/pom.xml;; esac; done
{answer}
"""
FINDS = 'mkdir -p "$to"; for jar in {jars}; do : > "$to/$jar"; done'
LACKS = 'echo "[ERROR] Failed: Could not find artifact {what} in central (https://…) -> [Help 1]"; exit 1'
Maven = Callable[[str], Path]


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    """Puts a Maven on the PATH that answers so; the file that has a line for each call."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    calls = tmp_path / "calls"
    calls.touch()

    def put(answer: str) -> Path:
        script = tmp_path / "bin" / "mvn"
        script.write_text(MAVEN.format(calls=calls, answer=answer))
        script.chmod(0o755)
        return calls

    return put


@pytest.fixture
def spark(tmp_path: Path) -> Callable[[str], Path]:
    """Spark's folder of jars, of some version."""

    def make(version: str) -> Path:
        folder = tmp_path / "jars"
        folder.mkdir()
        for name in (f"spark-core_2.13-{version}.jar", f"spark-tags_2.13-{version}.jar", "lz4-java-1.11.0.jar"):
            (folder / name).touch()
        return folder

    return make


def names(jars: tuple[Path, ...]) -> list[str]:
    return [jar.name for jar in jars]


def test_the_second_time_costs_nothing(maven: Maven) -> None:
    calls = maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    said: list[str] = []
    assert names(broker_jars(said.append)) == ["kafka_2.13-3.9.2.jar"]
    assert broker_jars(said.append) == broker_jars()
    assert calls.read_text() == "called\n"
    assert len(said) == 1


def test_the_second_time_works_without_maven(maven: Maven, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    first = broker_jars()
    monkeypatch.setenv("PATH", "/nowhere")
    assert broker_jars() == first


def test_nothing_is_left_of_a_fetch_that_broke_off(maven: Maven) -> None:
    maven(FINDS.format(jars="half.jar") + "; echo '[ERROR] Unknown host repo'; exit 1")
    with pytest.raises(EnvironmentMissing, match="Unknown host repo"):
        broker_jars()
    assert list(cache_folder().iterdir()) == []


def test_without_maven_it_says_how_to_get_it_and_where_else_to_put_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentMissing, match=rf"install it .*, or put the jars of .* into {tmp_path}/tidegate"):
        broker_jars()


def test_jars_that_someone_put_there_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    folder = tmp_path / "tidegate" / "jars" / "kafka-3.9.2"
    folder.mkdir(parents=True)
    (folder / "kafka_2.13-3.9.2.jar").touch()
    assert names(broker_jars()) == ["kafka_2.13-3.9.2.jar"]


def test_the_connector_is_of_sparks_version_and_brings_only_what_spark_lacks(
    maven: Maven, spark: Callable[[str], Path]
) -> None:
    wanted = "spark-sql-kafka-0-10_2.13-5.0.1.jar"
    maven(FINDS.format(jars=f"{wanted} spark-tags_2.13-5.0.1.jar lz4-java-1.10.1.jar kafka-clients-3.9.2.jar"))
    found = connector(spark("5.0.1"))
    assert names(found.jars) == ["kafka-clients-3.9.2.jar", wanted]
    assert (found.version, found.spark, found.note) == ("5.0.1", "5.0.1", None)


#: a repository that has the connector 4.2.0, with the token provider 4.0.0, but not 4.3.0
OLDER = (
    'if grep -q "<version>4.3.0<" "$pom"; then '
    + LACKS.format(what="spark-sql-kafka-0-10_2.13:jar:4.3.0")
    + '; fi; grep -q "<version>4.2.0<" "$pom" && grep -q "<version>4.0.0<" "$pom" || exit 9; '
    + FINDS.format(jars="spark-sql-kafka-0-10_2.13-4.2.0.jar")
)


def test_a_stand_in_is_said_each_time_and_is_in_the_value(maven: Maven, spark: Callable[[str], Path]) -> None:
    calls, folder, said = maven(OLDER), spark("4.3.0"), list[str]()
    first = connector(folder, said.append)
    assert names(first.jars) == ["spark-sql-kafka-0-10_2.13-4.2.0.jar"]
    assert (first.version, first.spark) == ("4.2.0", "4.3.0")
    assert first.note is not None
    assert "no Kafka connector 4.3.0 for Spark 4.3.0: 4.2.0 is used instead" in first.note
    assert connector(folder, said.append) == first
    assert said.count(first.note) == 2
    assert calls.read_text() == "called\n" * 2  # for 4.3.0, and for the stand-in; then never again


def test_sparks_own_version_goes_before_a_stand_in_that_is_there(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven(OLDER)
    folder = spark("4.3.0")
    connector(folder)
    own = cache_folder() / "spark-4.3.0-connector-4.3.0"
    own.mkdir()
    (own / "spark-sql-kafka-0-10_2.13-4.3.0.jar").touch()
    assert (connector(folder).version, connector(folder).note) == ("4.3.0", None)


def test_a_spark_that_no_stand_in_was_tried_on_gets_none(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven(LACKS.format(what="spark-sql-kafka-0-10_2.13:jar:4.3.1"))
    with pytest.raises(NotPublished, match=r"have no spark-sql-kafka-0-10_2.13:jar:4.3.1"):
        connector(spark("4.3.1"))


def test_repositories_that_are_out_of_reach_are_no_reason_for_a_stand_in(
    maven: Maven, spark: Callable[[str], Path]
) -> None:
    maven('echo "[ERROR] Could not transfer artifact x from central: Unknown host"; exit 1')
    with pytest.raises(EnvironmentMissing, match="let it reach its repositories") as raised:
        connector(spark("4.3.0"))
    assert not isinstance(raised.value, NotPublished)


def test_a_folder_without_spark_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="has no spark-core jar"):
        versions(tmp_path)


def test_missing_somewhere_and_unreachable_elsewhere_counts_as_unreachable() -> None:
    told = "[ERROR] Could not find artifact a:b:jar:1 in central; Could not transfer artifact from mirror: Unknown host"
    assert not isinstance(failure(told, ["a:b:1"], ""), NotPublished)


def test_a_preview_version_is_no_part_of_the_name() -> None:
    assert artifact(Path("spark-token-provider-kafka-0-10_2.13-4.1.0-preview1.jar")) == (
        "spark-token-provider-kafka-0-10_2.13"
    )
