"""A Kafka broker as a child process: a single KRaft node (broker and controller) that listens on 127.0.0.1 only."""

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
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tidegate.core import EnvironmentMissing, InvalidInput
from tidegate.kafka.options import Options
from tidegate.kafka.packages import Say, broker_jars, quiet
from tidegate.kafka.topics import is_reachable

HOST = "127.0.0.1"
#: timeouts of start-up and of a graceful shutdown, s
START_TIMEOUT, STOP_TIMEOUT = 180.0, 20.0
HEAP = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC")
LOGGING = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
#: starts all brokers: pdeathsig applies to the parent thread, and this thread lives as long as the process
KEEPER = ThreadPoolExecutor(1, "kafka-keeper")
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=CLIENTS://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=CLIENTS://{host}:{port}
listener.security.protocol.map=CLIENTS:{protocol},CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENTS
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions={partitions}
auto.create.topics.enable=false
# a record's timestamp is its creation time: with the default retention old records would be deleted at once
log.retention.ms=-1
# replays remove what was read
log.retention.check.interval.ms=30000
# a single node, few topics and clients
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
# after a kill the controller accepts the broker again once its old session has timed out
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
"""


@dataclass(frozen=True, slots=True)
class Listener:
    """How clients reach the broker. By default without TLS and without a login, as everything is on one machine."""

    #: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
    protocol: str = "PLAINTEXT"
    #: settings of the broker for it, in Kafka's names; they may have secrets
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: the options of a client that may use it, as in `kafka.options`
    options: Options = field(default_factory=dict, repr=False)


PLAIN = Listener()


class Broker:
    """A broker that is started on entering the context and stopped on leaving it. Clients connect to `address`.

    Without a folder the data is deleted by `close`. With one it is kept, and a broker that is started with the same
    folder later, on any port, has the same topics. `kill` and `start` are for tests of failures: port and data stay the
    same. On Linux with setpriv the broker also ends if this process dies.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        port: int | None = None,
        partitions: int = 4,
        listener: Listener = PLAIN,
        say: Say = quiet,
    ) -> None:
        self._jars, self._java = broker_jars(say), find_java()
        self._keeps_data, self._partitions, self._listener = folder is not None, partitions, listener
        self.port = port or free_port()
        self._controller = free_port()
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="tidegate-kafka-"))).absolute()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id of the broker's JVM; None if it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    def start(self) -> Self:
        """Return once it answers. Does nothing if it is running."""
        if self.pid is not None:
            return self
        check_port_free(self.port)
        self._configure()
        self._process = self._java_process("kafka.Kafka", str(self._properties))
        atexit.register(self.kill)
        deadline = time.monotonic() + START_TIMEOUT
        while not is_reachable(self.address, self._listener.options):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise EnvironmentMissing(f"the Kafka broker at {self.address} did not start: {self.log_tail()}")
        return self

    def stop(self) -> None:
        """Shut down gracefully, or kill it after a timeout."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it without a graceful shutdown (SIGKILL), like a power failure."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop it, and delete its data unless the caller chose the folder."""
        self.stop()
        if not self._keeps_data:
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
        """Write the settings, and format the data folder if it is new."""
        logs = self.folder / "data"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._properties.touch(mode=0o600)
            self._properties.chmod(0o600)  # of an earlier version
            self._properties.write_text(self._settings(logs))
        except OSError as error:
            raise InvalidInput(f"cannot write Kafka's data to {self.folder}: {error.strerror}") from None
        if (logs / "meta.properties").exists():
            return
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # with "=", because an id that starts with a dash would be taken for an option
        options = ["format", f"--cluster-id={cluster_id}", "-c", str(self._properties)]
        if self._java_process("kafka.tools.StorageTool", *options).wait():
            raise EnvironmentMissing(f"Kafka's folder {logs} could not be formatted: {self.log_tail()}")

    def _settings(self, logs: Path) -> str:
        values = {"host": HOST, "port": self.port, "controller": self._controller, "logs": logs}
        text = PROPERTIES.format(**values, partitions=self._partitions, protocol=self._listener.protocol)
        return text + "".join(f"{name}={value}\n" for name, value in self._listener.properties.items())

    def _java_process(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        """A JVM in its own session, so that Ctrl-C does not reach the broker."""
        setpriv = shutil.which("setpriv")
        prefix = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        classpath = os.pathsep.join(map(str, self._jars))
        command = [*prefix, self._java, *HEAP, *LOGGING, "-cp", classpath, main, *arguments]
        self.log.touch(mode=0o600)
        with self.log.open("ab") as log:
            return KEEPER.submit(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=setpriv is not None,
                    umask=0o077,  # records are for this user only
                )
            ).result()

    def _end(self, signal_number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.kill)
        process.send_signal(signal_number)
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def log_tail(self) -> str:
        """The last meaningful line of its log, for error messages."""
        try:
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        except OSError:
            lines = []
        # skip the frames of stack traces: the line above them has the message
        messages = [line for line in lines if not line.startswith(("\t", "SLF4J"))]
        return f"{messages[-1] if messages else 'no output'} (full log: {self.log})"


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port_free(port: int) -> None:
    with socket.socket() as probe:
        # ignore connections in TIME_WAIT, which a killed broker leaves behind
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidInput(
                f"the Kafka broker cannot listen at {HOST}:{port} ({reason}): choose another port"
            ) from None


def find_java() -> str:
    """The Java of JAVA_HOME, or else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if path is None:
        raise EnvironmentMissing("Kafka's broker needs Java 17 or newer, on the PATH or by JAVA_HOME")
    return path
