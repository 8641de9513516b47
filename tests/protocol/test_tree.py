"""Names are bounded in length and number, and freed with the parser; written elements can be parsed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace

import pytest
from lxml import etree

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, BEFORE_JOIN, FROM_SERVER, Limits
from spielleiter.protocol.reader import TreeBuilder, new_parser, parse_element
from spielleiter.protocol.reading import Element
from tests.protocol.streams import CUTS, SAMPLES, Cut, all_packets, shape_of

FEW: Limits = replace(BEFORE_JOIN, names=5, name_length=8)
"""`protocol` is one name."""


def refusal_of(pieces: Iterator[bytes], limits: Limits = FEW) -> tuple[Refusal, str]:
    with pytest.raises(RemoteProtocolError) as error:
        all_packets(pieces, limits)
    return error.value.refusal, str(error.value)


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
    all_packets(cut(known), FEW)
    for new in (b"<new/>", b"<a new=''/>", b"<a><a new=''/></a>"):
        text = f"Packet {number} has a name too many: a stream may use 5 different ones"
        assert refusal_of(cut(stream % new)) == (Refusal.NAMES, text)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("packet", [b"<%s/>", b"<a><%s></%s></a>", b"<a %s=''/>", b"<a><b xmlns:%s=''/></a>"])
def test_the_length_of_a_name_is_limited(packet: bytes, cut: Cut) -> None:
    length = FEW.name_length - (len("xmlns:") if b"xmlns:" in packet else 0)
    name, longer = b"n" * length, b"n" * (length + 1)
    assert len(all_packets(cut(b"<protocol>" + packet.replace(b"%s", name)), FEW)[0]) == 1
    refusal, text = refusal_of(cut(b"<protocol>" + packet.replace(b"%s", longer)))
    assert refusal is Refusal.NAME_LENGTH
    assert text.startswith("Packet 1 has a name longer than 8 characters: ")


def test_the_name_of_the_root_counts() -> None:
    assert refusal_of(iter([b"<" + b"p" * 5000 + b">"]))[1] == (
        f"Packet 1 has a name longer than 8 characters: {'p' * 60}…"
    )


def names_in(element: etree._Element) -> set[str]:
    return {name for node in element.iter() for name in (str(node.tag), *map(str, node.attrib))}


def test_the_limit_is_above_the_number_of_names_of_all_seasons() -> None:
    names = set[str]()
    for path in SAMPLES.glob("*/*.xml"):
        names |= names_in(etree.fromstring(path.read_bytes().strip()))
    assert 90 < len(names) < BEFORE_JOIN.names
    assert max(map(len, names)) < BEFORE_JOIN.name_length
    assert AFTER_JOIN.names == BEFORE_JOIN.names <= FROM_SERVER.names


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


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("\n<a/>", ("a", "", ())),
        ("<a b='c'>ä &lt;<d/>tail<!-- --><e>x</e></a>", ("a", "ä <", (("d", "", ()), ("e", "x", ())))),
    ],
)
def test_a_single_element_is_parsed(text: str, shape: object) -> None:
    element: Element = parse_element(text)
    assert shape_of(element) == shape


def test_only_text_before_the_first_child_is_kept() -> None:
    element = parse_element("<a>1<!-- c -->2<b>3</b>4<![CDATA[5]]></a>")
    (child,) = element
    assert (element.text, child.text) == ("12", "3")


def test_a_long_text_is_complete() -> None:
    text = "".join(f"line {number} &amp; " * 50 for number in range(100))
    assert parse_element(f"<a>{text}</a>").text == text.replace("&amp;", "&")
