from __future__ import annotations

import random

import pytest

from spielleiter.game.api import GameError, GameOverError, IllegalMoveError, Outcome
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.game.nim import NimGame, NimMistake, NimMove, NimState
from spielleiter.protocol.dialects.nim import NIM
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData, RoomData, RoomMessage, UnreadableData
from tests.protocol.streams import decode

START, GIVE_UP = NimState(), NimMove(None)


@pytest.mark.parametrize(
    ("state", "reason"), [(NimState(1, 4).play(NimMove(1)), "last_stick"), (NimState(9, 5).play(GIVE_UP), "gave_up")]
)
def test_how_games_end(state: NimState, reason: str) -> None:
    assert (state.outcome(), state.points(0), state.points(1)) == (Outcome(0, reason), (1,), (0,))
    assert list(state.generate_legal_moves()) == []
    with pytest.raises(GameOverError):
        state.check(GIVE_UP)


def test_how_many_sticks_may_be_taken() -> None:
    assert (START.round, START.seat_on_turn, START.most, START.play(NimMove(3)).most) == (1, 0, 3, 4)
    assert list(NimState(2).generate_legal_moves()) == [NimMove(1), NimMove(2)]
    assert {START.check(NimMove(count)) for count in (-1, 0, 4)} == {NimMistake.COUNT} == set(NIM.texts.mistake_texts)
    with pytest.raises(IllegalMoveError):
        NimState(2).play(NimMove(3))


@pytest.mark.parametrize("data", [*map(MoveData, [NimMove(2), GIVE_UP]), *map(Memento, [START, START.play(GIVE_UP)])])
def test_written_data_can_be_read(data: RoomData) -> None:
    assert decode(NIM, NIM.encode(RoomMessage("r", data))) == RoomMessage("r", data)


@pytest.mark.parametrize("content", ["", '<state sticks="16"/>', '<state sticks="1"><lastMove class="x"/></state>'])
@pytest.mark.parametrize("kind", ["take", "memento"])
def test_what_cannot_be_read(kind: str, content: str) -> None:
    message = decode(NIM, f'<room roomId="r"><data class="{kind}">{content}</data></room>')
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, UnreadableData)


def test_values_of_another_game_are_refused() -> None:
    state = NimGame().with_options({}).new_state(random.Random())
    assert state == START == NimGame().resume(state)
    other = BLOKUS_2027.new_state(random.Random())
    with pytest.raises(GameError, match="not a position of nim"):
        NimGame().resume(other)
    with pytest.raises(TypeError, match="not a move of Nim"):
        START.check("e2e4")
    for data in (MoveData("e2e4"), Memento(other)):
        with pytest.raises(LocalProtocolError, match="Nim"):
            NIM.encode(RoomMessage("r", data))
