"""Settings that keep others out, and secrets that stay off the JVM's command line."""

import base64

import pytest

from tidegate.cluster import jvm
from tidegate.cluster.authentication import FILTER, authentication, closed_pages


def test_each_session_has_a_secret_of_its_own() -> None:
    first, second = authentication(), authentication()
    assert first["spark.authenticate"] == second["spark.authenticate"] == "true"
    assert len(bytes.fromhex(first["spark.authenticate.secret"])) == 32
    assert first["spark.authenticate.secret"] != second["spark.authenticate.secret"]


def test_pages_are_closed_with_a_key_that_is_thrown_away() -> None:
    name = f"spark.{FILTER}.param.secretKey"
    first, second = closed_pages(), closed_pages()
    # the filter takes keys of 256 bits or more, in URL-safe base64
    assert len(base64.urlsafe_b64decode(first[name])) == 32
    assert first[name] != second[name]
    assert (first["spark.ui.filters"], first["spark.ui.killEnabled"]) == (FILTER, "false")
    assert (first["spark.master.ui.decommission.allow.mode"], first["spark.master.rest.enabled"]) == ("DENY", "false")


def test_the_command_line_of_a_jvm_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    monkeypatch.setattr(
        jvm.SparkContext, "_ensure_initialized", lambda conf: given.append(dict(conf.getAll())), raising=True
    )
    jvm.launch({"spark.app.name": "a", **authentication(), "spark.ssl.keyPassword": "hunter2", **closed_pages()})
    (conf,) = given
    assert conf["spark.app.name"] == "a"
    assert {name for name in conf if "secret" in name.lower() or "password" in name.lower()} == set()
