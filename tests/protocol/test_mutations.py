"""The only exception that a corrupted stream causes is RemoteProtocolError."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN
from tests.example_counts import examples
from tests.protocol.streams import LATEST, ONE_LINE_MOVE, in_random_pieces, stream_of

EDITIONS = [BLOKUS_2021_R3, BLOKUS_2021_RELEASE]

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
STREAMS = [
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


spoilt_streams = st.builds(apply, st.sampled_from(STREAMS), st.lists(changes(), min_size=1, max_size=4))


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


@pytest.mark.parametrize("dialect", EDITIONS, ids=lambda each: each.name)
@settings(max_examples=60)
@given(spoilt_streams, st.integers(0, 1000))
def test_a_corrupted_stream_is_the_fault_of_the_peer(dialect: Dialect, stream: bytes, seed: int) -> None:
    check(stream, dialect, seed)


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("dialect", EDITIONS, ids=lambda each: each.name)
@settings(max_examples=examples(1000))
@given(spoilt_streams, st.integers(0, 1000))
def test_many_corrupted_streams(dialect: Dialect, stream: bytes, seed: int) -> None:
    check(stream, dialect, seed)


@settings(max_examples=examples(40))
@given(st.binary(max_size=300), st.integers(0, 1000))
def test_any_bytes(stream: bytes, seed: int) -> None:
    check(stream, BLOKUS_2021_R3, seed)
    check(b"<protocol>" + stream, BLOKUS_2021_R3, seed)
