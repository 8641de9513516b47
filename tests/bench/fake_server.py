"""A server for tests of the driver, which sends exactly what a test has it send."""

from __future__ import annotations

import socket
from typing import Final

from spielleiter.bench.scripted_games import ROOM
from tests.timeouts import HANG_TIMEOUT

ROOM_ID: Final = "11111111-2222-4333-8444-555555555555"
PREPARED: Final = (
    f'\n  <prepared roomId="{ROOM_ID}">\n    <reservation>one</reservation>\n    <reservation>two</reservation>\n'
    "  </prepared>"
).encode()
REQUEST: Final = '<data class="moveRequest"/>\n  </room>'
POSITION: Final = b"\n  <room>\n    <data><state>" + b"x" * 20_000 + b"</state>\n    </data>\n  </room>"
RESULT: Final = b'\n  <room>\n    <data class="result">\n    </data>\n  </room>\n  <left/>'
SEATS: Final = [0, 1, 1]
SCRIPT: Final = (SEATS, [f'<room roomId="{ROOM}">{number}</room>' for number in range(3)])


def packet(number: int) -> bytes:
    """The packet of the script's move with this number, in the room of `PREPARED`."""
    return f'<room roomId="{ROOM_ID}">{number}</room>'.encode()


class Server:
    """Accepts connections; a test reads from them and writes to them."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(HANG_TIMEOUT)
        self.accepted: list[socket.socket] = []

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port

    def accept(self) -> socket.socket:
        sock, _ = self.listening.accept()
        sock.settimeout(HANG_TIMEOUT)
        self.accepted.append(sock)
        return sock

    def close(self) -> None:
        for sock in (self.listening, *self.accepted):
            sock.close()
