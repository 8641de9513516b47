"""The bytes of one direction become packets, and every byte is in one of them or counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.wire.conversation import Part, Splitter
from tests.protocol.streams import LATEST, stream_of

STREAM = stream_of(*(packet for packet in LATEST.values() if len(packet) < 600))
WHOLE = 1 << 20
SMALL = 512


def split(*pieces: bytes, packet_bytes: int = WHOLE, rest_bytes: int = 100) -> list[Part]:
    splitter = Splitter(packet_bytes, rest_bytes)
    parts = [part for instant, piece in enumerate(pieces) for part in splitter.feed(piece, float(instant))]
    return [*parts, *splitter.finish()]


def texts(parts: list[Part]) -> list[bytes]:
    return [part.data for part in parts]


def test_a_stream_is_its_start_tag_its_packets_and_its_end() -> None:
    parts = split(b'<?xml version="1.0"?><protocol>\n  <join/>\n  <room><data/></room>\n</protocol>\n')
    assert texts(parts) == [
        b'<?xml version="1.0"?><protocol>',
        b"\n  <join/>",
        b"\n  <room><data/></room>",
        b"\n</protocol>",
        b"\n",
    ]
    assert [part.number for part in parts] == [0, 1, 2, 0, 0]
    assert [part.fault for part in parts] == [None] * 5


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


def test_a_part_says_when_it_arrived_and_in_how_many_pieces() -> None:
    parts = split(b"<protocol>", b"<jo", b"in", b"/><room", b"/>")
    assert [(part.first, part.last, part.pieces) for part in parts] == [(0.0, 0.0, 1), (1.0, 3.0, 3), (3.0, 4.0, 2)]


def test_what_is_not_well_formed_is_marked_and_the_rest_is_not_divided() -> None:
    parts = split(b"<protocol><join gameType=><a/>", b"<b/>", b"x" * 200)
    assert texts(parts) == [b"<protocol>", b"<join gameType=><a/>", b"<b/>" + b"x" * 96]
    fault = parts[1].fault
    assert fault is not None
    assert fault.start == len(b"<join gameType=")
    assert "Not well-formed" in fault.text
    assert (parts[1].number, parts[2].number, parts[2].left_out) == (1, 0, 104)
    assert parts[2].before == parts[1].data


def test_a_packet_without_an_end_is_cut_and_the_next_one_is_found() -> None:
    parts = split(b"<protocol><room>", *[b"y" * 100] * 20, b'</room>\n  <join gameType="x"/>', packet_bytes=SMALL)
    assert parts[1].data == b"<room>" + b"y" * 500
    assert [part.number for part in parts] == [0, 1, 0, 2]
    assert [parts[0].data, *texts(parts[2:])] == [b"<protocol>", b"", b'\n  <join gameType="x"/>']


def test_after_missing_bytes_the_next_packet_is_found() -> None:
    splitter = Splitter(WHOLE, 100)
    parts = [*splitter.feed(b"<protocol><join/><ro", 0.0), *splitter.miss(1000, 1.0)]
    parts += [*splitter.feed(b'om"></data></room>', 2.0), *splitter.feed(b"\n  <ro", 3.0), *splitter.feed(b"om/>", 4.0)]
    parts += splitter.finish()
    assert texts(parts) == [b"<protocol>", b"<join/>", b"<ro", b"", b"", b"\n  <room/>"]
    assert [(part.last, part.left_out) for part in parts[3:5]] == [(1.0, 1000), (4.0, len(b'om"></data></room>'))]


def test_nothing_is_found_after_missing_bytes() -> None:
    splitter = Splitter(WHOLE, 100)
    assert list(splitter.miss(0, 0.0)) == []
    (part,) = splitter.miss(10, 0.0)
    assert (part.data, part.left_out) == (b"", 10)
    assert list(splitter.feed(b"x" * 500, 1.0)) == []
    (part,) = splitter.finish()
    assert (part.data, part.left_out) == (b"", 500)


@pytest.mark.parametrize("data", [b"<protocol><room>", b"<proto", b"<protocol><join/>\n  <ro"])
def test_what_is_not_complete_at_the_end_is_said(data: bytes) -> None:
    part = split(data)[-1]
    assert part.fault is not None
    assert part.fault.text == "this is not complete, and nothing follows"


def test_an_abandoned_packet_is_shown_at_once() -> None:
    splitter = Splitter(WHOLE, 100)
    assert texts([*splitter.feed(b"<protocol><room>", 0.0), *splitter.abandon()]) == [b"<protocol>", b"<room>"]
    assert list(splitter.abandon()) == []
    assert list(splitter.feed(b"</room>", 1.0)) == []
    assert texts(list(splitter.finish())) == [b"</room>"]
    assert list(splitter.finish()) == []


def test_the_memory_does_not_grow_with_the_stream() -> None:
    splitter = Splitter(SMALL, 100)
    for opening in (b"<protocol><room>", b"<", b"<!--", b"\xff"):
        list(splitter.feed(opening, 0.0))
        for _ in range(100):
            list(splitter.feed(b"z" * SMALL, 0.0))
            assert len(splitter._data) + splitter._reader.unread_bytes < 5 * SMALL
