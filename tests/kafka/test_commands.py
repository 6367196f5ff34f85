"""The commands `tidegate produce` and `tidegate broker`, as processes."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tidegate.cli.kafka import Teller, line, stopped_by_signals, summary
from tidegate.kafka import Broker, ProducerResult, Progress, topic_partitions
from tidegate.kafka.broker import free_port


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tidegate", *arguments]


def tidegate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False)


def progress(time: float, acknowledged: int) -> Progress:
    """Progress at a thousand records per second, all of them sent."""
    offered = int(1000 * time)
    return Progress(time, offered, offered, acknowledged, 0, time - acknowledged / 1000)


def test_a_stall_is_reported_when_it_starts_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    teller = Teller()
    for time, acknowledged in ((1, 1000), (2, 1500), (3, 1500), (4, 1500), (4.5, 1500), (4.6, 2500)):
        teller(progress(time, acknowledged))
    lines = capsys.readouterr().err.splitlines()
    # the last acknowledgement came at 2 s; two seconds later 4000 - 1500 records wait
    assert lines == [
        "4 s: the broker takes nothing; 2,500 records wait for it, none is lost",
        "5 s: 2,500 records acknowledged, 2.10 s behind the workload",
    ]


def test_a_line_has_acknowledged_records_and_delay() -> None:
    assert line(progress(5, 4900), False) == "5 s: 4,900 records acknowledged, 0.10 s behind the workload"


def test_the_summary_has_failed_and_unacknowledged_records() -> None:
    result = ProducerResult(0.0, 10.0, sent=1000, acknowledged=900, failed=40, behind=1.5, complete=False, error="x")
    assert summary("t", result) == (
        "t: 900 records acknowledged in 10.0 s, 40 failed, 60 not acknowledged when it was stopped"
        " (90/s), at most 1.50 s behind the workload"
    )


def test_a_signal_while_the_event_is_locked_does_not_deadlock() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stop = stopped_by_signals()
        with getattr(stop, "_cond"):  # noqa: B009, like a thread that starts to wait
            signal.raise_signal(signal.SIGINT)
        assert stop.wait(60)
        with pytest.raises(SystemExit, match="130"):
            signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--events", "bids", "--job", "q1"), "give --events or --job, not both"),
        (("--events", "bid"), "did you mean 'bids'?"),
        (("--job", "q111"), "no job is named 'q111'"),
        (("--workload", "tied"), "did you mean 'tide'?"),
        (("--rate", "fast"), "rate 'fast' is not like"),
        (("--kafka-option", "sasl.password=hunter2"), "everybody on this machine can read a command line"),
        (("--kafka-option", "no.such=1"), 'does not take its options: No such configuration property: "no.such"'),
    ],
)
def test_invalid_options_are_errors_before_connecting(arguments: tuple[str, ...], message: str) -> None:
    completed = tidegate("produce", "--topic", "t", *arguments)
    assert (completed.returncode, message in completed.stderr) == (2, True), completed.stderr
    assert "hunter2" not in completed.stderr


def test_no_broker_is_exit_code_3() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    completed = tidegate("produce", "--topic", "t", "--bootstrap", nowhere, "--patience", "500ms")
    assert completed.returncode == 3
    assert f"no Kafka broker answered at {nowhere} within 0.5 s" in completed.stderr
    assert "rdkafka" not in completed.stderr


@pytest.mark.kafka
def test_produce_creates_the_topic_and_prints_json(broker: Broker, everything: Any) -> None:
    arguments = ("--topic", "created", "--job", "q1", "--rate", "1000", "--duration", "1s", "--partitions", "3")
    completed = tidegate("produce", *arguments, "--bootstrap", broker.address, "--output", "json")
    assert completed.returncode == 0, completed.stderr
    result = json.loads(completed.stdout)
    assert (result["topic"], result["complete"]) == ("created", True)
    assert (result["sent"], result["acknowledged"]) == (1000, 1000)
    assert topic_partitions(broker.address, "created") == 3
    assert len(everything(broker.address, "created")) == 1000
    again = tidegate("produce", *arguments, "--bootstrap", broker.address)
    assert "topic created holds 1,000 records already" in again.stderr


@pytest.mark.kafka
def test_ctrl_c_flushes_and_prints_the_result(broker: Broker, everything: Any) -> None:
    load = ("--topic", "cut", "--rate", "1000", "--duration", "1h")
    produce = command("produce", *load, "--bootstrap", broker.address, "--output", "json")
    process = subprocess.Popen(produce, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    while "records acknowledged" not in lines[-1]:
        assert lines[-1], lines  # empty at the end of the stream
        lines.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    printed, rest = process.communicate()
    assert process.returncode == 130, (lines, rest)
    result = json.loads(printed)
    assert result["sent"] == result["acknowledged"] == len(everything(broker.address, "cut"))


@pytest.mark.kafka
def test_broker_runs_until_ctrl_c_and_suggests_the_next_command(broker: Broker) -> None:
    port = str(free_port())
    process = subprocess.Popen(
        command("broker", "--port", port), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"Kafka broker at 127.0.0.1:{port}")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 0
    assert f"--bootstrap 127.0.0.1:{port}" in errors


@pytest.mark.kafka
def test_a_second_broker_on_the_same_port_is_an_error(broker: Broker) -> None:
    completed = tidegate("broker", "--port", str(broker.port))
    assert completed.returncode == 2
    assert "Address already in use" in completed.stderr
