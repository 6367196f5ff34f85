import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka import Broker, broker_jars, create_topic, end_offsets, topic_partitions
from tidegate.kafka.broker import check_port_free


def test_a_port_in_use_is_an_error_before_anything_starts() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InvalidInput, match=rf"cannot listen at 127.0.0.1:{port} \(Address already in use\)"):
            check_port_free(port)


@pytest.mark.parametrize("port", [-1, 70_000])
def test_an_invalid_port_is_an_error(port: int) -> None:
    with pytest.raises(InvalidInput, match=f"cannot listen at 127.0.0.1:{port}"):
        check_port_free(port)


@pytest.mark.kafka
def test_settings_and_records_are_for_this_user_only(broker: Broker) -> None:
    create_topic(broker.address, "private", 1)
    assert broker.folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in broker.folder.rglob("*") if path.is_file()]
    assert {"server.properties", "broker.log", "00000000000000000000.log"} <= {path.name for path in files}
    assert [path for path in files if path.stat().st_mode & 0o077] == []


@pytest.mark.kafka
def test_data_in_a_chosen_folder_is_kept_and_available_on_another_port(tmp_path: Path, broker: Broker) -> None:
    with Broker(tmp_path / "data") as first:
        create_topic(first.address, "t", 2)
        port = first.port
    with Broker(tmp_path / "data") as second:
        assert second.port != port
        assert topic_partitions(second.address, "t") == 2
        assert end_offsets(second.address, "t") == {0: 0, 1: 0}


@pytest.mark.kafka
def test_its_own_folder_is_deleted(broker: Broker) -> None:
    with Broker() as other:
        folder, pid = other.folder, other.pid
        assert folder.exists()
        assert pid is not None
    assert not folder.exists()
    assert other.pid is None
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.kafka
def test_it_listens_on_the_loopback_address_only(broker: Broker) -> None:
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    local = [line.split()[1] for line in listening.splitlines() if len(line.split()) > 3 and line.split()[3] == "0A"]
    # little-endian 127.0.0.1, also as an IPv6 address
    assert {address.split(":")[0] for address in local if int(address.split(":")[1], 16) == broker.port} <= {
        "0100007F",
        "0000000000000000FFFF00000100007F",
    }


@pytest.mark.kafka
def test_the_error_of_a_failed_start_has_the_reason(tmp_path: Path, broker: Broker) -> None:
    folder = tmp_path / "broken"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=77\n")
    with pytest.raises(EnvironmentMissing, match=r"did not start: .*node"), Broker(folder):
        pass


@pytest.mark.kafka
def test_it_dies_with_the_process_that_started_it(tmp_path: Path, broker: Broker) -> None:
    assert broker_jars()
    code = f"""
import pathlib, time
from tidegate.kafka import Broker
broker = Broker(pathlib.Path({str(tmp_path / "orphan")!r})).start()
print(broker.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{child}").exists()
