"""The memory and work of a reader, counted: no packet is kept, and no byte is examined too often."""

from __future__ import annotations

import weakref
from xml.parsers.expat import XMLParserType

import pytest

from spielleiter.protocol.limits import BEFORE_JOIN, Limits
from spielleiter.protocol.reader import PacketReader
from spielleiter.protocol.reading import Element
from tests.protocol.streams import ONE_LINE_MOVE, Cut, byte_by_byte, in_random_pieces, whole


def test_finished_packets_are_not_kept() -> None:
    reader = PacketReader(BEFORE_JOIN)
    reader.receive(b"<protocol>")
    before: weakref.ref[Element] | None = None
    for number in range(100):
        reader.receive(b"\n <!-- %d --> text " % number + ONE_LINE_MOVE)
        packet = reader.next_packet()
        assert packet is not None
        assert before is None or before() is None, "the packet before is gone, without a garbage collection"
        before = weakref.ref(packet)
    assert len(reader._buffer) == 0


class CountingBuffer(bytearray):
    """Counts the bytes that are examined."""

    examined = 0

    def find(self, sub: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        stop = len(self) if end is None else end
        found = super().find(sub, start, stop)
        self.examined += (stop if found < 0 else found + len(sub)) - start
        return found

    def rfind(self, sub: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        stop = len(self) if end is None else end
        found = super().rfind(sub, start, stop)
        self.examined += stop - max(found, start)
        return found


class CountingParser:
    """Counts the bytes that the parser is given."""

    def __init__(self, parser: XMLParserType) -> None:
        self._parser = parser
        self.pieces = 0
        self.bytes = 0

    def Parse(self, data: bytes) -> None:  # noqa: N802 - expat's name
        self.pieces += 1
        self.bytes += len(data)
        self._parser.Parse(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._parser, name)


STREAMS = {
    "moves": ONE_LINE_MOVE * 100,
    "a long text": b"<a>" + b"x" * 20_000 + b"</a>",
    "a long attribute": b"<a b='" + b"x" * 20_000 + b"'/>",
    "brackets in a comment": b"<a><!--" + b" </a" * 6_000 + b" --></a>",
    "brackets in an attribute": b"<a b='" + b">" * 20_000 + b"'/>",
    "quotes in a tag": b'<a b="' + b"'>" * 6_000 + b'"/>',
    "half a section": b"<a>" + b"<!-- -->" * 1000 + b"<![CDATA[" + b"]>" * 10_000 + b"]]></a>",
    "end tags of the same name": b"<a>" + b"<a></a>" * 4000 + b"</a>",
    "half end tags": b"<a><![CDATA[" + b"</" * 10_000 + b"]]></a>",
    "a long name": b"<" + b"a" * 10_000 + b"></" + b"a" * 10_000 + b">",
    "white space": (b"\n" * 5000 + b"<a/>") * 10,
    "text between packets": (b"ping" * 2000 + b"<a/>") * 4,
    "references between packets": b"&amp;" * 3000 + b"<a/>",
    "half a reference": b"x&" + b"a" * 10_000,
    "control characters": b"\1" * 5000 + b"<a b='" + b"\2" * 5000 + b"'>" + b"\3" * 5000 + b"</a>",
}


@pytest.mark.no_cover
@pytest.mark.parametrize("cut", [whole, lambda stream: in_random_pieces(stream, longest=1500)])
@pytest.mark.parametrize("name", STREAMS)
def test_every_byte_is_examined_and_parsed_a_bounded_number_of_times(name: str, cut: Cut) -> None:
    check_linear(STREAMS[name], cut)


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_single_bytes_are_examined_a_bounded_number_of_times(name: str) -> None:
    check_linear(STREAMS[name], byte_by_byte)


def check_linear(stream: bytes, cut: Cut) -> None:
    reader = PacketReader(Limits(packet_bytes=64 * 1024, name_length=10_000))
    buffer, parser = CountingBuffer(), CountingParser(reader._parser)
    reader._buffer, reader._parser = buffer, parser  # type: ignore[assignment]
    pieces = 0
    for piece in cut(b"<protocol>" + stream):
        pieces += 1
        reader.receive(piece)
        while reader.next_packet() is not None:
            pass
    size = len(stream) + len(b"<protocol>")
    replaced = 2 * sum(map(stream.count, (b"\1", b"\2", b"\3")))
    assert parser.bytes + len(buffer) == size + replaced, "each byte is fed once"
    assert buffer.examined <= 4 * size + 150 * pieces
    assert parser.pieces <= pieces + stream.count(b">") + stream.count(b";") + 2
