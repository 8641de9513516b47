"""A player that records when requests arrive and answers leave."""

from __future__ import annotations

import sys
import time

import pytest

from spielleiter.bench.load.stamped_player import LIMIT, MARGIN, Answer, Received, StampedPlayer
from tests.bench.load.fake_server import Server

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")


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
    answer = Answer(1.0, 0.0, sent_from, sent_until)
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
    answer = Answer(0.0, arrived_at)
    player.send(b"<move/>", answer)
    assert after <= answer.sent_from <= answer.sent_until <= time.time()
    assert other_end.recv(100) == b"<move/>"
    player.reset()
    with pytest.raises(ConnectionResetError):
        other_end.recv(100)
