"""What is read does not depend on how the bytes arrive, and nothing but RemoteProtocolError leaves the reader."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final
from xml.parsers.expat import XMLParserType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from spielleiter.protocol import packet_reader as reader_module
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, BEFORE_JOIN, Limits
from spielleiter.protocol.packet_reader import TreeBuilder, new_parser
from tests.example_counts import examples
from tests.fuzz import CORPUS
from tests.protocol.streams import (
    CUTS,
    LATEST,
    ONE_LINE_MOVE,
    Cut,
    all_packets,
    byte_by_byte,
    outcomes,
    stream_of,
    whole,
)

DIALECTS: Final = [BLOKUS_2021_R3, BLOKUS_2021_RELEASE, BLOKUS_2027]
SMALL: Final = replace(BEFORE_JOIN, packet_bytes=300, depth=6, attributes=5, children=12, names=20, name_length=12)
BRACKETS: Final = b"<protocol><join gameType='" + b">" * 70 + b"'/><join/>"
REQUESTS: Final = b"".join(
    [
        b'<join gameType="swc_2021_blokus"/><joinPrepared reservationCode="c"/>\n  <authenticate password="p"/>',
        b'<prepare gameType="g" pause="true"><slot displayName="&lt;a&#9;" canTimeout="true"/><slot/></prepare>',
        ONE_LINE_MOVE,
        b'<room roomId="r"><data class="sc.plugin2021.SkipMove"><color>RED</color><hint content="x"/></data></room>',
        b"<!-- comment --><?pi x?><close/>",
    ]
)
STREAMS: Final = [
    *(path.read_bytes()[2:] for path in sorted((CORPUS / "stream").iterdir())),
    BRACKETS,
    stream_of(*(packet for packet in LATEST.values() if len(packet) < 600)),
    b'<?xml version="1.0" encoding="UTF-8"?>' + stream_of(REQUESTS, REQUESTS),
    stream_of(LATEST["memento_turn1"], LATEST["result_left"], LATEST["errorpacket_illegal_move"]),
    b"<protocol><join></x><!-- <!DOCTYPE a> --></join>",
    b"<protocol><join>&foo;<x/></join>",
    b"<protocol><join><!-- </join> --><x a='>'/></join> \r\n <join/>" + b" " * 400 + b"<join/>",
]
FRAGMENTS: Final = [
    *(b"<", b">", b"/>", b"</", b"&", b";", b'"', b"'", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"]]>", b"<![CDATA["),
    *(b"<!--", b"-->", b"<?xml version='1.0' encoding='UTF-16'?>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"&#0;"),
    *(b"<room>", b"</room>", b"<data class='memento'>", b" class='result'", b" xmlns='u'", b"<x:y xmlns:x='z'/>"),
    *(b"<p:b/>", b" p:c='d'"),
    *(b"<a>" * 40, b"<b/>" * 50, b" c='d'", b"-1", b"9" * 30, b"\xed\xa0\x80", "∅😀".encode(), b"</protocol>"),
]


def verdicts(stream: bytes, cut: Cut, dialect: Dialect = BLOKUS_2021_R3, limits: Limits = AFTER_JOIN) -> list[object]:
    """All events and the refusal, if there is one, with its text. Each message can be written again."""
    found: list[object] = []
    for outcome in outcomes(Connection(Role.SERVER, dialect, limits), filter(None, cut(stream))):
        message = outcome
        if isinstance(outcome, RemoteProtocolError):
            assert outcome.refusal is not Refusal.BUG, outcome.data
            assert 0 < len(str(outcome)) < 1000
            message = outcome.original
            # how much of the packet is shown depends on the cut
            found += [outcome.refusal, str(outcome).partition(" but it begins with ")[0]]
        if message is not None and not isinstance(message, StreamEnd | ConnectionClosed):
            dialect.encode(message)  # type: ignore[arg-type]
        found.append(message)
    assert isinstance(found[-1], ConnectionClosed)
    assert sum(isinstance(each, Refusal) for each in found) <= 1
    return found


def cut_at(places: list[float]) -> Cut:
    """Cut a stream at these fractions of its length."""

    def cut(stream: bytes) -> Iterator[bytes]:
        bounds = sorted({0, len(stream), *(int(place * len(stream)) for place in places)})
        for start, end in itertools.pairwise(bounds):
            yield stream[start:end]

    return cut


@st.composite
def spoilt_streams(draw: st.DrawFn) -> bytes:
    """A stream with up to four changes."""
    stream = draw(st.sampled_from(STREAMS))
    for kind in draw(st.lists(st.sampled_from(["insert", "replace", "truncate", "splice", "repeat"]), max_size=4)):
        start = draw(st.integers(0, len(stream)))
        end = start + draw(st.integers(0, 40))
        match kind:
            case "insert":
                middle, rest = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=8)), stream[start:]
            case "replace":
                middle, rest = draw(st.sampled_from([b"", *FRAGMENTS])), stream[end:]
            case "truncate":
                middle, rest = b"", b""
            case "splice":
                middle, rest = b"", stream[draw(st.integers(0, len(stream))) :]
            case _:
                middle, rest = stream[start:end] * 3, stream[end:]
        stream = stream[:start] + middle + rest
    return stream


@pytest.mark.no_cover
@pytest.mark.slow
@settings(max_examples=examples(600))
@given(
    spoilt_streams() | st.binary(max_size=300),
    st.lists(st.floats(0, 1), max_size=12),
    st.sampled_from(DIALECTS),
    st.sampled_from([AFTER_JOIN, SMALL]),
)
@example(BRACKETS, [number / 100 for number in range(100)], BLOKUS_2021_R3, AFTER_JOIN)
def test_any_stream_is_read_in_the_same_way_however_it_arrives(
    stream: bytes, places: list[float], dialect: Dialect, limits: Limits
) -> None:
    """Nothing but RemoteProtocolError is raised, once."""
    expected = verdicts(stream, whole, dialect, limits)
    assert verdicts(stream, cut_at(places), dialect, limits) == expected


class DeferringParser:
    """Defers incomplete tokens in the same way as expat 2.6.0: see `callProcessor` in its xmlparse.c."""

    def __init__(self, parser: XMLParserType) -> None:
        self._parser = parser
        self._pending = b""
        self._had_before = 0
        self._passed_on = 0

    def Parse(self, data: bytes) -> None:  # noqa: N802 - expat's name
        self._pending += data
        if self._left + len(self._pending) < 2 * self._had_before:
            return
        before = self._left + len(self._pending)
        self._parser.Parse(self._pending)
        self._passed_on += len(self._pending)
        self._pending = b""
        self._had_before = self._left if self._left == before else 0

    @property
    def _left(self) -> int:
        """The number of bytes of the incomplete token at the end."""
        return self._passed_on - max(0, self._parser.CurrentByteIndex)

    def __getattr__(self, name: str) -> object:
        return getattr(self._parser, name)


def deferring(builder: TreeBuilder) -> XMLParserType:
    """Python's own parser, with deferral enabled if it supports it, behind one that always defers."""
    parser = new_parser(builder)
    getattr(parser, "SetReparseDeferralEnabled", bool)(True)
    return DeferringParser(parser)  # type: ignore[return-value]


@pytest.mark.parametrize("stream", STREAMS)
def test_the_parser_is_given_nothing_incomplete(stream: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Therefore it makes no difference whether the parser defers incomplete tokens."""
    expected = verdicts(stream, byte_by_byte)
    monkeypatch.setattr(reader_module, "new_parser", deferring)
    assert verdicts(stream, byte_by_byte) == expected


TIGHT = Limits(packet_bytes=300, depth=4, attributes=2, children=3, names=8, name_length=16)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("before", "fault", "limits"),
    [
        ("<protocol><join gameType=", "></protocol>", BEFORE_JOIN),
        ("<protocol><join/>\n  <room>ü<data></", "room>", BEFORE_JOIN),
        ("<protocol><room>", "&auml;</room>", BEFORE_JOIN),
        ("<protocol><room a='\t\0\t' b='", "<'/></room>", BEFORE_JOIN),
        ("<protocol><room><b a='\t\0\t'/>", "&auml;</room>", BEFORE_JOIN),
        ("<protocol><a><b><c>", "<d/></c>", TIGHT),
        ("<protocol><a>", '<b a="" b="" c=""/></a>', TIGHT),
        ("<protocol><a><b/><b/><b/>", "<b/></a>", TIGHT),
        ("<protocol><a>", "<aVeryLongNameIndeed/></a>", TIGHT),
        ("<protocol><a>" + 287 * "x", "x</a>", TIGHT),
        ("<protocol><!-- <x> --><a><![CDATA[<y>]]><?z <z>?></a>" + "<a>", "<aVeryLongNameIndeed/></a>", TIGHT),
        ("", '<?xml version="1.0" encoding="latin-1"?><protocol>', BEFORE_JOIN),
        ("", "<!DOCTYPE a []><protocol>", BEFORE_JOIN),
        ("\n ", "GET / HTTP/1.1\r\n", BEFORE_JOIN),
        ("", "<\0p\0", BEFORE_JOIN),
    ],
)
def test_a_refusal_says_where_the_fault_is(before: str, fault: str, limits: Limits, cut: Cut) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        all_packets(cut((before + fault).encode()), limits)
    start = max(before.rfind(end) + len(end) if end in before else 0 for end in ("<join/>", "</a>"))
    assert error.value.position == len(before[start:].encode())
