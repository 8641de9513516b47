"""What is read does not depend on how the bytes arrive, and nothing but RemoteProtocolError leaves the reader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final
from xml.parsers.expat import XMLParserType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spielleiter.protocol import packet_reader as reader_module
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, BEFORE_JOIN, Limits
from spielleiter.protocol.packet_reader import PacketReader, TreeBuilder, new_parser
from tests.example_counts import examples
from tests.fuzz import CORPUS
from tests.protocol.streams import (
    CUTS,
    LATEST,
    ONE_LINE_MOVE,
    Cut,
    all_packets,
    byte_by_byte,
    in_random_pieces,
    outcomes,
    stream_of,
    whole,
)

DIALECTS: Final = {"2021": BLOKUS_2021_R3, "2027": BLOKUS_2027}
SMALL: Final = replace(BEFORE_JOIN, packet_bytes=300, depth=6, attributes=5, children=12, names=20, name_length=12)
CORPUS_STREAMS: Final = [path.read_bytes()[2:] for path in sorted((CORPUS / "stream").iterdir())]
BRACKETS: Final = b"<protocol><join gameType='" + b">" * 70 + b"'/><join/>"
STREAMS: Final = [
    *CORPUS_STREAMS,
    BRACKETS,
    stream_of(*(packet for packet in LATEST.values() if len(packet) < 600)),
    b"<protocol><join></x><!-- <!DOCTYPE a> --></join>",
    b"<protocol><join>&foo;<x/></join>",
    b"<protocol><join><!-- </join> --><x a='>'/></join> \r\n <join/>" + b" " * 400 + b"<join/>",
]


def verdicts(stream: bytes, cut: Cut, dialect: Dialect = BLOKUS_2021_R3, limits: Limits = AFTER_JOIN) -> list[object]:
    """All events and the refusal, if there is one, with its text."""
    found: list[object] = []
    for outcome in outcomes(Connection(Role.SERVER, dialect, limits), cut(stream)):
        if isinstance(outcome, RemoteProtocolError):
            # how much of the packet is shown depends on the cut
            text, _, _ = str(outcome).partition(" but it begins with ")
            return [*found, outcome.refusal, text, outcome.original]
        found.append(outcome)
    return found


def cut_at(places: list[float]) -> Cut:
    """Cut a stream at these fractions of its length."""

    def cut(stream: bytes) -> Iterator[bytes]:
        bounds = sorted({0, len(stream), *(int(place * len(stream)) for place in places)})
        for start, end in itertools.pairwise(bounds):
            yield stream[start:end]

    return cut


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream of the corpus, sometimes with a part of it replaced."""
    stream = draw(st.sampled_from(STREAMS))
    if draw(st.booleans()):
        start = draw(st.integers(0, len(stream)))
        length = draw(st.integers(0, 8))
        new = draw(
            st.sampled_from([b"", b"<", b">", b"'", b'"', b"&", b"]]>", b"<!--", b"-->", b"<!DOCTYPE x>", b"\xc3"])
        )
        stream = stream[:start] + new + stream[start + length :]
    return stream


@pytest.mark.no_cover
@settings(max_examples=examples(400))
@given(
    streams(),
    st.lists(st.floats(0, 1), max_size=12),
    st.sampled_from(sorted(DIALECTS)),
    st.sampled_from([AFTER_JOIN, SMALL]),
)
@example(BRACKETS, [number / 100 for number in range(100)], "2021", AFTER_JOIN)
def test_events_and_refusals_do_not_depend_on_the_cut(
    stream: bytes, places: list[float], dialect: str, limits: Limits
) -> None:
    expected = verdicts(stream, whole, DIALECTS[dialect], limits)
    assert Refusal.BUG not in expected
    assert verdicts(stream, cut_at(places), DIALECTS[dialect], limits) == expected


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
    assert type(PacketReader(AFTER_JOIN)._parser).__name__ == "DeferringParser"


REQUESTS = b"".join(
    [
        b'<join gameType="swc_2021_blokus"/>',
        b'<joinPrepared reservationCode="c"/>',
        b'\n  <authenticate password="p"/>',
        b'<prepare gameType="g" pause="true"><slot displayName="&lt;a&#9;" canTimeout="true"/><slot/></prepare>',
        b'<observe roomId="r"/><pause roomId="r" pause="false"/><step roomId="r" forced="true"/>',
        ONE_LINE_MOVE,
        b'<room roomId="r"><data class="sc.plugin2021.SkipMove"><color>RED</color><hint content="x"/></data></room>',
        b"<!-- comment --><?pi x?><close/>",
    ]
)
MUTATED_STREAMS = [
    b'<?xml version="1.0" encoding="UTF-8"?>' + stream_of(REQUESTS),
    stream_of(REQUESTS, REQUESTS),
    stream_of(LATEST["memento_turn1"], LATEST["result_left"], LATEST["errorpacket_illegal_move"]),
    stream_of(*(packet for packet in LATEST.values() if len(packet) < 600)),
]
FRAGMENTS = [
    *(b"<", b">", b"/>", b"</", b"&", b";", b'"', b"'", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"]]>", b"<![CDATA["),
    *(b"<!--", b"-->", b"<?xml version='1.0' encoding='UTF-16'?>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"&#0;"),
    *(b"<room>", b"</room>", b"<data class='memento'>", b" class='result'", b" xmlns='u'", b"<x:y xmlns:x='z'/>"),
    *(b"<p:b/>", b" p:c='d'"),
    *(b"<a>" * 40, b"<b/>" * 50, b" c='d'", b"-1", b"9" * 30, b"\xed\xa0\x80", "∅😀".encode(), b"</protocol>"),
]

Change = Callable[[bytes], bytes]


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Corrupt a stream in one way."""
    kind = draw(st.sampled_from(["flip", "insert", "delete", "truncate", "splice", "repeat"]))
    place, other = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    fragment = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=8))
    length = draw(st.integers(1, 40))

    def change(stream: bytes) -> bytes:
        start, second = int(place * len(stream)), int(other * len(stream))
        match kind:
            case "flip":
                return (
                    stream[:start]
                    + bytes(byte ^ (1 << length % 8) for byte in stream[start : start + 1])
                    + stream[start + 1 :]
                )
            case "insert":
                return stream[:start] + fragment + stream[start:]
            case "delete":
                return stream[:start] + stream[start + length :]
            case "truncate":
                return stream[:start]
            case "splice":
                return stream[:start] + stream[second:]
            case _:
                return stream[:start] + stream[start : start + length] * 3 + stream[start + length :]

    return change


def apply(stream: bytes, ways: list[Change]) -> bytes:
    for way in ways:
        stream = way(stream)
    return stream


spoilt_streams = st.builds(apply, st.sampled_from(MUTATED_STREAMS), st.lists(changes(), min_size=1, max_size=4))


def next_event_or_error(connection: Connection) -> Event | RemoteProtocolError | None:
    try:
        return connection.next_event()
    except RemoteProtocolError as error:
        return error


def check(stream: bytes, dialect: Dialect, seed: int) -> None:
    """Only RemoteProtocolError is raised, once; the messages read before it can be written again."""
    connection = Connection(Role.SERVER, dialect, AFTER_JOIN)
    is_broken = is_closed = False
    for piece in (*in_random_pieces(stream, seed, 500), b""):
        connection.receive_data(piece)
        while not is_closed:
            event = next_event_or_error(connection)
            if isinstance(event, RemoteProtocolError):
                assert not is_broken
                assert event.refusal is not Refusal.BUG, event.data
                assert 0 < len(str(event)) < 1000
                is_broken = True
                if event.original is not None:
                    dialect.encode(event.original)
                continue
            if event is None:
                break
            is_closed = isinstance(event, ConnectionClosed)
            if not isinstance(event, StreamEnd | ConnectionClosed):
                assert not is_broken
                dialect.encode(event)
    assert is_closed


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("dialect", [BLOKUS_2021_R3, BLOKUS_2021_RELEASE], ids=lambda each: each.name)
@settings(max_examples=examples(300))
@given(spoilt_streams, st.integers(0, 1000))
def test_a_corrupted_stream_is_the_fault_of_the_peer(dialect: Dialect, stream: bytes, seed: int) -> None:
    check(stream, dialect, seed)


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
