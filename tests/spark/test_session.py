"""What is checked before anything starts."""

import socket
from pathlib import Path

import pytest

from tidegate.cluster.session import Cluster, session, workspace
from tidegate.core import EnvironmentMissing, InvalidInput


def opened(cluster: Cluster, folder: Path) -> None:
    with session(cluster, folder):
        pytest.fail("nothing should have started")


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port {port} for Spark's web page is taken"):
            opened(Cluster(ui_port=port), tmp_path)


def test_masters_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"master 'local\[4\]' has no executors to add or remove"):
        opened(Cluster(master="local[4]"), tmp_path)
    with pytest.raises(InvalidInput, match=r"master 'mesos://host:5050' is not spark://HOST:PORT, yarn or k8s://URL"):
        opened(Cluster(master="mesos://host:5050"), tmp_path)
    with pytest.raises(EnvironmentMissing, match=r"no Spark master answers at spark://127\.0\.0\.1:1,127\.0\.0\.1:2"):
        opened(Cluster(master="spark://127.0.0.1:1,127.0.0.1:2"), tmp_path)


def test_without_java_a_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentMissing, match="Spark needs Java 17 or 21"):
        opened(Cluster(), tmp_path)


def test_settings_of_the_user_win_and_dynamic_allocation_is_off(tmp_path: Path) -> None:
    settings = Cluster(conf={"spark.executor.memory": "2g"}).settings(tmp_path)
    assert settings["spark.executor.memory"] == "2g"
    assert settings["spark.dynamicAllocation.enabled"] == "false"
    assert settings["spark.ui.enabled"] == "false"
    assert Cluster(ui_port=4040).settings(tmp_path)["spark.ui.port"] == "4040"


def test_a_workspace_is_gone_however_its_block_ends() -> None:
    seen = []

    def fail() -> None:
        with workspace() as folder:
            (folder / "file").write_text("x")
            seen.append(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not seen[0].exists()
