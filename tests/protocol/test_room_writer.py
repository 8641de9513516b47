"""A room's writer returns the same bytes as its dialect, even though it reuses what it has written before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import RULES_2027, BlokusState
from spielleiter.protocol.dialect import Dialect, RoomWriter
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R1, BLOKUS_2021_R2, BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveRequest, RoomData, RoomMessage, WelcomeMessage
from tests.protocol import strategies
from tests.protocol.strategies import random_game

BLOKUS = [BLOKUS_2021_R3, BLOKUS_2021_R2, BLOKUS_2021_R1, BLOKUS_2027]
INDENTS = ["\n  ", "\n"]


@settings(max_examples=40)
@given(st.lists(strategies.mementos | strategies.room_data, min_size=2, max_size=4), st.sampled_from(INDENTS))
def test_anything_is_written_as_the_dialect_does(messages: list[RoomData], indent: str) -> None:
    writer = RoomWriter(BLOKUS_2021_R3, "<a room>", indent)
    for data in messages:
        assert writer.encode(data) == BLOKUS_2021_R3.encode(RoomMessage("<a room>", data), indent)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", BLOKUS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("indent", INDENTS)
def test_a_game_is_written_as_the_dialect_does(dialect: Dialect, indent: str) -> None:
    writer = RoomWriter(dialect, "r", indent)
    for state in (*random_game(3), *reversed(random_game(2))):
        memento = Memento(state, ("a", "b"), ("hint",) if state.last_move else ())
        assert writer.encode(memento) == dialect.encode(RoomMessage("r", memento), indent)


def test_changes_of_names_and_rules_are_written() -> None:
    writer = RoomWriter(BLOKUS_2021_R3, "r")
    state = random_game(0)[5]
    other = BlokusState(RULES_2027, Shape.PENTO_X, turn=3)
    for memento in (Memento(state), Memento(state, ("a", "&")), Memento(other), Memento(state, hints=("x",))):
        assert writer.encode(memento) == BLOKUS_2021_R3.encode(RoomMessage("r", memento))


def test_rooms_do_not_share_their_memory() -> None:
    first, second = (Memento(state) for state in random_game(1)[:2])
    here, there = RoomWriter(BLOKUS_2021_R3, "r"), RoomWriter(BLOKUS_2021_R3, "r")
    assert here.encode(second) != there.encode(first)
    assert there.encode(second) == here.encode(second)


def test_a_dialect_without_remembering_writers_works_as_well() -> None:
    writer = RoomWriter(HASE_UND_IGEL_2018, "r")
    for data in (WelcomeMessage(1), MoveRequest()):
        assert writer.encode(data) == HASE_UND_IGEL_2018.encode(RoomMessage("r", data))


def test_data_without_a_packet_are_refused() -> None:
    writer = RoomWriter(BLOKUS_2021_R3.evolve(data_writers={MoveRequest: None, Memento: None}), "r")
    for data in (MoveRequest(), Memento(random_game(0)[0])):
        with pytest.raises(LocalProtocolError):
            writer.encode(data)
