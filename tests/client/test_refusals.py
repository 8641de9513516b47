"""People see refusals without the names of Java classes, and otherwise unchanged."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.refusals import plain_text
from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import BlokusMistake, SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027 as DIALECT
from spielleiter.protocol.messages import CancelRequest, MoveData, Prepared, RoomMessage
from spielleiter.protocol.texts import Texts


@pytest.mark.parametrize("texts", [DIALECT.texts, BLOKUS_2021_R3.texts])
def test_no_refusal_of_this_projects_server_shows_a_class_name(texts: Texts) -> None:
    move: Move = SkipMove(Color.BLUE)
    state = BLOKUS_2027.new_state(random.Random(1))
    illegal = texts.illegal("Ada", BlokusMistake.SKIP_FIRST_TURN, move, state)
    out_of_turn = texts.out_of_turn(0, 0, 1, ("Ada", "Bo"), MoveData(move))
    sentences = [
        texts.non_move(RoomMessage("room", MoveData(move))),
        texts.not_member("room"),
        texts.room_full("room"),
        texts.unknown_room("room"),
        texts.unknown_reservation,
        texts.unknown_player("Ada"),
        texts.unknown_game_type("chess", ["swc_2027_blokus"]),
        texts.wrong_password,
        texts.unauthenticated(CancelRequest("room")),
        texts.server_packet(Prepared("room", ())).partition(" of type")[0],
        *(text for refusal in (illegal, out_of_turn) for text in (refusal.error, refusal.packet or "")),
    ]
    for sentence in sentences:
        assert "Exception" not in plain_text(sentence)
        assert "\n" not in plain_text(sentence)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("sc.api.plugins.exceptions.GameRoomException: Room x is already full!", "Room x is already full!"),
        ("java.lang.IllegalArgumentException: no", "no"),
        ("a.B: c.d.E: inner", "inner"),
        ("this server tells nothing (a.b.C: why)", "this server tells nothing (why)"),
        (
            "Ungueltiger Zug von 'Ada'.\nInvalidMoveException(mistake=Zu weit, move=null)",
            "Ungueltiger Zug von 'Ada'. Zu weit",
        ),
        ("InvalidMoveException(mistake=Zu weit, move=Setze MONO[1,2])", "Zu weit (Setze MONO[1,2])"),
        ("Request Cancel(roomId=x) requires authentication", "This request requires authentication as administrator"),
        # none of these names a class
        ("see example.org: there", "see example.org: there"),
        ("Zug: nein", "Zug: nein"),
        ("The server failed", "The server failed"),
    ],
)
def test_only_the_additions_of_java_are_removed(message: str, text: str) -> None:
    assert plain_text(message) == text
