"""Recorded packets and conversations, streams made of them, and ways to cut a stream into pieces."""

from __future__ import annotations

import gzip
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from lxml import etree

from spielleiter.protocol.connection import Connection, ConnectionClosed, Event
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, Limits
from spielleiter.protocol.messages import Message, RoomMessage
from spielleiter.protocol.packet_reader import PacketReader
from spielleiter.protocol.values import Element
from tests.shared import SHARED

_LINE: Final = re.compile(r"\s*[0-9.]+\s+(\S+)\s+(->|<-)  (.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(n|t|r|\\|x[0-9A-Fa-f]{2})")
_PLAIN: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}


class Stream(NamedTuple):
    """All bytes of one direction of one connection. Positions that are abridged in the recording are left out."""

    connection: str
    is_to_server: bool
    data: bytes


def read_streams(path: Path) -> list[Stream]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    streams: dict[tuple[str, bool], bytearray] = defaultdict(bytearray)
    for line in raw.decode().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            assert line.startswith("#") or not line, line
            continue
        connection, direction, text = match.groups()
        if not text.startswith("(") and "<<memento" not in text:
            streams[connection, direction == "->"] += _ESCAPE.sub(_unescape, text.encode())
    return [Stream(connection, is_to_server, bytes(data)) for (connection, is_to_server), data in streams.items()]


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return _PLAIN[code] if code in _PLAIN else bytes([int(code[1:], 16)])


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


_BETWEEN_PACKETS: Final = re.compile(rb"(?=\n  <(?!/))")


def samples(edition: str) -> dict[str, bytes]:
    """The packets of one release by name."""
    return {path.stem: path.read_bytes() for path in sorted((SAMPLES / edition).glob("*.xml"))}


def decode(
    dialect: Dialect, packet: bytes | str, notes: list[str] | None = None, *, is_from_server: bool = False
) -> Message:
    element = cast("Element", etree.fromstring(packet))
    skipped: list[str] = [] if notes is None else notes
    return dialect.decode(element, skipped.append, is_from_server=is_from_server)


def data_of(
    dialect: Dialect, packet: bytes | str, notes: list[str] | None = None, *, is_from_server: bool = False
) -> Any:
    """The data of a room packet."""
    message = decode(dialect, packet.strip(), notes, is_from_server=is_from_server)
    assert isinstance(message, RoomMessage)
    return message.data


def transcripts(edition: str, pattern: str) -> list[Path]:
    """The recorded conversations of one release; none if the recordings are missing."""
    return [] if SHARED is None else sorted((SHARED / "transcripts" / edition).glob(pattern))


def packets(transcript: Path, *, is_to_server: bool) -> Iterator[tuple[str, bytes]]:
    """The packets of a conversation, connection by connection; only those that were recorded as lines."""
    for stream in read_streams(transcript):
        if stream.is_to_server is is_to_server:
            for piece in _BETWEEN_PACKETS.split(stream.data):
                packet = piece.removesuffix(b"\n</protocol>")
                if packet.startswith(b"\n  <"):
                    yield stream.connection, packet
