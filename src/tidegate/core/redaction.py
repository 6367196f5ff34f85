"""Secrets in settings: which names have one, and how they are shown. The only place that decides it.

Names are those of Spark, of Kafka's Java client and of librdkafka. A reference to an environment variable, `${NAME}`,
is no secret: it says where one is, and stays readable, so that a stored run can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "(hidden)"
#: part of the name of a setting with a secret
NAME = re.compile(
    r"secret|passw(or)?d|passphrase|token|credential|jaas|(api|access|private)[._-]?key|oauthbearer\.config"
    r"|ssl\.(key|key\.pem|keystore\.key)$",
    re.IGNORECASE,
)
#: the same for Spark, with its own default for the options of data sources, `url`
SPARK_REDACTION = f"(?i){NAME.pattern}|url"
#: the value of such a setting is where one is, or of which kind it is
NO_SECRET = re.compile(r"[._-](location|file|type|url|class|ms)$", re.IGNORECASE)
#: a value that consists of settings, like a JAAS configuration or a connection string
VALUE = re.compile(r"(secret|passw(or)?d|token|key)\s*=", re.IGNORECASE)
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting's value must not be shown.

    >>> is_secret("sasl.password"), is_secret("kafka.sasl.jaas.config"), is_secret("spark.authenticate.secret")
    (True, True, True)
    >>> is_secret("sasl.password", "${KAFKA_PASSWORD}"), is_secret("ssl.key.location"), is_secret("group.id")
    (False, False, False)
    """
    if REFERENCE.fullmatch(value):
        return False
    named = NAME.search(name) is not None and NO_SECRET.search(name) is None
    return named or VALUE.search(value) is not None


def redacted(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as they may be printed and stored.

    >>> redacted({"sasl.username": "app", "sasl.password": "hunter2"})
    {'sasl.username': 'app', 'sasl.password': '(hidden)'}
    """
    # a stored value may be anything
    return {str(name): HIDDEN if is_secret(str(name), str(value)) else value for name, value in settings.items()}


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """A message, without the secrets of settings that another program may have put into it.

    >>> without_secrets("bad value 'hunter2'", {"sasl.password": "hunter2"})
    "bad value '(hidden)'"
    """
    secrets = {value for name, value in settings.items() if value and is_secret(name, value)}
    # the longest first, as one may be part of another
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
