from pathlib import Path

import pytest

from tidegate.cluster.java import HOW, Java, find_java, parse_version
from tidegate.core import EnvironmentMissing


def fake(folder: Path, told: str) -> Path:
    """A java that only knows its version."""
    path = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    path.chmod(0o755)
    return path


def sentence() -> str:
    with pytest.raises(EnvironmentMissing) as missing:
        find_java()
    assert missing.value.exit_code == 3
    return str(missing.value)


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('java version "1.8.0_392"', 8),
        ('java version "11.0.2" 2019-01-15 LTS', 11),
        ('Picked up _JAVA_OPTIONS: -Xmx1g\nopenjdk version "17.0.1"', 17),
        ("openjdk 17.0.1 2021-10-19", None),
        ("Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_versions_as_java_tells_them(told: str, version: int | None) -> None:
    assert parse_version(told) == version


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake(tmp_path / "home" / "bin", 'openjdk version "21.0.2" 2024-01-16')
    path = fake(tmp_path / "path", 'openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == Java(home, 21)
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == Java(path, 17)
    monkeypatch.setenv("JAVA_HOME", "")
    assert find_java() == Java(path, 17)


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "path", 'openjdk version "17.0.15"')  # Spark would not look there either
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert sentence() == f"Spark needs Java 17 or 21, but there is JAVA_HOME={tmp_path / 'home'} has no bin/java: {HOW}"


def test_no_java_anywhere_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    told = sentence()
    assert told == f"Spark needs Java 17 or 21, but there is no java on the PATH and no JAVA_HOME: {HOW}"
    assert "apt-get install openjdk-17-jre-headless" in told


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "11"),
        ('java version "1.8.0_392"', "8"),
        ('openjdk version "25" 2025-09-16', "25"),
        ("what?", "of unknown version"),
    ],
)
def test_another_version_is_refused_with_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, found: str
) -> None:
    path = fake(tmp_path, told)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert sentence() == f"Spark needs Java 17 or 21, but {path} is {found}: {HOW}"


def test_a_java_that_may_not_be_run_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bin", 'openjdk version "17.0.15"').chmod(0o644)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME={tmp_path} has no bin/java" in sentence()


def test_a_java_for_another_machine_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bin", "").write_bytes(b"\x7fELF of another kind of processor")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert str(tmp_path / "bin" / "java") in sentence()
