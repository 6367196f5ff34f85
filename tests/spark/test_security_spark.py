"""Who may speak to an embedded cluster: its own processes, and nobody else on the machine."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidegate.cluster.java import find_java
from tidegate.cluster.processes import tree
from tidegate.cluster.session import Cluster, session, workspace
from tidegate.kafka.broker import free_port
from tidegate.kafka.packages import pyspark_jars

pytestmark = pytest.mark.spark
HOST = "127.0.0.1"
#: the uid of `nobody` on every Linux distribution
NOBODY = 65534
GIVEN = "_SPARK_AUTH_SECRET="


def read(process: int, name: str) -> bytes:
    """A file of a process; nothing if it has ended, as Python workers do now and then."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


@dataclass(frozen=True)
class Started:
    spark: SparkSession
    folder: Path
    ui_port: int
    #: ports on which something listened before
    earlier: frozenset[int]

    @property
    def secrets(self) -> set[str]:
        """That of the settings, and that of the executors, which is another one if this JVM had a local session before:
        Spark keeps the secret of such a session for as long as the JVM lives.
        """
        environments = [read(process, "environ").decode(errors="replace") for process in tree(os.getpid())]
        given = [word for text in environments for word in text.split("\0") if word.startswith(GIVEN)]
        assert given
        drawn = str(self.spark.sparkContext.getConf().get("spark.authenticate.secret"))
        return {drawn, *(word.removeprefix(GIVEN) for word in given)}


@pytest.fixture(scope="module")
def started() -> Iterator[Started]:
    """An embedded cluster with Spark's page, an executor, and a Python worker in it."""
    port = free_port()
    earlier = frozenset(listener.port for listener in listeners())
    with workspace() as folder, session(Cluster(initial=1, maximum=2, ui_port=port), folder) as spark:
        increment = F.udf(lambda number: number + 1, "long")
        assert spark.range(4).repartition(2).agg(F.sum(increment("id"))).first() == (10,)
        yield Started(spark, folder, port, earlier)


@dataclass(frozen=True)
class Listener:
    process: int
    address: str
    port: int


def listeners() -> list[Listener]:
    """All TCP sockets on which this process and its descendants listen."""
    owners = {inode: process for process in tree(os.getpid()) for inode in _sockets(process)}
    found = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in owners:  # listens; the sixth of the rest is the inode
                address, port = local.split(":")
                found.append(Listener(owners[rest[5]], _address(address), int(port, 16)))
    return found


def _sockets(process: int) -> list[str]:
    links = []
    with contextlib.suppress(OSError):  # the process has ended in the meantime
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):  # closed in the meantime
                links.append(os.readlink(descriptor))
    return [link.removeprefix("socket:[").rstrip("]") for link in links if link.startswith("socket:[")]


def _address(words: str) -> str:
    """An address of /proc/net/tcp, whose words of four bytes are little-endian."""
    raw = b"".join(bytes.fromhex(words[k : k + 8])[::-1] for k in range(0, len(words), 8))
    mapped = raw.removeprefix(bytes(10) + b"\xff\xff")
    return socket.inet_ntop(socket.AF_INET if len(mapped) == 4 else socket.AF_INET6, mapped)


def test_all_that_a_run_listens_on_is_loopback(started: Started) -> None:
    found = listeners()
    # Python's own; of the JVM: py4j, master, two workers, three pages, driver, its blocks; the executor's; its Python's
    assert len(found) >= 12
    assert [listener for listener in found if listener.address not in (HOST, "::1")] == []


def answer(port: int, request: bytes, timeout: float = 300) -> bytes:
    """The first bytes of an answer; none if the connection is closed."""
    with socket.create_connection((HOST, port), timeout=timeout) as connection:
        connection.sendall(request)
        try:
            return connection.recv(4096)
        except ConnectionError:
            return b""


def rpc(body: bytes) -> bytes:
    """A request in the protocol of Spark's processes: size of the frame, type 3, number of the request, the body."""
    return struct.pack(">qbqi", 8 + 1 + 8 + 4 + len(body), 3, 1, len(body)) + body


def demand(port: int) -> str:
    """What a port of a JVM asks of somebody who just connects."""
    page = answer(port, b"GET / HTTP/1.0\r\n\r\n")
    if page.startswith(b"HTTP/"):
        return page.split()[1].decode()
    if page.startswith(b"!"):  # py4j's gateway
        gateway = answer(port, b"c\nj\nrj\ne\n")
        return "token" if gateway.startswith(b"!xsAuthentication error") else f"open: {gateway!r}"
    spark = answer(port, rpc(b"let me in"))
    return "secret" if b"Expected SaslMessage" in spark else f"open: {spark!r}"


def _is_spark(process: int) -> bool:
    """Whether it is the JVM of the driver or of an executor, unlike that of a Kafka broker."""
    java, *words = read(process, "cmdline").decode().split("\0")
    return java.endswith("java") and any(word.startswith("org.apache.spark.") for word in words)


def test_every_port_of_a_jvm_asks_for_something_that_only_the_run_has(started: Started) -> None:
    # the JVM may have served other sessions before, whose sockets wait for somebody who knows their token
    ports = [one.port for one in listeners() if _is_spark(one.process) and one.port not in started.earlier]
    demands = sorted(demand(port) for port in ports if port != started.ui_port)
    # RPC of master, two workers and driver, blocks of driver and executor; pages of master and workers; py4j's gateway
    assert [what for what in demands if what != "token"] == ["403"] * 3 + ["secret"] * 6


def test_py4j_s_gateway_asks_for_its_token(started: Started) -> None:
    gateway: Any = SparkContext._gateway
    assert demand(gateway.gateway_parameters.port) == "token"


@pytest.mark.parametrize("settings", [(), ("-Dspark.authenticate=true", "-Dspark.authenticate.secret=a-guess")])
def test_another_user_of_the_machine_cannot_submit(started: Started, settings: tuple[str, ...], tmp_path: Path) -> None:
    """Spark's own client, which sends one message to the master and prints the answer. Before there was a secret, it
    was that the driver does not exist, and applications of `nobody` ran as the user of the cluster.
    """
    jars, java = pyspark_jars(), str(find_java().path)
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    readable = subprocess.run(["test", "-r", str(jars)], check=False, **other)  # type: ignore[call-overload]
    if readable.returncode:
        pytest.skip(f"another user cannot read {jars}")
    client = ["-cp", f"{jars}/*", "org.apache.spark.deploy.Client"]
    options = ["-XX:TieredStopAtLevel=1", "-Dspark.rpc.io.maxRetries=0", *settings]
    master = str(started.spark.sparkContext.master)
    command = [java, *options, *client, "kill", master, "driver-20260101000000-0000"]
    environment = {"PATH": os.environ["PATH"], "SPARK_LOCAL_IP": HOST}
    tried = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd="/",
        **other,  # type: ignore[call-overload]
    )
    assert tried.returncode != 0
    assert re.search("Expected SaslMessage|Exception while bootstrapping client", tried.stdout + tried.stderr)
    assert "does not exist" not in tried.stdout + tried.stderr


def test_the_secret_is_not_where_others_can_read_it(started: Started) -> None:
    secrets = [secret.encode() for secret in started.secrets]
    assert all(len(secret) == 64 for secret in secrets)
    for process in tree(os.getpid()):
        command = read(process, "cmdline")
        assert [secret for secret in secrets if secret in command] == []
    assert Path("/proc/self/environ").stat().st_mode & 0o077 == 0
    files = [path for path in started.folder.rglob("*") if path.is_file()]
    assert {"driver.log", "stderr"} <= {path.name for path in files}
    assert [path for path in files if any(secret in path.read_bytes() for secret in secrets)] == []
    assert started.folder.stat().st_mode & 0o777 == 0o700


def test_sparks_page_shows_no_secret_and_kills_nothing(started: Started) -> None:
    def page(path: str) -> str:
        with urllib.request.urlopen(f"http://{HOST}:{started.ui_port}{path}") as response:
            return str(response.read().decode())

    application = started.spark.sparkContext.applicationId
    for path in ("/environment/", f"/api/v1/applications/{application}/environment"):
        assert "spark.authenticate.secret" in page(path)
        assert [secret for secret in started.secrets if secret in page(path)] == []
    assert started.spark.sparkContext.getConf().get("spark.ui.killEnabled") == "false"
