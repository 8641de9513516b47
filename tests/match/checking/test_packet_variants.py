from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from spielleiter.match.checking.packet_variants import in_fragments, in_one_piece, with_unknown_elements
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import choose_editions

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]
STATE = EDITION.game.new_state(random.Random(1))
POSITION = EDITION.dialect.encode(RoomMessage("room", Memento(STATE, ("Größe", "<b>"))))


@given(data=st.binary(max_size=400), seed=st.integers(0, 5), cut=st.sampled_from([in_one_piece, in_fragments]))
def test_whatever_is_cut_up_is_whole_together(data: bytes, seed: int, cut: Any) -> None:
    assert b"".join(cut(data, random.Random(seed))) == data


def test_fragments_cut_tags_apart() -> None:
    pieces = in_fragments(POSITION, random.Random(1))
    assert len(pieces) > 60
    assert all(pieces)
    assert any(piece.count(b"<") > piece.count(b">") for piece in pieces)


def test_unknown_elements_change_nothing_for_whoever_ignores_them() -> None:
    spoilt = with_unknown_elements(POSITION)
    assert etree.fromstring(spoilt).findall(".//unknownElement")
    read = []
    for packet in (POSITION, spoilt):
        connection = Connection(Role.CLIENT, EDITION.dialect)
        connection.receive_data(b"<protocol>" + packet)
        read.append(connection.next_event())
    assert read[0] == read[1]
    assert isinstance(read[0], RoomMessage)
