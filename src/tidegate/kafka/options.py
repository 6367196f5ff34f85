"""Options of Kafka's clients: TLS, SASL and whatever else a cluster asks for, passed through as the clients spell them.

A name that begins with `kafka.` is Spark's, for its readers and writers; the rest of the name is one of Kafka's Java
client. All other names are those of the Python client, librdkafka, which makes topics, looks up offsets and produces.
So that nobody has to say everything twice, Spark also gets the common ones of TLS and SASL, unless it has its own.

Values may refer to environment variables, `${NAME}`. They are kept as they were written until a client is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from tidegate.core import InvalidInput
from tidegate.core.reading import MOST_TOML, parse_toml, read_text
from tidegate.core.redaction import REFERENCE, is_secret

#: name -> value
Options = Mapping[str, str]
NONE: Options = MappingProxyType({})
SPARK = "kafka."
#: set by Tidegate itself, as counts and results depend on them
RESERVED = {
    "bootstrap.servers": "--bootstrap",
    "kafka.bootstrap.servers": "--bootstrap",
    "enable.idempotence": "Tidegate, so that nothing is sent twice",
    "acks": "Tidegate, so that nothing is lost",
    "message.timeout.ms": "Tidegate, so that nothing is dropped",
    "delivery.report.only.error": "Tidegate, which counts acknowledgements",
}
#: options of librdkafka that the Java client has under the same name
SAME = ("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm")
JAAS = 'org.apache.kafka.common.security.{module} required username="{username}" password="{password}";'


def gather(flags: Iterable[str], file: Path | None) -> dict[str, str]:
    """The options of a file, overridden by NAME=VALUE flags. A flag with a secret is refused.

    >>> gather(["security.protocol=SASL_SSL", "sasl.password=${PASSWORD}"], None)
    {'security.protocol': 'SASL_SSL', 'sasl.password': '${PASSWORD}'}
    >>> gather(["acks=0"], None)
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: Kafka option acks cannot be set: it is set by Tidegate, so that nothing is lost
    """
    options = read(file) if file is not None else {}
    for text in flags:
        name, separator, value = (part.strip() for part in text.partition("="))
        if not name or not separator:
            shown = name if is_secret(name, text) else text
            raise InvalidInput(f"--kafka-option {shown!r} is not NAME=VALUE")
        if is_secret(name, value):
            raise InvalidInput(
                f"--kafka-option {name}: everybody on this machine can read a command line; write {name}='${{NAME}}'"
                " for the environment variable NAME, or put it into a file for --kafka-config"
            )
        options[name] = value
    _check(options)
    return options


def read(path: Path) -> dict[str, str]:
    """The options of a file: lines of NAME=VALUE, as Kafka's own tools read them, or TOML with [kafka.options].

    It must not be readable by others if it has secrets.
    """
    text = read_text(path, f"cannot read the Kafka options {path}", MOST_TOML)
    options = _toml(text, path) if path.suffix == ".toml" else _properties(text, path)
    if path.stat().st_mode & 0o077 and any(is_secret(name, value) for name, value in options.items()):
        raise InvalidInput(f"{path} has secrets, but other users of this machine can read it: chmod 600 {path}")
    return options


def _properties(text: str, path: Path) -> dict[str, str]:
    options = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, separator, value = (part.strip() for part in line.partition("="))
        if not name or name.startswith(("#", "!")):
            continue
        if not separator:
            raise InvalidInput(f"{path}, line {number}: need NAME=VALUE, as in Kafka's own properties files")
        options[name] = value
    return options


def _toml(text: str, path: Path) -> dict[str, str]:
    kafka = parse_toml(text, str(path)).get("kafka")
    table = kafka.get("options") if isinstance(kafka, dict) else None
    if not isinstance(table, dict):
        raise InvalidInput(f"{path}: need a table [kafka.options]")
    options = _flat(table)
    wrong = next((name for name, value in options.items() if not isinstance(value, str | int | float)), None)
    if wrong is not None:
        raise InvalidInput(f"{path}: [kafka.options]: need text or a number as {wrong}")
    return {name: _text(value) for name, value in options.items()}


def _flat(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """In TOML `sasl.username = "app"` without quotes is a table `sasl`."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def resolve(options: Options, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The options with the values of the environment variables that they refer to.

    >>> resolve({"sasl.password": "${PASSWORD}"}, {"PASSWORD": "hunter2"})
    {'sasl.password': 'hunter2'}
    """
    _check(options)
    variables = os.environ if environment is None else environment
    for name, value in options.items():
        for variable in REFERENCE.findall(value):
            if variable not in variables:
                raise InvalidInput(f"Kafka option {name}: the environment variable {variable} is not set")
    return {name: REFERENCE.sub(lambda found: variables[found[1]], value) for name, value in options.items()}


def _check(options: Options) -> None:
    for name in options:
        if name in RESERVED:
            raise InvalidInput(f"Kafka option {name} cannot be set: it is set by {RESERVED[name]}")


def client_options(options: Options) -> dict[str, str]:
    """Those of the Python client."""
    return {name: value for name, value in options.items() if not name.startswith(SPARK)}


def spark_options(options: Options) -> dict[str, str]:
    """Those of Spark's readers and writers.

    >>> spark_options({"security.protocol": "ssl", "kafka.client.id": "a", "linger.ms": "5"})
    {'kafka.security.protocol': 'SSL', 'kafka.client.id': 'a'}
    """
    own = {name: value for name, value in options.items() if name.startswith(SPARK)}
    return {SPARK + name: value for name, value in _translated(client_options(options)).items()} | own


def _translated(client: Options) -> dict[str, str]:
    """Options of librdkafka for TLS and SASL by name and password, as the Java client has them."""
    options = dict(client)
    if "sasl.mechanisms" in options:
        options.setdefault("sasl.mechanism", options["sasl.mechanisms"])
    made = {name: options[name] for name in SAME if name in options}
    if "security.protocol" in made:
        made["security.protocol"] = made["security.protocol"].upper()
    if made.get("ssl.endpoint.identification.algorithm") == "none":
        made["ssl.endpoint.identification.algorithm"] = ""
    if "ssl.ca.location" in options:
        made |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": options["ssl.ca.location"]}
    if "sasl.username" in options and "sasl.password" in options:
        scram = made.get("sasl.mechanism", "").startswith("SCRAM-")
        module = "scram.ScramLoginModule" if scram else "plain.PlainLoginModule"
        made["sasl.jaas.config"] = JAAS.format(
            module=module, username=_quoted(options["sasl.username"]), password=_quoted(options["sasl.password"])
        )
    return made


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
