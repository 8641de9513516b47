"""The protocol examples in README.md are what a server sends, byte for byte.

In the README `ROOM`, `CODE-1` and `CODE-2` stand for ids, and a line `…` for any number of lines. A block is sent by
the server if the text before it says so, otherwise it is sent to the server. The server sends a line feed before each
packet, which the blocks omit at their beginning.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.cli.background import background_server
from tests.documents import Block, blocks, read
from tests.timeouts import HANG_TIMEOUT

TOKEN = re.compile(r"(ROOM|CODE-[12]|^…\n)", re.MULTILINE)
MOVE_REQUEST = re.compile(r".*moveRequest\"/>\n  </room>", re.DOTALL)


def pattern(text: str, known: dict[str, str]) -> re.Pattern[str]:
    """A pattern that matches the block; known ids must be equal, others are groups."""
    regex, groups = "", set[str]()
    for token in TOKEN.split(text.removesuffix("\n")):
        name = token.replace("-", "_")
        if token == "…\n":
            regex += r"(?:[^\n]*\n)*?"
        elif not TOKEN.fullmatch(token):
            regex += re.escape(token)
        elif token in known:
            regex += re.escape(known[token])
        else:
            regex += f"(?P={name})" if name in groups else f"(?P<{name}>[0-9a-f-]{{36}})"
            groups.add(name)
    return re.compile(regex if text.startswith("<protocol>") else r"\n" + regex)


@dataclass
class Connection:
    sock: socket.socket
    ids: dict[str, str] = field(default_factory=dict)
    unread: str = ""

    def send(self, text: str) -> None:
        for name, value in self.ids.items():
            text = text.replace(name, value)
        self.sock.sendall(text.removesuffix("\n").encode())

    def receive(self, wanted: re.Pattern[str]) -> None:
        """Read until `wanted` matches everything that was received, and store the new ids."""
        while not (found := wanted.fullmatch(self.unread)):
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                data = b""
            assert data, "expected:\n" + wanted.pattern.replace("\\", "") + "\n\ngot:\n" + self.unread
            self.unread += data.decode()
        self.ids |= {name.replace("_", "-"): value for name, value in found.groupdict().items()}
        self.unread = ""

    def receive_end(self) -> None:
        assert (self.unread, self.sock.recv(1)) == ("", b"")


class Server:
    """A server whose games begin with PENTO_V, like those in the README."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []

    def connect(self, ids: dict[str, str] | None = None) -> Connection:
        """A new connection; `ids` are the ids that it knows already."""
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=HANG_TIMEOUT)
        self._sockets.append(sock)
        return Connection(sock, {} if ids is None else ids)

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with background_server(start_piece="PENTO_V") as background:
        found = Server(background.port)
        try:
            yield found
        finally:
            found.close()


def is_from_server(block: Block) -> bool:
    return "from the server" in block.lead.lower()


def play(connection: Connection, block: Block) -> None:
    if is_from_server(block):
        connection.receive(pattern(block.text, connection.ids))
    else:
        connection.send(block.text)


def blocks_of(section: str, *directions: str) -> list[Block]:
    """The XML blocks of the section; their directions must be these."""
    found = blocks("README.md", "xml", section)
    assert ["from" if is_from_server(block) else "to" for block in found] == list(directions)
    return found


def join_second(server: Server) -> Connection:
    (join, *_) = blocks("README.md", "xml", "What a client sees")
    second = server.connect()
    second.send(join.text)
    return second


def test_what_a_client_sees(server: Server) -> None:
    join, joined, start, move, moved = blocks_of("What a client sees", "to", "from", "from", "to", "from")
    client = server.connect()
    play(client, join)
    play(client, joined)
    join_second(server)
    for block in (start, move, moved):
        play(client, block)


def test_what_a_loss_means(server: Server) -> None:
    join, joined, start, *_ = blocks("README.md", "xml", "What a client sees")
    skip, refused = blocks_of("What a loss means", "to", "from")
    client = server.connect()
    play(client, join)
    play(client, joined)
    join_second(server)
    for block in (start, skip, refused):
        play(client, block)


def test_the_admin_protocol(server: Server) -> None:
    (prepare, prepared, observe, observed, join_1, join_2, start, step, stepped, pause, paused, cancel, cancelled,
     again, refused, goodbye, end, _) = blocks_of(
        "The admin protocol",
        "to", "from", "to", "from", "to", "to", "from", "to", "from", "to", "from", "to", "from",
        "to", "from", "to", "from", "to",
    )  # fmt: skip
    move = blocks("README.md", "xml", "What a client sees")[3]
    admin = server.connect()
    for block in (prepare, prepared, observe, observed):
        play(admin, block)
    first, second = server.connect(admin.ids), server.connect(admin.ids)
    first.send(join_1.text)
    second.send(join_2.text)
    play(admin, start)
    play(admin, step)
    first.receive(MOVE_REQUEST)
    first.send(move.text)
    for block in (stepped, pause, paused, cancel, cancelled, again, refused, goodbye, end):
        play(admin, block)
    admin.receive_end()


@pytest.mark.parametrize(
    ("game_type", "attribute", "answer"),
    [
        ("swc_2021_blokus", "shouldBePaused", "prepared"),
        ("swc_2021_blokus", "reserved", "prepared"),
        ("swc_2018_hase_und_igel", "shouldBePaused", "prepared"),
        ("swc_2018_hase_und_igel", "reserved", "errorpacket"),
        ("swc_2027_blokus", "shouldBePaused", "prepared"),
        ("swc_2027_blokus", "reserved", "prepared"),
    ],
)
def test_seasons_know_different_attributes_of_a_slot(
    server: Server, game_type: str, attribute: str, answer: str
) -> None:
    (prepare, *_) = blocks("README.md", "xml", "The admin protocol")
    text = prepare.text.replace("swc_2027_blokus", game_type).replace(' pause="true"', "")
    admin = server.connect()
    admin.send(text.replace(' reserved="true"', "").replace("canTimeout", attribute))
    admin.receive(re.compile(rf"<protocol>\n  <{answer} .*", re.DOTALL))


def test_the_score_sheet_of_2021(server: Server) -> None:
    prepare, prepared, _, _, join_1, join_2, *_, score = blocks("README.md", "xml", "The admin protocol")
    (skip, _) = blocks("README.md", "xml", "What a loss means")
    test_mode, score_for_player = score.text.splitlines()
    admin = server.connect()
    admin.send(prepare.text.replace(' pause="true"', "").replace("2027", "2021"))
    play(admin, prepared)
    admin.send(test_mode)
    admin.receive(pattern('  <testing testMode="true"/>\n', {}))
    first, second = server.connect(admin.ids), server.connect(admin.ids)
    first.send(join_1.text)
    second.send(join_2.text)
    first.receive(re.compile(r".*\.MoveRequest\"/>\n  </room>", re.DOTALL))
    first.send(skip.text.replace("2027", "2021"))
    second.receive(re.compile(r".*</protocol>", re.DOTALL))
    admin.send(score_for_player)
    admin.receive(re.compile(r'\n  <playerScore>\n    <score displayName="Alice" numb.*\n  </playerScore>', re.DOTALL))


def test_other_ways_to_take_a_seat(server: Server) -> None:
    """The packets that the README only mentions in a sentence."""
    by_code, by_room, join_2021 = re.findall(r"`(<join\w* [^`]*/>)`", read("README.md"))
    assert by_code in blocks("README.md", "xml", "The admin protocol")[4].text.replace("CODE-1", "CODE")
    first = server.connect()
    first.send("<protocol>" + join_2021)
    first.receive(pattern('<protocol>\n  <joined roomId="ROOM"/>\n', {}))
    second = server.connect(first.ids)
    second.send("<protocol>" + by_room)
    second.receive(
        re.compile(r'<protocol>\n  <joined .*TWO".* startPiece="PENTO_V".*</state>\n    </data>\n  </room>', re.DOTALL)
    )
