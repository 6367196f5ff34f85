"""Authentication of the embedded cluster: whoever does not have the secret of a session cannot speak to its processes.

Everything listens on 127.0.0.1 only, but that keeps no other user of the machine out: a master without authentication
runs their code as the user who started it. With a shared secret, master, workers, driver and executors refuse every
connection that does not prove to have it.

The secret is drawn for each session and never leaves the memory of our own processes. It is set after the JVM has
started, since PySpark passes the settings of a JVM that is to be started on its command line, which everybody can read.
Spark passes it on to executors by the environment variable `_SPARK_AUTH_SECRET`, which only their own user can read.
"""

from __future__ import annotations

import base64
import secrets

FILTER = "org.apache.spark.ui.JWSFilter"


def authentication() -> dict[str, str]:
    """Settings of all processes of a session, with a new secret. Not to be passed to `jvm.launch`.

    Traffic is not encrypted: nobody but root can read what goes through the loopback interface, and root can read the
    memory of the processes as well.
    """
    return {"spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(32)}


def closed_pages() -> dict[str, str]:
    """Settings that close the web pages of master and workers, which Spark cannot do without.

    They know no users, yet show the logs of executors, and offer to kill applications and to decommission workers.
    Spark's filter asks for a token that is signed with a key that nobody has.
    """
    key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return {
        "spark.ui.filters": FILTER,
        f"spark.{FILTER}.param.secretKey": key,
        "spark.ui.killEnabled": "false",
        "spark.master.ui.decommission.allow.mode": "DENY",
        "spark.master.rest.enabled": "false",
    }
