"""How packets are cut up and what else stands in them, to see how a program takes it.

Invariants: pieces make up the same bytes; a packet with unknown elements means what it meant before.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Final, TypeAlias

from lxml import etree

_PIECES: Final = 40

Cut: TypeAlias = Callable[[bytes, random.Random], list[bytes]]


def in_one_piece(data: bytes, _rng: random.Random) -> list[bytes]:
    return [data]


def in_fragments(data: bytes, rng: random.Random) -> list[bytes]:
    """The first bytes one by one, the rest cut wherever it happens, also inside of tags."""
    head = [data[place : place + 1] for place in range(min(_PIECES, len(data)))]
    cuts = (
        sorted(rng.sample(range(_PIECES, len(data)), min(_PIECES, len(data) - _PIECES))) if len(data) > _PIECES else []
    )
    places = [_PIECES, *cuts, len(data)]
    return head + [data[start:end] for start, end in itertools.pairwise(places) if start < end]


def with_unknown_elements(packet: bytes) -> bytes:
    """The same packet with attributes and elements that no client knows."""
    room = etree.fromstring(packet)
    data = room[0]
    data.set("checkedBy", "spielleiter")
    for place in (data[0], data):
        unknown = etree.SubElement(place, "unknownElement", attribute="unknown")
        etree.SubElement(unknown, "nested").text = "Größe & Maß"
    return b"\n  " + etree.tostring(room, encoding="utf-8")
