"""A short soak with a real server, stalls and bad clients: no wrong verdict, and no leak."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import benchmarks.soak
from benchmarks.soak import (
    LIMIT,
    MARGIN,
    Conduct,
    Received,
    Shares,
    SoakAnswer,
    SoakReport,
    SoakTally,
    StampedPlayer,
    soak,
)
from tests.bench.fake_server import Server
from tests.timeouts import HANG_TIMEOUT

FAIR, LATE, ILLEGAL, GONE = Conduct.FAIR, Conduct.LATE, Conduct.ILLEGAL, Conduct.VANISHING
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
GAMES = 50
SERVER = Path(benchmarks.soak.__file__).with_name("stalling_server.py")


@pytest.mark.slow
@linux_only
def test_there_is_no_wrong_verdict_and_no_leak() -> None:
    report = soak(GAMES, 25, 0.3, 1.0, Shares(slow=0.3, late=0.1, illegal=0.1, vanishing=0.1, bad=0.05, pace=0.005))
    assert (report.false_timeouts, report.missed_late, report.other_verdicts) == (0, 0, [])
    assert report.is_right
    assert report.leaks == {"tasks": 0, "descriptors": 0}
    assert report.counted.total() == report.games == GAMES
    assert report.slow_moves
    assert report.bad_clients
    assert {LATE, ILLEGAL, GONE} <= set(report.counted)


@pytest.mark.parametrize(
    ("conduct", "causes", "found"),
    [
        (FAIR, ["REGULAR", "REGULAR"], (0, 0, 0)),
        (FAIR, ["REGULAR", "SOFT_TIMEOUT"], (1, 0, 0)),
        (FAIR, ["HARD_TIMEOUT", "REGULAR"], (1, 0, 0)),
        (FAIR, ["REGULAR", "LEFT"], (0, 0, 1)),
        (LATE, ["SOFT_TIMEOUT", "REGULAR"], (0, 0, 0)),
        (LATE, ["HARD_TIMEOUT", "REGULAR"], (1, 0, 0)),
        (LATE, ["REGULAR", "REGULAR"], (0, 1, 0)),
        (ILLEGAL, ["RULE_VIOLATION", "REGULAR"], (0, 0, 0)),
        (ILLEGAL, ["REGULAR", "REGULAR"], (0, 0, 1)),
        (GONE, ["REGULAR", "LEFT"], (0, 0, 0)),
        (GONE, ["REGULAR", "SOFT_TIMEOUT"], (1, 0, 0)),
        (None, ["REGULAR", "SOFT_TIMEOUT"], (0, 0, 0)),
        (None, ["REGULAR", "REGULAR"], (0, 0, 0)),
    ],
)
def test_verdicts(conduct: Conduct | None, causes: list[str], found: tuple[int, int, int]) -> None:
    report = SoakReport()
    report.judge({"room": conduct}, {"room": causes})
    assert (report.false_timeouts, report.missed_late, len(report.other_verdicts)) == found
    assert report.is_right == (found == (0, 0, 0))


def test_a_game_without_a_result_and_a_result_without_a_game_are_wrong() -> None:
    report = SoakReport()
    report.judge({"played": FAIR}, {"unknown": ["REGULAR", "REGULAR"]})
    assert sorted(report.other_verdicts) == ["played: no result", "unknown: not one of these games"]


def test_usage_is_compared_with_the_start_and_memory_with_the_warm_up() -> None:
    pauses = {"count": 3, "total": 0.5, "longest": 0.25}
    usage = [
        {"tasks": 9, "descriptors": 11, "bytes": size, "collected": 0, "pauses": pauses}
        for size in (30 << 20, 100 << 20, 105 << 20)
    ]
    usage[-1]["descriptors"] = 12
    report = SoakReport(warm_up=50, usage=usage)
    report.add(
        SoakTally(
            moves=640,
            slow_moves=2,
            bad_clients=7,
            seconds=2.0,
            in_play_seconds=5.0,
            expected={"a": FAIR, "b": LATE, "c": None},
        )
    )
    assert report.leaks == {"tasks": 0, "descriptors": 1}
    assert report.growth == pytest.approx(0.05)
    text = str(report)
    assert "3, 640 moves, 320 a second" in text
    assert "on average             2.5\n" in text
    assert "105.0 MiB (+5.0%)" in text
    assert "250.0 ms the longest" in text


@pytest.mark.parametrize(
    ("sent_from", "sent_until", "is_in_time", "is_late"),
    [
        (0.0, LIMIT - MARGIN, True, False),
        (0.0, LIMIT - MARGIN + 0.001, False, False),
        (LIMIT, LIMIT, False, False),
        (LIMIT + MARGIN - 0.001, LIMIT + 1, False, False),
        (LIMIT + MARGIN, LIMIT + 1, False, True),
    ],
)
def test_near_the_limit_nothing_is_certain(
    sent_from: float, sent_until: float, is_in_time: bool, is_late: bool
) -> None:
    answer = SoakAnswer(1.0, 0.0, sent_from, sent_until)
    assert (answer.is_in_time, answer.is_late) == (is_in_time, is_late)
    assert answer.due_at == 1.0


@linux_only
def test_packets_are_classified(server: Server) -> None:
    player = StampedPlayer(("127.0.0.1", server.port), b"<join/>")
    other_end = server.accept()
    assert other_end.recv(100) == b"<protocol>\n  <join/>"
    received = []
    for data in (
        b'<protocol><joined roomId="r1"/>',
        b'<room roomId="r1"><data class="sc.framework.plugins.protocol.Move',
        b'Request"/></room>',
        b'<room roomId="r1"><data class="result"></data></room>',
    ):
        other_end.sendall(data)
        received.append(player.receive()[0])
    other_end.close()
    received.append(player.receive()[0])
    assert player.room == "r1"
    assert received == [
        Received.NOTHING_NEW,
        Received.NOTHING_NEW,
        Received.REQUEST,
        Received.RESULT,
        Received.END,
    ]
    player.reset()


@linux_only
def test_a_request_has_the_time_of_its_arrival_and_an_answer_is_between_two_readings(server: Server) -> None:
    player = StampedPlayer(("127.0.0.1", server.port), b"")
    other_end = server.accept()
    other_end.recv(100)
    before = time.time()
    other_end.sendall(b'<data class="moveRequest"/>')
    received, arrived_at = player.receive()
    after = time.time()
    assert received is Received.REQUEST
    assert before <= arrived_at <= after
    answer = SoakAnswer(0.0, arrived_at)
    player.send(b"<move/>", answer)
    assert after <= answer.sent_from <= answer.sent_until <= time.time()
    assert other_end.recv(100) == b"<move/>"
    player.reset()
    with pytest.raises(ConnectionResetError):
        other_end.recv(100)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="resources are read from /proc")
@pytest.mark.parametrize("stall", [0.0, 0.05])
def test_a_stalling_server_serves_reports_and_stops(stall: float) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    config = json.dumps({"port": 0, "log_level": "error", "grace": 0.0, "stall": stall, "stall_interval": 0.05})
    command = [sys.executable, "-P", str(SERVER), config]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            start = json.loads(process.stdout.readline())
            assert start["bytes"] > 1 << 20
            with socket.create_connection(("127.0.0.1", start["port"]), HANG_TIMEOUT) as client:
                client.sendall(b"<protocol><step/>")
                assert client.recv(1)
                process.send_signal(signal.SIGUSR1)
                connected = json.loads(process.stdout.readline())
            assert connected["tasks"] > start["tasks"]
            assert connected["descriptors"] == start["descriptors"] + 1
            assert set(connected["pauses"]) == {"count", "total", "longest"}
            process.terminate()
            assert process.wait(HANG_TIMEOUT) == 0
        finally:
            process.kill()
