"""Errors of the client say what to do, and show refusals without the names of Java classes."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.client_errors import (
    AuthenticationError,
    ClientError,
    NotAMoveError,
    RequestRefusedError,
    plain_text,
    refusal,
)
from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import BlokusMistake, SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027 as DIALECT
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    JoinRequest,
    MoveData,
    Prepared,
    RoomMessage,
)
from spielleiter.protocol.texts import Texts


def test_a_refused_password_has_its_own_error() -> None:
    error = refusal("Failed to authenticate as administrator", AuthenticateRequest("wrong"))
    assert isinstance(error, AuthenticationError)
    assert str(error) == "Failed to authenticate as administrator"


def test_any_other_refusal_keeps_text_and_request() -> None:
    for request in (JoinRequest("swc"), None):
        error = refusal("no", request)
        assert type(error) is RequestRefusedError
        assert isinstance(error, ClientError)
        assert error.request == request


def test_a_long_value_that_is_no_move_is_shortened_in_the_message() -> None:
    error = NotAMoveError(["a move"] * 1000)
    assert str(error) == (
        "['a move', 'a move', 'a move', 'a move', 'a move', 'a move', ...] of type list "
        "cannot be sent as a move of this game"
    )
    assert len(error.value) == 1000  # type: ignore[arg-type]


def test_the_message_names_the_type_of_a_possible_move() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(1))
    expected = "; expected a HaseUndIgelMove, such as those of state.generate_legal_moves()"
    assert str(NotAMoveError(None, state)).endswith(expected)


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
