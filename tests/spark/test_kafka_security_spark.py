"""A run through a Kafka broker that asks for TLS and a password, and where that password does not appear."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidegate.cli.stored import write_report
from tidegate.core import EnvironmentMissing
from tidegate.experiment import Experiment, Kafka
from tidegate.kafka import Broker, Listener, create_topic, end_offsets, wait_for_broker
from tidegate.runner import run
from tidegate.runs import encode
from tidegate.sources.kafka_feed import KafkaFeed
from tidegate.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
USER, PASSWORD = "tidegate", "hunter2-and-more"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed certificate for 127.0.0.1, its key, and both in one file as Kafka wants them."""
    folder = tmp_path_factory.mktemp("tls")
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, made = (
        ["-keyout", "key.pem", "-nodes"],
        ["-out", "ca.pem", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1"],
    )
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-subj", "/CN=127.0.0.1", *key, *made]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "broker.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder


def login(password: str, certificate: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": password,
        "ssl.ca.location": str(certificate / "ca.pem"),
    }


@pytest.fixture(scope="module")
def guarded(broker: Broker, certificate: Path) -> Iterator[Broker]:
    """A broker that knows one user. `broker` skips the tests where there can be none."""
    jaas = f'{LOGIN} required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificate / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate / "ca.pem"),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": jaas,
    }
    with Broker(listener=Listener("SASL_SSL", properties, login(PASSWORD, certificate))) as made:
        yield made


def test_who_has_no_password_is_told_why(guarded: Broker, certificate: Path) -> None:
    create_topic(guarded.address, "orders", 1, login(PASSWORD, certificate))
    assert end_offsets(guarded.address, "orders", login(PASSWORD, certificate)) == {0: 0}
    with pytest.raises(EnvironmentMissing, match=r"does not accept the login: .*[Aa]uthentication failed") as refused:
        wait_for_broker(guarded.address, options=login("a-guess", certificate))
    assert "a-guess" not in str(refused.value)
    with pytest.raises(EnvironmentMissing, match=r"no Kafka broker answered at .* within 1 s"):
        wait_for_broker(guarded.address, 1.0)


@pytest.mark.proof
def test_a_run_through_tls_and_sasl_leaves_no_password_behind(
    guarded: Broker, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    logs = dict[str, bytes]()
    settle = KafkaFeed.counted

    def counted(feed: KafkaFeed, spark: SparkSession, connector: str | None = None) -> object:
        """At the end of the run, while its folder is still there."""
        folder = Path(str(spark.conf.get("spark.local.dir"))).parent
        logs.update({path.name: path.read_bytes() for path in (folder / "driver.log", *folder.glob("work/*/*/stderr"))})
        executions = spark._jsparkSession.sharedState().statusStore().executionsList()  # type: ignore[attr-defined]
        plans = [str(executions.apply(k).physicalPlanDescription()) for k in range(executions.size())]
        logs["plans"] = "\n".join(plans).encode()
        return settle(feed, spark, connector)

    monkeypatch.setattr(KafkaFeed, "counted", counted)
    options = {**login("${KAFKA_PASSWORD}", certificate), "kafka.client.id": "tidegate"}
    ysb = Experiment(
        job="ysb",
        workload="constant",
        policy="static",
        duration=12,
        peak=1_000,
        maximum=1,
        trigger=2,
        partitions=2,
        kafka=Kafka(guarded.address, "ads", sink="views", options=options),
    )
    said: list[str] = []
    with Store.open(tmp_path / "runs.db") as store:
        outcome = run(ysb, store, said.append)
        assert outcome.result
        result = encode(outcome.result)
        write_report(store, outcome.run, tmp_path / "runs.db", None)
    assert result["verified"] is True
    # 12 s * 1,000/s
    assert (result["kafka"]["produced"], result["kafka"]["duplicates"], result["kafka"]["losses"]) == (12_000, 0, 0)
    assert {"driver.log", "stderr"} <= logs.keys()
    assert b"ads" in logs["plans"]
    written = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(name.endswith(".html") for name in written)
    everything = {**logs, **written, "said": "\n".join(said).encode(), "result": repr(result).encode()}
    assert [name for name, data in everything.items() if PASSWORD.encode() in data] == []
    assert any(b"${KAFKA_PASSWORD}" in data for data in written.values())  # the stored run says where it comes from
