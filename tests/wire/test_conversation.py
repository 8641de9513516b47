"""Bytes and events become lines: packets, passwords, faults and what is missing."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server.tracing import FROM_SERVER, TO_SERVER
from spielleiter.wire.conversation import TRACE_LIMITS, Conversation, Part, Splitter, TraceLimits, find_passwords
from tests.protocol.streams import LATEST, stream_of

MOVE = b'<room roomId="x"><data class="Move" color="PURPLE"/></room>'


class Written:
    """A conversation, and the lines that it has written after the first ones."""

    def __init__(self, limits: TraceLimits = TRACE_LIMITS, *, holds: bool = False) -> None:
        self.all: list[str] = []
        self.conversation = Conversation("c1", ("about it",), 100.0, limits, self.all.append, holds=holds)
        self.head = len(self.all)

    @property
    def lines(self) -> list[str]:
        return self.all[self.head :]

    @property
    def shown(self) -> list[str]:
        """The lines without the times; the columns of further lines are removed."""
        return [line[22:] if line[:9].strip() else line.strip() for line in self.lines]


def test_a_conversation_in_order() -> None:
    written = Written()
    talk = written.conversation
    talk.event(TO_SERVER, 100.0, "(connects)")
    talk.add(TO_SERVER, 100.5, b"<protocol><join/>")
    talk.add(FROM_SERVER, 100.75, b"<protocol>\n  <joined/>")
    talk.add(TO_SERVER, 101.0, b"")
    talk.add(TO_SERVER, 101.0, b"")
    talk.reset(FROM_SERVER, 102.0)
    talk.close(102.0, "the proxy was stopped")
    talk.close(103.0)
    assert written.lines == [
        "   0.000000   +0.000  c1     ->  (connects)",
        "   0.500000   +0.500  c1     ->  <protocol>",
        "   0.500000   +0.000  c1     ->  <join/>",
        "   0.750000   +0.250  c1     <-  <protocol>",
        "   0.750000   +0.000  c1     <- |  <joined/>",
        "   1.000000   +0.250  c1     ->  (FIN)",
        "   2.000000   +1.000  c1     <-  (RST)",
        "   2.000000   +0.000  c1     !!  the proxy was stopped",
    ]


def test_a_packet_is_held_until_the_server_has_said_what_is_wrong() -> None:
    written = Written(holds=True)
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b"<protocol>" + MOVE)
    assert written.shown == ["c1     ->  <protocol>"]
    assert [talk.holds_packets] == [True]
    talk.note(101.5, "'PURPLE' is no color", packet=1)
    talk.add(FROM_SERVER, 102.0, b"<protocol>")
    assert [talk.holds_packets] == [False]
    assert written.shown[1:] == [
        'c1     ->  <room roomId="x"><data class="Move" color="PURPLE"/></room>',
        "!                                           ^^^^^^",
        "! 'PURPLE' is no color",
        "c1     <-  <protocol>",
    ]


def test_what_the_server_says_later_repeats_the_packet() -> None:
    written = Written(holds=True)
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b"<protocol>" + MOVE)
    talk.release()
    talk.note(101.5, "'PURPLE' is no color", packet=1)
    assert written.shown[2:] == [
        'c1     !!  <room roomId="x"><data class="Move" color="PURPLE"/></room>',
        "!                                           ^^^^^^",
        "! packet 1: 'PURPLE' is no color",
    ]


def test_a_refused_packet_is_not_awaited() -> None:
    """The server's limits are lower than those of a trace; positions count the start of the stream."""
    written = Written(holds=True)
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b'<protocol><a x="1">')
    talk.note(101.0, "too many", packet=1, position=len(b'<protocol><a x="'))
    talk.add(TO_SERVER, 102.0, b'</a><authenticate password="geheim"/>')
    talk.close(103.0)
    assert written.shown == [
        "c1     ->  <protocol>",
        'c1     ->  <a x="1">',
        "!      ^",
        "! too many",
        'c1     ->  </a><authenticate password="\\*"/>',
    ]


def test_the_faults_that_the_trace_finds_itself() -> None:
    written = Written()
    written.conversation.add(FROM_SERVER, 101.0, b"<protocol><a></b>")
    assert written.shown[1] == "c1     <-  <a></b>"
    assert written.shown[2] == "!     ^"
    assert written.shown[3].startswith("! Not well-formed XML")


def test_a_password_that_is_split_by_a_fault_is_hidden() -> None:
    written = Written()
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b'<protocol><a <b><authenticate password="ge')
    talk.add(TO_SERVER, 101.0, b'heim"/>')
    talk.close(102.0)
    assert "heim" not in "\n".join(written.lines)
    assert written.shown[1:] == [
        "c1     ->  <a <b><authenticate\\*",
        "!   ^",
        "! Not well-formed XML (packet 1, line 1, column 14): not well-formed (invalid token)",
        'c1     ->  \\*"/>',
    ]


def test_no_answer_shows_a_part_of_a_password() -> None:
    written = Written()
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b'<protocol><authenticate password="<geheim"/>')
    answer = b'<protocol>\n  <errorpacket message="no XML at &apos;&lt;geheim&quot;&apos;">\n  </errorpacket>'
    talk.add(FROM_SERVER, 101.0, answer)
    talk.close(102.0)
    assert "geheim" not in "\n".join(written.lines)
    assert 'message="no XML at \\*">' in "\n".join(written.lines)


def test_a_packet_that_arrives_slowly() -> None:
    written = Written()
    written.conversation.add(TO_SERVER, 101.0, b"<protocol><jo")
    written.conversation.add(TO_SERVER, 103.5, b"in/>")
    assert written.shown[1:] == ["c1     ->  <join/>", "! it arrived in 2 pieces, 2.500 s from first to last"]


def test_missing_bytes_are_said() -> None:
    written = Written()
    talk = written.conversation
    talk.add(FROM_SERVER, 101.0, b"<protocol>\n  <joined/>\n  <ro")
    talk.missing(FROM_SERVER, 101.0, 5000)
    talk.add(FROM_SERVER, 102.0, b"om></room>\n  <left/>")
    talk.close(103.0)
    assert written.shown[2:] == [
        "c1     <- |  <ro",
        "! this is not complete, and nothing follows",
        "c1     <-  ",
        "~ 5000 bytes",
        "c1     <-  ",
        f"~ {len(b'om></room>')} bytes",
        "c1     <- |  <left/>",
    ]


def test_the_text_is_bounded() -> None:
    written = Written(replace(TRACE_LIMITS, file_bytes=2000))
    talk = written.conversation
    for _ in range(100):
        talk.add(TO_SERVER, 101.0, b"<protocol>" + b"\n" * 200)
    talk.note(102.0, "late", packet=1)
    talk.missing(TO_SERVER, 102.0, 1)
    talk.reset(TO_SERVER, 102.0)
    talk.event(TO_SERVER, 102.0, "(FIN)")
    talk.close(102.0)
    assert sum(len(line) + 1 for line in written.all) <= 2000
    assert written.lines[-1] == "# cut: this file has reached its limit of 2000 bytes; what follows was not recorded"
    assert talk.is_over


STREAM = stream_of(*(packet for packet in LATEST.values() if len(packet) < 600))
WHOLE = 1 << 20
SMALL = 512


def split(*pieces: bytes, packet_bytes: int = WHOLE, rest_bytes: int = 100) -> list[Part]:
    splitter = Splitter(packet_bytes, rest_bytes)
    parts = [part for instant, piece in enumerate(pieces) for part in splitter.feed(piece, float(instant))]
    return [*parts, *splitter.finish()]


def texts(parts: list[Part]) -> list[bytes]:
    return [part.data for part in parts]


@given(st.lists(st.integers(1, 700), max_size=30))
def test_the_parts_do_not_depend_on_how_the_bytes_arrive(sizes: list[int]) -> None:
    rest, pieces = STREAM, []
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    assert texts(split(*(piece for piece in (*pieces, rest) if piece))) == texts(split(STREAM))


@given(st.lists(st.binary(min_size=1, max_size=80), max_size=12), st.booleans())
def test_every_byte_is_shown_or_counted(pieces: list[bytes], has_root: bool) -> None:
    pieces = [b"<protocol>", *pieces] if has_root else pieces
    parts = split(*pieces, packet_bytes=SMALL)
    assert sum(len(part.data) + part.left_out for part in parts) == sum(map(len, pieces))


def test_a_packet_without_an_end_is_cut_and_the_next_one_is_found() -> None:
    parts = split(b"<protocol><room>", *[b"y" * 100] * 20, b'</room>\n  <join gameType="x"/>', packet_bytes=SMALL)
    assert parts[1].data == b"<room>" + b"y" * 500
    assert [part.number for part in parts] == [0, 1, 0, 2]
    assert [parts[0].data, *texts(parts[2:])] == [b"<protocol>", b"", b'\n  <join gameType="x"/>']


def test_the_memory_does_not_grow_with_the_stream() -> None:
    piece = b"z" * SMALL
    splitter = Splitter(SMALL, 100)
    tracemalloc.start()
    try:
        for opening in (b"<protocol><room>", b"<", b"<!--", b"\xff"):
            list(splitter.feed(opening, 0.0))
            for _ in range(500):
                list(splitter.feed(piece, 0.0))
        assert tracemalloc.get_traced_memory()[1] < 100 * SMALL
    finally:
        tracemalloc.stop()


SECRET = b"geheim"


def hidden(data: bytes) -> bytes:
    pieces, position = [], 0
    for start, end in find_passwords(data):
        pieces += [data[position:start], b"*"]
        position = end
    return b"".join([*pieces, data[position:]])


@pytest.mark.parametrize(
    ("packet", "shown"),
    [
        ('<authenticate password="geheim"/>', '<authenticate password="*"/>'),
        ("<authenticate passphrase='geheim'/>", "<authenticate passphrase='*'/>"),
        ('<authenticate password = "geh\'eim"/>', '<authenticate password = "*"/>'),
        ('<authenticate password=">geheim"/><join a="b"/>', '<authenticate password="*"/><join a="b"/>'),
        ('<authenticate token="geheim"/>', '<authenticate token="*"/>'),
        ("<authenticate><password>geheim</password>", "<authenticate><password>*</password>"),
        ("<authenticate>geheim</authenticate>", "<authenticate>*</authenticate>"),
        ('<sc.protocol.requests.AuthenticateRequest password="geheim"/>',) * 2,
        ('<originalRequest class="authenticate" password="geheim"/>',) * 2,
        ('<data PassWord="geheim"/>', '<data PassWord="*"/>'),
        ("<data password=geheim>", "<data password=*>"),
        ("<authenticate><![CDATA[<geheim]]></authenticate>", "<authenticate>*</authenticate>"),
        ("<authenticate><!--a-->geheim</authenticate>", "<authenticate>*</authenticate>"),
        ("<password><![CDATA[geheim]]></password>", "<password>*</password>"),
        ('{"type": "login", "password": "geheim"}', '{"type": "login", "password": "*'),
        ('{"type": "authenticate", "password": "geheim"}', "{*"),
        ('{"type": "authenticate", "token": "geheim"}', "{*"),
        ('\n[{"token": "geheim", "type": "authenticate"}]', "\n[*"),
        ('{"type": "join"}\n{"Authenticate": {"token": "geheim"}}', "{*"),
        # malformed
        ('<authenticate password="geheim', "<authenticate*"),
        ("<authenticate password=geheim/>", "<authenticate*"),
        ('<authenticate "geheim"/>', "<authenticate*"),
        ('<authenticate password=="geheim"/>', "<authenticate*"),
        ('<authenticate password="ge"heim"/>', '<authenticate password="*'),
        ('<data password="geheim/><join/>', '<data password="*'),
        ('<data password "geheim"/>', '<data password "*"/>'),
    ],
)
def test_a_password_is_found(packet: str, shown: str) -> None:
    expected = shown.replace("geheim", "*").encode()
    assert hidden(packet.encode()) == expected
    assert SECRET not in expected


@pytest.mark.parametrize(
    "packet",
    [
        '<room roomId="x"><data class="moveRequest"/></room>',
        '<errorpacket message="Wrong password"><originalRequest class="join"/></errorpacket>',
        '<authenticate password=""/>',
        "<protocol>",
    ],
)
def test_nothing_else_is_hidden(packet: str) -> None:
    assert hidden(packet.encode()) == packet.encode()


def test_a_password_in_utf16_is_not_shown() -> None:
    assert hidden('<authenticate password="geheim"/>'.encode("utf-16")) == b"*"


@given(st.text(alphabet="geheim<>\"'=/ \n&", max_size=12), st.sampled_from(["password", "passphrase"]))
def test_no_letter_of_a_quoted_password_is_shown(secret: str, name: str) -> None:
    quote = "'" if '"' in secret else '"'
    if quote in secret:
        return
    packet = f"<authenticate {name}={quote}{secret}X{quote}/>".encode()
    assert b"X" not in hidden(packet)


def test_a_note_about_an_older_packet_or_none() -> None:
    written = Written(holds=True)
    talk = written.conversation
    talk.add(TO_SERVER, 101.0, b"<protocol><a/><b/>")
    talk.release()
    talk.note(101.0, "one", packet=1)
    talk.note(101.0, "too late")
    assert written.shown[3:] == ["c1     !!  packet 1: one", "c1     !!  too late"]
