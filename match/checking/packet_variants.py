"""Variants of packets: split into pieces, or with unknown elements. They test how a program reads its input.

Invariants: the pieces together are the original bytes. A packet with unknown elements has the same meaning as before.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Final, TypeAlias

from lxml import etree

_PIECE_COUNT: Final = 40

Splitter: TypeAlias = Callable[[bytes, random.Random], list[bytes]]


def unsplit(data: bytes, _rng: random.Random) -> list[bytes]:
    """Return the packet in one piece."""
    return [data]


def split_into_fragments(data: bytes, rng: random.Random) -> list[bytes]:
    """Split off the first bytes one by one, and the rest at random positions, even within tags."""
    head = [data[index : index + 1] for index in range(min(_PIECE_COUNT, len(data)))]
    rest = range(_PIECE_COUNT, len(data))
    bounds = [_PIECE_COUNT, *sorted(rng.sample(rest, min(_PIECE_COUNT, len(rest)))), len(data)]
    return head + [data[start:end] for start, end in itertools.pairwise(bounds) if start < end]


def with_unknown_elements(packet: bytes) -> bytes:
    """Return the same packet with attributes and elements that no client knows."""
    room = etree.fromstring(packet)
    data = room[0]
    data.set("checkedBy", "spielleiter")
    for parent in (data[0], data):
        unknown = etree.SubElement(parent, "unknownElement", attribute="unknown")
        etree.SubElement(unknown, "nested").text = "Größe & Maß"
    return b"\n  " + etree.tostring(room, encoding="utf-8")
