"""The scripted program plays a game on a real connection, as a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.bench import scripted_program
from spielleiter.bench.scripted_program import ROOM
from tests.bench.fake_server import Server
from tests.timeouts import HANG_TIMEOUT

SCRIPT = b"\n".join(
    [
        b'color="ONE"',
        *(b'%d <room roomId="%s">%d</room>' % (seat, ROOM, move) for seat, move in ((0, 1), (1, 2), (0, 3))),
    ]
)


def moves_of(color: str, server: Server, script: Path) -> list[bytes]:
    """The moves that the program sends as the player with this colour."""
    script.write_bytes(SCRIPT)
    command = [sys.executable, "-I", "-S", str(Path(scripted_program.__file__)), str(script)]
    with subprocess.Popen([*command, "-h", "127.0.0.1", "-p", str(server.port), "-r", "code"]) as process:
        player = server.accept()
        assert player.recv(4096) == b'<protocol><joinPrepared reservationCode="code"/>'
        welcome = (
            f'<protocol>\n  <joined roomId="r1"/>\n  <room roomId="r1"><data class="welcomeMessage" color="{color}"/>'
        )
        player.sendall(welcome.encode() + b"\n  </room>")
        moves = []
        for _ in range(SCRIPT.count(b"\n%d " % (color != "ONE"))):
            player.sendall(b'\n  <room roomId="r1">' + b"x" * 5000 + b'<data class="moveRequest"/>\n  </room>')
            moves.append(player.recv(4096))
        player.sendall(b'\n  <room roomId="r1"><data class="result"/></room>\n  <left roomId="r1"/>')
        assert process.wait(HANG_TIMEOUT) == 0
    return moves


@pytest.mark.parametrize(("color", "numbers"), [("ONE", [1, 3]), ("TWO", [2])])
def test_each_player_sends_its_own_moves(color: str, numbers: list[int], server: Server, tmp_path: Path) -> None:
    moves = moves_of(color, server, tmp_path / "script")
    assert moves == [b'<room roomId="r1">%d</room>' % number for number in numbers]
