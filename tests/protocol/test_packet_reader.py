"""How the reader splits a stream into packets, what it refuses, and how much work that is."""

from __future__ import annotations

import codecs
import gc
import tracemalloc
import weakref
from functools import lru_cache
from typing import cast
from xml.parsers.expat import XMLParserType

import pytest
from lxml import etree
from msgspec.structs import replace

from spielleiter.protocol import packet_reader
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import BEFORE_JOIN, FROM_SERVER, Limits
from spielleiter.protocol.markup import REPLACED, end_of_markups, find_section_end_in_value, replace_controls
from spielleiter.protocol.packet_reader import PacketReader, TreeBuilder, new_parser
from spielleiter.protocol.values import Element
from tests.protocol.streams import (
    CUTS,
    LATEST,
    ONE_LINE_MOVE,
    Cut,
    all_packets,
    byte_by_byte,
    in_random_pieces,
    shape_of,
    stream_of,
    whole,
)

JOIN = ("join", "", ())
SHORT = stream_of(*(packet for packet in LATEST.values() if len(packet) < 1200), ONE_LINE_MOVE)


@lru_cache
def packets_of(stream: bytes) -> list[object]:
    return [shape_of(cast("Element", child)) for child in etree.fromstring(stream)]


def next_packet(reader: PacketReader) -> object:
    packet = reader.next_packet()
    return None if packet is None else shape_of(packet)


def refusal_of(stream: bytes, limits: Limits = BEFORE_JOIN, cut: Cut = whole) -> tuple[Refusal, str]:
    with pytest.raises(RemoteProtocolError) as error:
        all_packets(cut(stream), limits)
    assert error.value.original is None
    return error.value.refusal, str(error.value)


# -- division of the bytes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
def test_the_packets_do_not_depend_on_how_the_bytes_arrive(cut: Cut) -> None:
    packets, reader = all_packets(cut(SHORT))
    assert packets == packets_of(SHORT)
    assert reader.is_ended
    assert reader.packet_number == len(packets)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "packets"),
    [
        (b"<protocol><join/></protocol>", [JOIN]),
        (b"<stream:any.root-name xmlns:stream='u'><join/>", [JOIN]),
        (b'\n <?xml\tversion="1.0"\n encoding = "utf8" standalone="yes"?><protocol><join/>', [JOIN]),
        (codecs.BOM_UTF8 + b'<?xml version="1.0" encoding="utf-8"?><protocol><join/>', [JOIN]),
        (b"<!-- > <!DOCTYPE x> --><?pi <!DOCTYPE x> ?><!----><protocol><join/>", [JOIN]),
        (b" " * 100 + b"<protocol>" + b" " * 100 + b"text" + b"<join/>more text", [JOIN]),
        (b"<protocol>between <!-- <join/> > --><?pi <a>?><![CDATA[<b/>]]><join/>", [JOIN]),
        (b"<protocol><join ></join ><join\n/><join></join\t\n>", [JOIN, JOIN, JOIN]),
        (b"<protocol><join/><join><!-- </join> --></join>", [JOIN, JOIN]),
        (b"<protocol><a b='</a>'/>", None),
        (b'<protocol><a b="x>y" c=\'>"\'>1 > 0</a>', [("a", "1 > 0", ())]),
        (b"<protocol><a><!-- </a> --><![CDATA[</a>]]></a>", [("a", "</a>", ())]),
        (b"<protocol><a><a><a/></a></a><aa/>", [("a", "", (("a", "", (("a", "", ()),)),)), ("aa", "", ())]),
        (b"<protocol><a></aa></a>", None),
        (b"<protocol><a>&#228;&lt;&#x20ac;</a>", [("a", "ä<€", ())]),
        (b"<protocol><a>\xe4\xff</a><b>\xc3</b>", [("a", "\ufffd\ufffd", ()), ("b", "\ufffd", ())]),
        (b"<protocol><\xe4>x</\xe4>", None),
        (b"<protocol/>", []),
        (b"<protocol></protocol><join/>garbage \0 <<<", []),
        (b"<protocol xmlns='u'><join/><a xmlns=''><b/></a>", [JOIN, ("a", "", (("b", "", ()),))]),
        (b"<protocol xmlns:x='u'><x:join><x:a/></x:join>", [("x:join", "", (("x:a", "", ()),))]),
        (b"<protocol><a xmlns='u'><p:b/><c/></a>", [("a", "", (("p:b", "", ()), ("c", "", ())))]),
        (b"<protocol><x:join></x:join><a:b:c/>", [("x:join", "", ()), ("a:b:c", "", ())]),
        (b"<protocol><a xml:space='odd'/><join/>", [("a", "", ()), JOIN]),
        (b'<?xml version="1.1"?><protocol><join/>', [JOIN]),
        # control characters, as the official server's parser takes them
        (b"\0<protocol>\0<join/>\0\0<join/>\0", [JOIN, JOIN]),
        (b"<?xml version='1.0'\0?>\1<protocol\2\3><join\x1f\x0e/></protocol\x0b>", [JOIN]),
        (b"<protocol>\x0c<!-- \1 --><?pi \2?><![CDATA[\3]]>\4<join/>", [JOIN]),
        (b"<protocol><a>b\0<![CDATA[c\1]]></a\2>", [("a", "b\ufffdc\ufffd", ())]),
        (b"<protocol>\xef\xbf\xbe<a>\xef\xbf\xbf</a>", [("a", "\ufffd", ())]),
        # text that is nearly an error
        (b"<protocol>]] >]&gt;]]&gt;]]&amp;>]<!-- ]]> -->]><![CDATA[]]]>><?pi ]]>?>&#65; <join/>", [JOIN]),
        (b"<protocol>&" + b"a" * 100, []),
        (b"<protocol>&#6", []),
        (codecs.BOM_UTF8 + b"  ", []),
    ],
)
def test_accepted_streams(stream: bytes, packets: list[object] | None, cut: Cut) -> None:
    if packets is None:
        assert refusal_of(stream, cut=cut)[0] is Refusal.MALFORMED
    else:
        assert all_packets(cut(stream))[0] == packets


@pytest.mark.parametrize(
    ("stream", "is_partial"),
    [
        (b"", False),
        (b"<proto", True),
        (b"\n \n", False),
        (b"<protocol>\r\n \t", False),
        (b"<protocol><join>", True),
        (b"<protocol><join></join", True),
        (b"<protocol><join/></protocol>", False),
        (b"<protocol><join/>\0", False),
        (b"<protocol><join/>ping &am", False),
        (b"<protocol><join/>ping <", True),
        (b"<protocol><join/>ping <!-- ", True),
    ],
)
@pytest.mark.parametrize("cut", CUTS)
def test_has_partial_packet(stream: bytes, is_partial: bool, cut: Cut) -> None:
    assert all_packets(cut(stream))[1].has_partial_packet is is_partial


def test_a_text_that_is_longer_than_the_buffer_of_the_parser() -> None:
    packets, _ = all_packets(whole(b"<protocol><a>" + b"a&amp;" * 2_000 + b"</a>"), FROM_SERVER)
    assert packets == [("a", "a&" * 2_000, ())]


@pytest.mark.parametrize("control", [*range(9), 0x0B, 0x0C, *range(0x0E, 0x20)])
@pytest.mark.parametrize("cut", CUTS)
def test_a_control_character_anywhere_in_a_packet(control: int, cut: Cut) -> None:
    character = bytes([control])
    stream = b"<protocol><a%b%=%'c%>'%><d>%</d%></a%><e/>".replace(b"%", character)
    reader = PacketReader(BEFORE_JOIN)
    for piece in cut(stream):
        reader.receive(piece)
    packet = reader.next_packet()
    assert packet is not None
    assert packet.get("b") == "c\ufffd>"
    assert [(child.tag, child.text) for child in packet] == [("d", "\ufffd")]
    assert next_packet(reader) == ("e", "", ())


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        ("'a]]>b'", True),
        ('"]]]>"', True),
        ("']]&gt;'", False),
        ("']] >'", False),
        ("'x'><!-- ]]> --><?pi ]]>?><![CDATA[]]></a><a b=''", False),
        ("''><!-- '']]> --></a><a b=']]>'", True),
    ],
)
@pytest.mark.parametrize("cut", CUTS)
def test_the_end_of_a_section_in_an_attribute_is_refused_as_by_the_official_server(
    value: str, is_refused: bool, cut: Cut
) -> None:
    def read(known_packets: set[str] | None) -> None:
        reader = PacketReader(BEFORE_JOIN)
        reader.expect(known_packets)
        for piece in cut(f"<protocol>\0<a b={value}/>".encode()):
            reader.receive(piece)
            while reader.next_packet() is not None:
                pass

    read(None)
    if not is_refused:
        read({"a"})
        return
    with pytest.raises(RemoteProtocolError, match=r"\]\]> in an attribute") as raised:
        read({"a"})
    assert raised.value.refusal is Refusal.MALFORMED


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "refusal", "words"),
    [
        (b"<protocol><a></b>", Refusal.MALFORMED, "packet 1, line 1, column 16): mismatched tag; the element that"),
        (b"<protocol>\n<join/>\n<a b=c/>", Refusal.MALFORMED, "packet 2, line 3, column "),
        (
            b"<protocol><join/></proto>",
            Refusal.MALFORMED,
            "20): mismatched tag; the element that has to end first is <protoc",
        ),
        (b"<protocol><a b='1' b='2'/>", Refusal.MALFORMED, "duplicate attribute at \"b='2'/>\""),
        (b"<protocol><a b='<'/>", Refusal.MALFORMED, '(invalid token) at "<\'/>"'),
        (b"<protocol><\x01a/>", Refusal.MALFORMED, "line 1, column 12): not well-formed (invalid token) at ' a/>'"),
        (b"<protocol>\x01<a b='\x02<\x03'/>", Refusal.MALFORMED, "line 1, column 19): not well-formed (invalid token)"),
        (b"<protocol>\0\1\xc3\xa4]]>", Refusal.MALFORMED, "line 1, column 16): not well-formed (invalid token) at '>'"),
        (b"<protocol><join/>ping]]>", Refusal.MALFORMED, "packet 2, line 1, column 24): not well-formed"),
        (b"<protocol>this & that", Refusal.MALFORMED, "line 1, column 17): not well-formed (invalid token) at ' '"),
        (b"<protocol>&nbsp;", Refusal.ENTITY, "undefined entity at '&nbsp;'"),
        (b"<protocol><a>&#0;</a>", Refusal.MALFORMED, "reference to invalid character number at '&#0;</a>'"),
        (b"<protocol><?xml version='1.0'?>", Refusal.MALFORMED, "XML or text declaration not at start of entity at "),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Refusal.MALFORMED, "it begins with 'GET / HTTP/1.1'"),
        (b'  {"join": 1}', Refusal.MALFORMED, "has to begin with <protocol>, but it begins with '{\"join\": 1}'"),
        (b"\x16\x03\x01\x02\x00\x01", Refusal.MALFORMED, "it begins with '\\x16\\x03\\x01"),
        # newer versions of expat refuse it themselves
        (b"<?xml version='2.0'?><protocol>", Refusal.MALFORMED, "2.0"),
        (b"<!DOCTYPE protocol><protocol>", Refusal.DOCTYPE, "contains a DOCTYPE"),
        (b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;", Refusal.DOCTYPE, "document types are not"),
        (b"<protocol><!DOCTYPE a>", Refusal.DOCTYPE, "contains a DOCTYPE"),
        (b"<protocol><!ENTITY a 'b'>", Refusal.MALFORMED, "(invalid token) at \"ENTITY a 'b'>\""),
        (
            b"<protocol><a b='&foo;'/>",
            Refusal.ENTITY,
            "undefined entity at \"<a b='&foo;'/>\" (packet 1, line 1, column 11); only &amp;",
        ),
        (codecs.BOM_UTF16_LE + "<protocol>".encode("utf-16-le"), Refusal.ENCODING, "looks like UTF-16 or UTF-32"),
        ("<protocol>".encode("utf-16-le"), Refusal.ENCODING, "looks like UTF-16 or UTF-32"),
        ("<protocol>".encode("utf-32-be"), Refusal.ENCODING, "looks like UTF-16 or UTF-32"),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?><a>", Refusal.ENCODING, "declares the encoding 'ISO-8859-1'"),
    ],
)
def test_refusals_name_the_fault_and_its_position(stream: bytes, refusal: Refusal, words: str, cut: Cut) -> None:
    if words.startswith("it begins") and cut is not whole:
        words = "it begins with "  # shows only the bytes received so far
    if words.startswith("has to begin") and cut is not whole:
        words = "has to begin with <protocol>, but it begins with '{"
    found, explanation = refusal_of(stream, cut=cut)
    assert found is refusal
    assert words in explanation
    assert len(explanation) < 500


# -- limits -----------------------------------------------------------------------------------------------------------

SMALL = Limits(packet_bytes=100, depth=5, attributes=3, children=4)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "packet",
    [
        b"<a>" + b"x" * 93 + b"</a>",
        b" " * 96 + b"<a/>",
        b"text<!-- " + b"x" * 84 + b"--><a/>",
        b"<a b='" + b"x" * 91 + b"'/>",
        b"<a>" + "€".encode() * 31 + b"</a>",
    ],
)
def test_a_packet_may_have_the_length_of_the_limit_but_no_more(packet: bytes, cut: Cut) -> None:
    assert len(packet) == SMALL.packet_bytes
    packets, _ = all_packets(cut(b"<protocol>" + b"<b/>" + packet + packet), SMALL)
    assert len(packets) == 3
    longer = b" " + packet
    assert refusal_of(b"<protocol>" + b"<b/>" + packet + longer, SMALL, cut) == (
        Refusal.PACKET_SIZE,
        "Packet 3 is longer than 100 bytes, which is the limit here",
    )


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "endless",
    [
        b"<a>" + b"x" * 200,
        b"<a b='" + b"x" * 200,
        b"<!-- " + b"> <b " * 40,
        b" " * 200,
        b"<" + b"a" * 200,
    ],
)
def test_an_endless_packet_is_refused_before_it_ends(endless: bytes, cut: Cut) -> None:
    assert refusal_of(b"<protocol>" + endless, SMALL, cut)[0] is Refusal.PACKET_SIZE


@pytest.mark.parametrize("cut", CUTS)
def test_depth(cut: Cut) -> None:
    assert len(all_packets(cut(b"<protocol><a><b><c><d/></c></b></a>"), SMALL)[0]) == 1
    assert refusal_of(b"<protocol><x/><a><b><c><d><e>", SMALL, cut) == (
        Refusal.DEPTH,
        "Packet 2 has elements nested deeper than 5",
    )


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "attributes",
    [b"b='1' c='2' d='3'", b"xmlns='u' xmlns:v='w' d='3'", b"xmlns:a='1' xmlns:b='2' a:c='3'"],
)
def test_attributes(attributes: bytes, cut: Cut) -> None:
    assert len(all_packets(cut(b"<protocol><a><x " + attributes + b"/></a>"), SMALL)[0]) == 1
    assert refusal_of(b"<protocol><a><x " + attributes + b" e='4'/></a>", SMALL, cut) == (
        Refusal.ATTRIBUTES,
        "Packet 1 has an element <x> with more than 3 attributes",
    )


@pytest.mark.parametrize("cut", CUTS)
def test_children(cut: Cut) -> None:
    assert len(all_packets(cut(b"<protocol><a><b><c/><d/></b><e/></a><a><b><c/><d/></b><e/></a>"), SMALL)[0]) == 2
    assert refusal_of(b"<protocol><a><b><c/><d/></b><e/><f/>", SMALL, cut) == (
        Refusal.CHILDREN,
        "Packet 1 has more than 4 elements below it",
    )


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (b"<a b='", b"'/>"),
        (b"<![CDATA[", b"]]><a/>"),
        (b"<a><!--", b"--></a>"),
        (b"<a><b c='", b"'/></a>"),
    ],
)
@pytest.mark.parametrize("cut", CUTS)
def test_brackets_inside_values_do_not_end_a_packet(begin: bytes, end: bytes, cut: Cut) -> None:
    packets, _ = all_packets(cut(b"<protocol>" + begin + b">" * 4000 + end), BEFORE_JOIN)
    assert len(packets) == 1


FEW_NAMES: Limits = replace(BEFORE_JOIN, names=5, name_length=8)
"""`protocol` is one name."""


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "number"),
    [
        (b"<protocol><a/><b/><c/><d/>%s", 5),
        (b"<protocol><a><b><c/><d/></b>%s", 1),
        (b"<protocol><a b='' c=''/><x b=''/>%s", 3),
        (b"<protocol><p:a xmlns:p='u'/><q:a/><a/>%s", 4),
        (b"<protocol><?i1?><?i2?><!-- c1 --><a/><b/><c/><a/><?i3?><d/>%s", 6),
    ],
)
def test_the_number_of_different_names_is_limited(stream: bytes, number: int, cut: Cut) -> None:
    known = stream % b"<a/><a/>"
    all_packets(cut(known), FEW_NAMES)
    for new in (b"<new/>", b"<a new=''/>", b"<a><a new=''/></a>"):
        text = f"Packet {number} has a name too many: a stream may use 5 different ones"
        assert refusal_of(stream % new, FEW_NAMES, cut) == (Refusal.NAMES, text)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("packet", [b"<%s/>", b"<a><%s></%s></a>", b"<a %s=''/>", b"<a><b xmlns:%s=''/></a>"])
def test_the_length_of_a_name_is_limited(packet: bytes, cut: Cut) -> None:
    length = FEW_NAMES.name_length - (len("xmlns:") if b"xmlns:" in packet else 0)
    name, longer = b"n" * length, b"n" * (length + 1)
    assert len(all_packets(cut(b"<protocol>" + packet.replace(b"%s", name)), FEW_NAMES)[0]) == 1
    refusal, text = refusal_of(b"<protocol>" + packet.replace(b"%s", longer), FEW_NAMES, cut)
    assert refusal is Refusal.NAME_LENGTH
    assert text.startswith("Packet 1 has a name longer than 8 characters: ")


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
    assert reader.unread_bytes == 0


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

    def __init__(self) -> None:
        self._parser: XMLParserType
        self.pieces = 0
        self.bytes = 0

    def around(self, builder: TreeBuilder) -> CountingParser:
        self._parser = new_parser(builder)
        return self

    def Parse(self, data: bytes) -> None:  # noqa: N802 - expat's name
        self.pieces += 1
        self.bytes += len(data)
        self._parser.Parse(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._parser, name)


def count_what_is_parsed(monkeypatch: pytest.MonkeyPatch) -> CountingParser:
    """Let the next reader use this parser."""
    parser = CountingParser()
    monkeypatch.setattr(packet_reader, "new_parser", parser.around)
    return parser


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
@pytest.mark.parametrize(
    "cut",
    [whole, lambda stream: in_random_pieces(stream, longest=1500), pytest.param(byte_by_byte, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_every_byte_is_examined_and_parsed_a_bounded_number_of_times(
    stream: bytes, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffers: list[CountingBuffer] = []

    def new_buffer(content: bytes = b"") -> CountingBuffer:
        buffers.append(CountingBuffer(content))
        return buffers[-1]

    monkeypatch.setattr(packet_reader, "bytearray", new_buffer, raising=False)
    parser = count_what_is_parsed(monkeypatch)
    reader = PacketReader(Limits(packet_bytes=64 * 1024, name_length=10_000))
    buffer = buffers[0]
    pieces = 0
    for piece in cut(b"<protocol>" + stream):
        pieces += 1
        reader.receive(piece)
        while reader.next_packet() is not None:
            pass
    size = len(stream) + len(b"<protocol>")
    replaced = 2 * sum(map(stream.count, (b"\1", b"\2", b"\3")))
    assert parser.bytes + len(buffer) == size + replaced, "each byte is fed once"
    assert 0 < buffer.examined <= 4 * size + 150 * pieces
    assert parser.pieces <= pieces + stream.count(b">") + stream.count(b";") + 2


def test_the_names_of_a_stream_are_freed_with_its_parser() -> None:
    """No garbage collection is needed, since there is no reference cycle."""
    gc.collect()
    gc.disable()
    try:
        builder = TreeBuilder(FROM_SERVER)
        parser = new_parser(builder)
        parser.Parse(b"<protocol><one-name other-name=''/>")
        assert {"protocol", "one-name", "other-name"} == builder.names.keys()
        packet = builder.take()
        assert packet is not None
        builder_there, packet_there = weakref.ref(builder), weakref.ref(packet)
        del builder, packet, parser
        assert builder_there() is None
        assert packet_there() is None
    finally:
        gc.enable()


def test_control_characters_around_a_fault() -> None:
    """The time must be proportional to the length, whatever seems to begin after the fault."""
    for opening in (b"<!--", b"<?", b"<![CDATA[", b"<a b='"):
        broken = b"\1<a b='\2' '" + opening * 20_000 + b"\3>"
        expected = broken.replace(b"\1", REPLACED).replace(b"\2", REPLACED).replace(b"\3", REPLACED)
        assert replace_controls(broken, is_inside=True) == expected
        assert find_section_end_in_value(broken + b"]]>") == -1
    assert replace_controls(b"\0 \1<a\2/>", is_inside=False) == b"   <a />"


def test_many_markups_need_little_memory() -> None:
    stream = bytearray(b"<a/>" * 250_000)
    tracemalloc.start()
    try:
        assert end_of_markups(stream, len(stream)) == len(stream)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(stream)
        long = b"<!--" + b" <a/> " * 30_000 + b"-->"
        assert end_of_markups(stream + long + stream + b"<b", 2 * len(stream) + len(long)) == 2 * len(stream) + len(
            long
        )
    finally:
        tracemalloc.stop()
