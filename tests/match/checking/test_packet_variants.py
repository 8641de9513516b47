"""Variants of a packet have the same meaning as the original."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from spielleiter.match.checking.scripted_server import (
    split_into_fragments,
    unsplit,
    with_unknown_elements,
)
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import choose_editions

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]
STATE = EDITION.game.new_state(random.Random(1))
POSITION = EDITION.dialect.encode(RoomMessage("room", Memento(STATE, ("Größe", "<b>"))))


@given(data=st.binary(max_size=400), seed=st.integers(0, 5), split=st.sampled_from([unsplit, split_into_fragments]))
def test_the_pieces_together_are_the_original_bytes(data: bytes, seed: int, split: Any) -> None:
    assert b"".join(split(data, random.Random(seed))) == data


def test_fragments_split_tags() -> None:
    pieces = split_into_fragments(POSITION, random.Random(1))
    assert len(pieces) > 60
    assert all(pieces)
    assert any(piece.count(b"<") > piece.count(b">") for piece in pieces)


def test_unknown_elements_do_not_change_the_meaning() -> None:
    changed = with_unknown_elements(POSITION)
    assert etree.fromstring(changed).findall(".//unknownElement")
    messages = []
    for packet in (POSITION, changed):
        connection = Connection(Role.CLIENT, EDITION.dialect)
        connection.receive_data(b"<protocol>" + packet)
        messages.append(connection.next_event())
    assert messages[0] == messages[1]
    assert isinstance(messages[0], RoomMessage)
