"""Recorded packets, streams made of them, and ways to cut a stream into pieces."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, Limits
from spielleiter.protocol.reader import PacketReader
from spielleiter.protocol.reading import Element

SAMPLES: Final = Path(__file__).parent / "samples"
LATEST: Final = {path.stem: path.read_bytes() for path in sorted((SAMPLES / "blokus-2021").glob("*.xml"))}
"""The packets of release 21.4.0 by name."""

ONE_LINE_MOVE: Final = (
    b'<room roomId="r"><data class="sc.plugin2021.SetMove"><piece color="BLUE" kind="PENTO_U" rotation="NONE" '
    b'isFlipped="false"><position x="7" y="7"/></piece></data></room>'
)

Cut = Callable[[bytes], Iterator[bytes]]


def whole(stream: bytes) -> Iterator[bytes]:
    yield stream


def byte_by_byte(stream: bytes) -> Iterator[bytes]:
    for index in range(len(stream)):
        yield stream[index : index + 1]


def in_random_pieces(stream: bytes, seed: int = 1, longest: int = 40) -> Iterator[bytes]:
    rng = random.Random(seed)
    start = 0
    while start < len(stream):
        size = rng.randint(1, longest)
        yield stream[start : start + size]
        start += size


CUTS: Final[tuple[Cut, ...]] = (whole, byte_by_byte, in_random_pieces)


def stream_of(*packets: bytes) -> bytes:
    """A whole stream as a peer sends it."""
    return b"<protocol>" + b"".join(packets) + b"\n</protocol>"


def all_events(connection: Connection, pieces: Iterator[bytes]) -> list[Event]:
    """All events for these pieces and the end of the input after them, with ConnectionClosed once."""
    events: list[Event] = []
    for piece in (*pieces, b""):
        connection.receive_data(piece)
        while (event := connection.next_event()) is not None:
            events.append(event)
            if isinstance(event, ConnectionClosed):
                return events
    raise AssertionError("there was no event for the end of the input")


def shape_of(element: Element) -> object:
    """An element as plain values, which can be compared and stored."""
    return element.tag, (element.text or "").strip(), tuple(shape_of(child) for child in element)


def all_packets(pieces: Iterator[bytes], limits: Limits = AFTER_JOIN) -> tuple[list[object], PacketReader]:
    """The packets that a reader finds in these pieces, and the reader."""
    reader = PacketReader(limits)
    packets = []
    for piece in pieces:
        reader.receive(piece)
        while (packet := reader.next_packet()) is not None:
            packets.append(shape_of(packet))
    return packets, reader


def outcomes(connection: Connection, pieces: Iterable[bytes]) -> Iterator[object]:
    """The events of `connection` for these pieces and the end of the input, and its refusals as errors."""
    for piece in (*pieces, b""):
        connection.receive_data(piece)
        while True:
            event: object
            try:
                event = connection.next_event()
            except RemoteProtocolError as error:
                event = error
            if event is None:
                break
            yield event
            if isinstance(event, ConnectionClosed):
                break
