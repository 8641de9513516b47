"""Packets of the official server's releases: one of each kind, and those of whole conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from lxml import etree

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Message
from spielleiter.protocol.reading import Element
from tests.protocol.recordings import read_streams
from tests.protocol.streams import SAMPLES
from tests.shared import SHARED

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
