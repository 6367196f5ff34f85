"""A real Kafka broker as a child process: one node that is broker and controller (KRaft), on 127.0.0.1 only."""

from __future__ import annotations

import atexit
import base64
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka.packages import Say, broker_jars, quiet
from tidegate.kafka.topics import answers

HOST = "127.0.0.1"
#: seconds to come up, and to go down when asked politely
START, STOP = 60.0, 20.0
HEAP = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC")
LOGGING = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
#: starts all brokers: the system ends a child with the thread that started it, and this one stays as long as we do
KEEPER = ThreadPoolExecutor(1, "kafka-keeper")
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions={partitions}
auto.create.topics.enable=false
# a record's timestamp is when it was created: by the default rule one from last month would be deleted at once
log.retention.ms=-1
# one node keeps the only copy of everything, for few topics and clients
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.dedupe.buffer.size=4194304
# after a kill the controller takes the broker back once its old session is over
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
"""


class Broker:
    """Started on entering, stopped on leaving; `address` is for clients.

    Without a folder its data goes when it stops for good (`close`); with one it stays, and a broker started on it
    later, at any port, has the same topics. `kill` and `start` are for tests of faults: same port, same data. It dies
    with this process where the system can see to that (Linux with setpriv), however that ends.
    """

    def __init__(
        self, folder: Path | None = None, *, port: int | None = None, partitions: int = 4, say: Say = quiet
    ) -> None:
        self._jars, self._java = broker_jars(say), find_java()
        self._given, self._partitions = folder, partitions
        self.port = port or free_port()
        self._controller = free_port()
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="tidegate-kafka-"))).absolute()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Of the broker's JVM; None where none runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    def start(self) -> Self:
        """Return when it answers; nothing to do where it runs."""
        if self.pid is not None:
            return self
        refuse_taken(self.port)
        self._configure()
        self._process = self._java_process("kafka.Kafka", str(self._properties))
        atexit.register(self.kill)
        deadline = time.monotonic() + START
        while not answers(self.address):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise EnvironmentMissing(f"the Kafka broker at {self.address} did not start: {self.last_words()}")
        return self

    def stop(self) -> None:
        """Politely, then not."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As a power cut would: SIGKILL, no goodbye."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop, and remove the data unless it lies in a folder that was given."""
        self.stop()
        if self._given is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _configure(self) -> None:
        """Write the settings, and format the folder the first time."""
        logs = self.folder / "data"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            values = {"host": HOST, "port": self.port, "controller": self._controller, "logs": logs}
            self._properties.write_text(PROPERTIES.format(**values, partitions=self._partitions))
        except OSError as error:
            raise InvalidInput(f"cannot keep Kafka's data in {self.folder}: {error.strerror}") from None
        if (logs / "meta.properties").exists():
            return
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # a name that begins with a dash is taken for an option
        options = ["format", f"--cluster-id={name}", "-c", str(self._properties)]
        if self._java_process("kafka.tools.StorageTool", *options).wait():
            raise EnvironmentMissing(f"Kafka's folder {logs} could not be formatted: {self.last_words()}")

    def _java_process(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        """A JVM in a session of its own, so that Ctrl-C reaches whoever started it and not the broker."""
        leash = shutil.which("setpriv")
        prefix = [leash, "--pdeathsig", "KILL"] if leash else []
        path = os.pathsep.join(map(str, self._jars))
        command = [*prefix, self._java, *HEAP, *LOGGING, "-cp", path, main, *arguments]
        with self.log.open("ab") as log:
            return KEEPER.submit(
                lambda: subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=leash is not None
                )
            ).result()

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.kill)
        process.send_signal(how)
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def last_words(self) -> str:
        """Of its log, for a sentence about why it is not there."""
        try:
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        except OSError:
            lines = []
        # the frames of a stack say less than the line above them
        told = [line for line in lines if not line.startswith(("\t", "SLF4J"))]
        return f"{told[-1] if told else 'it said nothing'} (all of it in {self.log})"


def free_port() -> int:
    """One that nobody had a moment ago."""
    with socket.socket() as tried:
        tried.bind((HOST, 0))
        port: int = tried.getsockname()[1]
        return port


def refuse_taken(port: int) -> None:
    with socket.socket() as tried:
        # a broker that was killed leaves closed connections behind, which do not matter
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidInput(
                f"the Kafka broker cannot listen at {HOST}:{port} ({reason}): give another port"
            ) from None


def find_java() -> str:
    """JAVA_HOME's, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if path is None:
        raise EnvironmentMissing("Kafka's broker needs Java 17 or newer, on the PATH or by JAVA_HOME")
    return path
