"""`tidegate produce` and `tidegate broker` as processes, as users start them."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tidegate.cli.kafka import Teller, line, stopped_by_signals, summary
from tidegate.kafka import Broker, Produced, Progress, require
from tidegate.kafka.broker import free_port


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tidegate", *words]


def tidegate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, check=False)


def progress(time: float, acknowledged: int) -> Progress:
    """Of a thousand records a second, all sent."""
    offered = int(1000 * time)
    return Progress(time, offered, offered, acknowledged, 0, time - acknowledged / 1000)


def test_a_stall_is_told_when_it_begins_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Teller()
    for time, acknowledged in ((1, 1000), (2, 1500), (3, 1500), (4, 1500), (4.5, 1500), (4.6, 2500)):
        tell(progress(time, acknowledged))
    told = capsys.readouterr().err.splitlines()
    # the last acknowledgement came at 2 s; two seconds later 4000 - 1500 records wait
    assert told == [
        "4 s: the broker takes nothing; 2,500 records wait for it, none is lost",
        "5 s: 2,500 records acknowledged, 2.10 s behind the workload",
    ]


def test_a_line_tells_how_far_it_is() -> None:
    assert line(progress(5, 4900), False) == "5 s: 4,900 records acknowledged, 0.10 s behind the workload"


def test_the_summary_tells_what_was_not_acknowledged() -> None:
    made = Produced(0.0, 10.0, sent=1000, acknowledged=900, failed=40, behind=1.5, complete=False, error="x")
    assert summary("t", made) == (
        "t: 900 records acknowledged in 10.0 s, 40 failed, 60 not acknowledged when it was stopped"
        " (90/s), at most 1.50 s behind the workload"
    )


def test_a_signal_that_comes_while_the_event_is_locked_is_not_the_end_of_all() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stop = stopped_by_signals()
        with getattr(stop, "_cond"):  # noqa: B009, as a thread does that begins to wait
            signal.raise_signal(signal.SIGINT)
        assert stop.wait(60)
        with pytest.raises(SystemExit, match="130"):
            signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--events", "bids", "--job", "q1"), "give --events or --job, not both"),
        (("--events", "bid"), "did you mean 'bids'?"),
        (("--job", "q111"), "no job is named 'q111'"),
        (("--workload", "tied"), "did you mean 'tide'?"),
        (("--rate", "fast"), "rate 'fast' is not like"),
    ],
)
def test_what_cannot_be_sent_is_told_before_a_broker_is_looked_for(words: tuple[str, ...], told: str) -> None:
    ended = tidegate("produce", "--topic", "t", *words)
    assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr


def test_no_broker_is_exit_three() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    ended = tidegate("produce", "--topic", "t", "--bootstrap", nowhere, "--patience", "500ms")
    assert ended.returncode == 3
    assert f"no Kafka broker answered at {nowhere} within 0.5 s" in ended.stderr
    assert "rdkafka" not in ended.stderr


@pytest.mark.kafka
def test_produce_makes_the_topic_and_tells_in_json(broker: Broker, everything: Any) -> None:
    words = ("--topic", "made", "--job", "q1", "--rate", "1000", "--duration", "1s", "--partitions", "3")
    ended = tidegate("produce", *words, "--bootstrap", broker.address, "--output", "json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["topic"], told["sent"], told["acknowledged"], told["complete"]) == ("made", 1000, 1000, True)
    assert require(broker.address, "made") == 3
    assert len(everything(broker.address, "made")) == 1000
    again = tidegate("produce", *words, "--bootstrap", broker.address)
    assert "topic made holds 1,000 records already" in again.stderr


@pytest.mark.kafka
def test_ctrl_c_flushes_and_tells(broker: Broker, everything: Any) -> None:
    words = ("--topic", "cut", "--rate", "1000", "--duration", "1h", "--bootstrap", broker.address, "--output", "json")
    process = subprocess.Popen(command("produce", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = [process.stderr.readline()]
    while "records acknowledged" not in said[-1]:
        assert said[-1], said  # an empty line is its end
        said.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    printed, rest = process.communicate()
    assert process.returncode == 130, (said, rest)
    told = json.loads(printed)
    assert told["sent"] == told["acknowledged"] == len(everything(broker.address, "cut"))


@pytest.mark.kafka
def test_broker_runs_until_ctrl_c_and_says_what_to_do_next(broker: Broker) -> None:
    port = str(free_port())
    process = subprocess.Popen(
        command("broker", "--port", port), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"Kafka broker at 127.0.0.1:{port}")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 0
    assert f"--bootstrap 127.0.0.1:{port}" in told


@pytest.mark.kafka
def test_a_broker_beside_another_is_told_that_the_port_is_taken(broker: Broker) -> None:
    ended = tidegate("broker", "--port", str(broker.port))
    assert ended.returncode == 2
    assert "Address already in use" in ended.stderr
