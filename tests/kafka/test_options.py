"""Options of Kafka's clients: where they come from, which client gets them, and what is never shown."""

from pathlib import Path

import pytest

from tidegate.core import InvalidInput
from tidegate.core.redaction import HIDDEN, is_secret, redacted, without_secrets
from tidegate.experiment import Experiment, Kafka
from tidegate.kafka import Target, create_topic
from tidegate.kafka.options import client_options, gather, read, resolve, spark_options
from tidegate.runs import RunSpec, decode, encode
from tidegate.sources.kafka_topic import Topic

SECRET = "hunter2"


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "kafka.sasl.jaas.config",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.key.pem",
        "kafka.ssl.truststore.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "schema.registry.basic.auth.credentials",
        "spark.authenticate.secret",
        "delegation.token",
        "aws.access-key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name, SECRET)
    assert redacted({name: SECRET}) == {name: HIDDEN}
    assert redacted({name: "${VARIABLE}"}) == {name: "${VARIABLE}"}  # says where it is, not what


@pytest.mark.parametrize(
    "name",
    [
        "security.protocol",
        "sasl.username",
        "ssl.ca.location",
        "ssl.key.location",
        "ssl.keystore.type",
        "sasl.oauthbearer.token.endpoint.url",
        "partitioner.class",
        "group.id",
        "spark.authenticate",
    ],
)
def test_names_of_what_may_be_shown(name: str) -> None:
    assert redacted({name: "value"}) == {name: "value"}


def test_a_value_that_is_made_of_settings_is_a_secret_whatever_its_name() -> None:
    assert is_secret("x", 'Module required username="a" password="b";')
    assert is_secret("x", "Endpoint=sb://a/;SharedAccessKey=abc")
    assert not is_secret("ssl.ca.location", "/run/secrets/ca.pem")


def test_secrets_are_taken_out_of_messages_the_longest_first() -> None:
    options = {"sasl.password": "abc", "ssl.key.password": "abcdef", "sasl.username": "app", "a.secret": ""}
    assert without_secrets("app: abc, abcdef", options) == f"app: {HIDDEN}, {HIDDEN}"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_properties_file_is_read_as_kafkas_own_tools_do(tmp_path: Path) -> None:
    file = write(
        tmp_path / "client.properties", f"# ours\n\n! too\nsasl.password = {SECRET}=\nssl.ca.location=ca.pem\n"
    )
    assert read(file) == {"sasl.password": f"{SECRET}=", "ssl.ca.location": "ca.pem"}


def test_a_toml_file_has_a_table(tmp_path: Path) -> None:
    text = '[kafka.options]\nsasl.username = "app"\n"linger.ms" = 5\nenable.ssl.certificate.verification = true\n'
    file = write(tmp_path / "kafka.toml", text, 0o644)
    expected = {"sasl.username": "app", "linger.ms": "5", "enable.ssl.certificate.verification": "true"}
    assert read(file) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.properties", "sasl.username", "line 1: need NAME=VALUE"),
        ("a.toml", "[kafka]\noptions = 1", r"need a table \[kafka.options\]"),
        ("a.toml", "[kafka.options]\nssl = [1]", "need text or a number as ssl"),
        ("a.toml", "[kafka", "is no TOML"),
    ],
)
def test_a_file_that_is_none_is_a_sentence(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(write(tmp_path / name, text))


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read the Kafka options .*none: No such file"):
        read(tmp_path / "none")


def test_a_file_with_secrets_must_not_be_readable_by_others(tmp_path: Path) -> None:
    file = write(tmp_path / "client.properties", f"sasl.password={SECRET}", 0o640)
    with pytest.raises(
        InvalidInput, match=r"has secrets, but other users of this machine can read it: chmod 600"
    ) as no:
        read(file)
    assert SECRET not in str(no.value)
    assert read(write(file, "sasl.password=${PASSWORD}", 0o644)) == {"sasl.password": "${PASSWORD}"}


def test_flags_override_the_file_and_take_no_secrets(tmp_path: Path) -> None:
    file = write(tmp_path / "client.properties", f"sasl.password={SECRET}\nsecurity.protocol=SSL")
    flags = ["security.protocol = SASL_SSL", "sasl.username=a=b"]
    assert gather(flags, file) == {"sasl.password": SECRET, "security.protocol": "SASL_SSL", "sasl.username": "a=b"}
    for flag in (f"sasl.password={SECRET}", f'kafka.sasl.jaas.config=M required password="{SECRET}";'):
        with pytest.raises(InvalidInput, match="everybody on this machine can read a command line") as no:
            gather([flag], None)
        assert SECRET not in str(no.value)
    for flag in ("sasl.password", "=x", ""):
        with pytest.raises(InvalidInput, match="is not NAME=VALUE"):
            gather([flag], None)


def test_what_results_depend_on_cannot_be_set() -> None:
    for name in ("acks", "bootstrap.servers", "kafka.bootstrap.servers", "enable.idempotence"):
        with pytest.raises(InvalidInput, match=f"Kafka option {name} cannot be set"):
            resolve({name: "x"})


def test_references_are_resolved_late_and_a_missing_one_is_named() -> None:
    options = {"sasl.password": "${PASSWORD}", "ssl.ca.location": "${HOME}/ca.pem", "x": "$5"}
    variables = {"PASSWORD": "a$b", "HOME": "/home/app"}
    assert resolve(options, variables) == {"sasl.password": "a$b", "ssl.ca.location": "/home/app/ca.pem", "x": "$5"}
    with pytest.raises(InvalidInput, match=r"option sasl\.password: the environment variable PASSWORD is not set"):
        resolve(options, {})


def test_spark_gets_tls_and_sasl_in_the_java_clients_words() -> None:
    options = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "app",
        "sasl.password": 'a"b\\c',
        "ssl.ca.location": "ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
        "linger.ms": "5",
    }
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert spark_options(options) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": scram + ' required username="app" password="a\\"b\\\\c";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "ca.pem",
        "kafka.ssl.endpoint.identification.algorithm": "",
    }
    assert client_options(options) == options


def test_sparks_own_options_win_and_are_not_the_python_clients() -> None:
    options = {"security.protocol": "SSL", "kafka.security.protocol": "PLAINTEXT", "kafka.max.poll.records": "5"}
    assert spark_options(options) == {"kafka.security.protocol": "PLAINTEXT", "kafka.max.poll.records": "5"}
    assert client_options(options) == {"security.protocol": "SSL"}
    reader = Topic("a:1", "bids", "", given=options).options
    assert (reader["kafka.security.protocol"], reader["kafka.bootstrap.servers"]) == ("PLAINTEXT", "a:1")


def test_a_stored_run_has_no_secrets_and_can_be_read_again() -> None:
    kafka = Kafka(
        "a:1", "bids", options={"sasl.username": "app", "sasl.password": SECRET, "ssl.key.password": "${KEY}"}
    )
    stored = encode(Experiment(kafka=kafka).spec())
    assert stored["kafka"]["options"] == {
        "sasl.username": "app",
        "sasl.password": HIDDEN,
        "ssl.key.password": "${KEY}",
    }
    again = decode(RunSpec, stored, "run").kafka
    assert again is not None
    assert again.options["sasl.password"] == HIDDEN
    assert kafka.options["sasl.password"] == SECRET  # the run itself still has it
    for value in (kafka, Experiment(kafka=kafka), Target("a:1", "t", 1, kafka.options), Topic("a:1", "t", "")):
        assert SECRET not in repr(value)


def test_options_that_librdkafka_does_not_take_are_a_sentence_without_secrets() -> None:
    with pytest.raises(InvalidInput, match=r'not take its options: No such configuration property: "sasl\.pasword"'):
        create_topic("127.0.0.1:1", "t", 1, {"sasl.pasword": SECRET})
    with pytest.raises(InvalidInput, match="does not take its options") as no:
        create_topic("127.0.0.1:1", "t", 1, {"security.protocol": SECRET, "sasl.password": SECRET})
    assert SECRET not in str(no.value)
