"""The events of a stream do not depend on how its bytes are cut, and are not late if expat defers tokens.

Since release 2.6.0, expat defers an incomplete token until twice as many bytes have arrived; Python 3.12.0 to 3.12.2
cannot switch that off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final
from xml.parsers.expat import XMLParserType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spielleiter.protocol import reader as reader_module
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, BEFORE_JOIN, Limits
from spielleiter.protocol.reader import PacketReader, TreeBuilder, new_parser
from tests.example_counts import examples
from tests.fuzz import CORPUS
from tests.protocol.streams import LATEST, ONE_LINE_MOVE, Cut, all_packets, byte_by_byte, outcomes, stream_of, whole

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


@pytest.mark.no_cover
@pytest.mark.parametrize("limits", [AFTER_JOIN, SMALL], ids=["usual limits", "small limits"])
@pytest.mark.parametrize("stream", STREAMS)
def test_streams_byte_by_byte(stream: bytes, limits: Limits) -> None:
    assert verdicts(stream, byte_by_byte, limits=limits) == verdicts(stream, whole, limits=limits)


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


def test_the_deferring_parser_defers() -> None:
    builder = TreeBuilder(AFTER_JOIN)
    parser = deferring(builder)
    parser.Parse(b"<protocol>")
    parser.Parse(b"<join gameType='" + b"x" * 100)
    parser.Parse(b"'/>")
    assert builder.take() is None
    parser.Parse(b" " * 200)
    assert builder.take() is not None


def one_of_many(stream: bytes) -> Iterator[bytes]:
    """All bytes but the last one, then that one: a token that is deferred now is never parsed."""
    yield stream[:-1]
    yield stream[-1:]


PACKETS: Final = {
    "a move": ONE_LINE_MOVE,
    "empty": b"<join/>",
    "values": b"<join gameType='" + b">x " * 300 + b"'/>",
    "a comment": b"<!-- " + b"> " * 300 + b"--><join><!-- " + b"> " * 300 + b"--></join>",
    "a section": b"<join><![CDATA[" + b"]>" * 300 + b"]]></join>",
    "text": b"<join>" + b" > \r" * 300 + b"</join >",
}


@pytest.mark.parametrize("cut", [whole, byte_by_byte, one_of_many])
@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS)
@pytest.mark.parametrize("make", [new_parser, deferring])
def test_a_packet_is_complete_with_its_last_byte(
    make: Callable[[TreeBuilder], XMLParserType], packet: bytes, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "new_parser", make)
    packets, reader = all_packets(cut(b"<protocol>" + packet))
    assert len(packets) == 1
    for _ in range(20):
        for piece in cut(packet):
            reader.receive(piece)
            last = reader.next_packet()
        assert last is not None  # type: ignore[possibly-undefined]


@pytest.mark.parametrize("stream", STREAMS)
def test_the_parser_is_given_nothing_incomplete(stream: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Therefore it makes no difference whether the parser defers incomplete tokens."""
    expected = verdicts(stream, byte_by_byte)
    monkeypatch.setattr(reader_module, "new_parser", deferring)
    assert verdicts(stream, byte_by_byte) == expected
    assert type(PacketReader(AFTER_JOIN)._parser).__name__ == "DeferringParser"
