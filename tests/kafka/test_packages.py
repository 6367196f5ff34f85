"""Downloads of jars, with a small script in place of Maven."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.core import EnvironmentMissing
from tidegate.kafka import broker_jars, connector, digests
from tidegate.kafka.maven import NotPublished, cache_folder, maven_error
from tidegate.kafka.packages import artifact, installed_versions

#: creates jars in the output folder, and logs every call
MAVEN = """#!/bin/sh
echo called >> {calls}
for word in "$@"; do case $word in -DoutputDirectory=*) to=${{word#*=}};; esac; done
for word in "$@"; do case $word in /*) [ -f $word/pom.xml ] && pom=$word/pom.xml;; esac; done
{answer}
"""
FINDS = 'mkdir -p "$to"; for jar in {jars}; do : > "$to/$jar"; done'
LACKS = 'echo "[ERROR] Failed: Could not find artifact {what} in central (https://…) -> [Help 1]"; exit 1'
Maven = Callable[[str], Path]
#: digest of an empty file
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture(autouse=True)
def _empty_jars_are_the_tested_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""{EMPTY}  kafka-3.9.2/kafka_2.13-3.9.2.jar
{EMPTY}  spark-4.3.0-connector-4.2.0-4.0.0/spark-sql-kafka-0-10_2.13-4.2.0.jar"""
    pins = digests.parse(text)
    for module in ("maven", "packages"):
        monkeypatch.setattr(f"tidegate.kafka.{module}.pinned", lambda folder: pins.get(folder, {}))


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    """A function that puts a fake Maven on the PATH, and returns the file with one line per call."""
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
    """A function that creates the folder of jars of a Spark version."""

    def make(version: str) -> Path:
        folder = tmp_path / "jars"
        folder.mkdir()
        for name in (f"spark-core_2.13-{version}.jar", f"spark-tags_2.13-{version}.jar", "lz4-java-1.11.0.jar"):
            (folder / name).touch()
        return folder

    return make


def names(jars: tuple[Path, ...]) -> list[str]:
    return [jar.name for jar in jars]


def test_jars_are_downloaded_once(maven: Maven) -> None:
    calls = maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    messages: list[str] = []
    assert names(broker_jars(messages.append)) == ["kafka_2.13-3.9.2.jar"]
    assert broker_jars(messages.append) == broker_jars()
    assert calls.read_text() == "called\n"
    assert len(messages) == 1


def test_downloaded_jars_do_not_need_maven(maven: Maven, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    first = broker_jars()
    monkeypatch.setenv("PATH", "/nowhere")
    assert broker_jars() == first


def test_a_failed_download_leaves_no_files(maven: Maven) -> None:
    maven(FINDS.format(jars="half.jar") + "; echo '[ERROR] Unknown host repo'; exit 1")
    with pytest.raises(EnvironmentMissing, match="Unknown host repo"):
        broker_jars()
    assert list(cache_folder().iterdir()) == []


def test_the_error_without_maven_says_how_to_install_it_and_where_to_put_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentMissing, match=rf"install it .*, or put the jars of .* into {tmp_path}/tidegate"):
        broker_jars()


def test_jars_that_were_copied_by_hand_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    folder = tmp_path / "tidegate" / "jars" / "kafka-3.9.2"
    folder.mkdir(parents=True)
    (folder / "kafka_2.13-3.9.2.jar").touch()
    assert names(broker_jars()) == ["kafka_2.13-3.9.2.jar"]


def test_the_connector_has_sparks_version_and_only_jars_that_spark_lacks(
    maven: Maven, spark: Callable[[str], Path]
) -> None:
    connector_jar = "spark-sql-kafka-0-10_2.13-5.0.1.jar"
    maven(FINDS.format(jars=f"{connector_jar} spark-tags_2.13-5.0.1.jar lz4-java-1.10.1.jar kafka-clients-3.9.2.jar"))
    exact = connector(spark("5.0.1"))
    assert names(exact.jars) == ["kafka-clients-3.9.2.jar", connector_jar]
    assert (exact.version, exact.spark, exact.note) == ("5.0.1", "5.0.1", None)


#: a repository that has the connector 4.2.0, with the token provider 4.0.0, but not 4.3.0
OLDER = (
    'if grep -q "<version>4.3.0<" "$pom"; then '
    + LACKS.format(what="spark-sql-kafka-0-10_2.13:jar:4.3.0")
    + '; fi; grep -q "<version>4.2.0<" "$pom" && grep -q "<version>4.0.0<" "$pom" || exit 9; '
    + FINDS.format(jars="spark-sql-kafka-0-10_2.13-4.2.0.jar")
)


def test_a_stand_in_is_reported_each_time_and_in_the_result(maven: Maven, spark: Callable[[str], Path]) -> None:
    calls, folder, messages = maven(OLDER), spark("4.3.0"), list[str]()
    first = connector(folder, messages.append)
    assert names(first.jars) == ["spark-sql-kafka-0-10_2.13-4.2.0.jar"]
    assert (first.version, first.spark) == ("4.2.0", "4.3.0")
    assert first.note is not None
    assert "no Kafka connector 4.3.0 for Spark 4.3.0: 4.2.0 is used instead" in first.note
    assert connector(folder, messages.append) == first
    assert messages.count(first.note) == 2
    assert calls.read_text() == "called\n" * 2  # for 4.3.0 and for the stand-in; after that the jars are there


def test_sparks_own_version_takes_precedence_over_a_stand_in(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven(OLDER)
    folder = spark("4.3.0")
    connector(folder)
    exact = cache_folder() / "spark-4.3.0-connector-4.3.0"
    exact.mkdir()
    (exact / "spark-sql-kafka-0-10_2.13-4.3.0.jar").touch()
    assert (connector(folder).version, connector(folder).note) == ("4.3.0", None)


def test_an_untested_version_of_spark_has_no_stand_in(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven(LACKS.format(what="spark-sql-kafka-0-10_2.13:jar:4.3.1"))
    with pytest.raises(NotPublished, match=r"have no spark-sql-kafka-0-10_2.13:jar:4.3.1"):
        connector(spark("4.3.1"))


def test_unreachable_repositories_do_not_lead_to_a_stand_in(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven('echo "[ERROR] Could not transfer artifact x from central: Unknown host"; exit 1')
    with pytest.raises(EnvironmentMissing, match="give it access to its repositories") as raised:
        connector(spark("4.3.0"))
    assert not isinstance(raised.value, NotPublished)


def test_a_folder_without_spark_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="has no spark-core jar"):
        installed_versions(tmp_path)


def test_missing_in_one_repository_and_unreachable_in_another_counts_as_unreachable() -> None:
    output = "[ERROR] Could not find artifact a:b:jar:1 in central; Could not transfer it from mirror: Unknown host"
    assert not isinstance(maven_error(output, ["a:b:1"], ""), NotPublished)


def test_a_preview_version_is_not_part_of_the_artifact_name() -> None:
    assert artifact(Path("spark-token-provider-kafka-0-10_2.13-4.1.0-preview1.jar")) == (
        "spark-token-provider-kafka-0-10_2.13"
    )


def test_a_tampered_download_is_refused_and_leaves_no_files(maven: Maven) -> None:
    maven('mkdir -p "$to"; echo evil > "$to/kafka_2.13-3.9.2.jar"')
    with pytest.raises(digests.WrongDigest, match=rf"kafka_2.13-3.9.2.jar is not the file .* not {EMPTY}\."):
        broker_jars()
    assert list(cache_folder().iterdir()) == []


def test_a_jar_that_was_tampered_with_later_is_removed_and_downloaded_again(maven: Maven) -> None:
    calls = maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    (jar,) = broker_jars()
    jar.write_text("evil")
    with pytest.raises(digests.WrongDigest, match="It was removed and not used; try again"):
        broker_jars()
    assert not jar.exists()
    assert broker_jars() == (jar,)
    assert (jar.read_text(), calls.read_text()) == ("", "called\n" * 2)


def test_what_is_added_to_a_folder_of_tested_jars_is_not_used(maven: Maven) -> None:
    maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    (jar,) = broker_jars()
    (jar.parent / "evil-1.0.jar").write_text("evil")
    assert broker_jars() == (jar,)


def test_a_missing_jar_among_others_is_downloaded(maven: Maven) -> None:
    maven(FINDS.format(jars="kafka_2.13-3.9.2.jar"))
    (jar,) = broker_jars()
    jar.rename(jar.with_name("renamed.jar"))
    assert broker_jars() == (jar,)


def test_a_download_that_lacks_a_tested_jar_is_an_error(maven: Maven) -> None:
    maven(FINDS.format(jars="other.jar"))
    with pytest.raises(EnvironmentMissing, match=r"without kafka_2.13-3.9.2.jar, which they need"):
        broker_jars()


def test_a_version_without_digests_is_used_and_reported(maven: Maven, spark: Callable[[str], Path]) -> None:
    maven(FINDS.format(jars="spark-sql-kafka-0-10_2.13-5.0.1.jar"))
    messages: list[str] = []
    connector(spark("5.0.1"), messages.append)
    assert messages[0].endswith("a version that Tidegate was not tested with and cannot check")


def test_all_jars_of_this_release_are_pinned() -> None:
    broker, stand_in = digests.pinned("kafka-3.9.2"), digests.pinned("spark-4.3.0-connector-4.2.0-4.0.0")
    assert {"kafka_2.13-3.9.2.jar", "kafka-clients-3.9.2.jar", "slf4j-simple-1.7.36.jar"} <= broker.keys()
    assert {"spark-sql-kafka-0-10_2.13-4.2.0.jar", "spark-token-provider-kafka-0-10_2.13-4.0.0.jar"} <= stand_in.keys()
    assert {len(bytes.fromhex(digest)) for digest in (*broker.values(), *stand_in.values())} == {32}
    # a jar that both have is one and the same
    assert all(broker[name] == stand_in[name] for name in broker.keys() & stand_in.keys())
