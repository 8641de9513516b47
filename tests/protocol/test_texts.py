"""The texts of the official server, compared with its recorded packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spielleiter.game.api import Seat
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.texts import MoveRefusal
from tests.protocol import streams
from tests.protocol.strategies import random_game
from tests.protocol.streams import LATEST, decode

TEXTS = BLOKUS_2021_R3.texts
NAMES = ("Eins", "Zwei")


def error_packet(name: str) -> m.ErrorPacket:
    packet = decode(BLOKUS_2021_R3, LATEST[name])
    assert isinstance(packet, m.ErrorPacket)
    return packet


def data_of(name: str) -> Any:
    return streams.data_of(BLOKUS_2021_R3, LATEST[name])


def reasons(name: str) -> list[str]:
    return [score.reason for score in data_of(name).scores if score.reason]


# -- recorded ---------------------------------------------------------------------------------------------------------


def test_an_illegal_move() -> None:
    error, packet = data_of("error_illegal_move"), error_packet("errorpacket_illegal_move")
    refusal = TEXTS.illegal("Eins", BlokusMistake.NOT_IN_CORNER, error.original.move, random_game(0)[0])
    (reason,) = reasons("result_rule_violation")
    assert refusal == MoveRefusal(reason, error.message, error.message, packet.message, error.original)


def test_a_move_out_of_turn() -> None:
    error, packet = data_of("error_not_your_turn"), error_packet("errorpacket_not_your_turn")
    refusal = TEXTS.out_of_turn(0, 0, 1, NAMES, error.original)
    (reason,) = reasons("result_left")
    assert refusal == MoveRefusal(reason, error.message, error.message, packet.message, error.original)


@pytest.mark.parametrize(
    ("name", "text_for"),
    [
        ("non_move", TEXTS.non_move),
        ("room_no_data", TEXTS.non_move),
        ("not_member", lambda request: TEXTS.not_member(request.room_id)),
        ("room_full", lambda request: TEXTS.room_full(request.room_id)),
        ("unknown_room", lambda request: TEXTS.unknown_room(request.room_id)),
        ("unknown_gametype", lambda request: TEXTS.unknown_game_type(request.game_type, ["swc_2021_blokus"])),
        ("unknown_reservation", lambda _: TEXTS.unknown_reservation),
        ("wrong_password", lambda _: TEXTS.wrong_password),
        ("unauthenticated_observe", TEXTS.unauthenticated),
        ("unauthenticated_prepare", TEXTS.unauthenticated),
        ("server_packet", TEXTS.server_packet),
    ],
)
def test_a_refused_request(name: str, text_for: Callable[[Any], str]) -> None:
    packet = error_packet(f"errorpacket_{name}")
    assert text_for(packet.original_request) == packet.message


def test_reasons_in_results() -> None:
    assert [TEXTS.departure_reason(m.Departure.UNKNOWN)] == reasons("result_left")
    assert [TEXTS.soft_timeout_reason(2)] == reasons("result_soft_timeout")
    assert [TEXTS.hard_timeout_reason(10.0)] == reasons("result_hard_timeout")


# -- the official server's own words, where no sample shows them ------------------------------------------------------


@pytest.mark.parametrize("mistake", BlokusMistake)
def test_every_mistake_has_a_text(mistake: BlokusMistake) -> None:
    move = SetMove(Color.BLUE, Shape.MONO, Rotation.NONE, False, 0, 1)
    text = TEXTS.mistake_texts[mistake]
    is_without_move = mistake in {BlokusMistake.WRONG_SHAPE, BlokusMistake.DUPLICATE_SHAPE}
    suffix = "" if is_without_move else " bei Zug 'Setze MONO(Farbe Blau)[0,1]'"
    blamed = "null" if is_without_move else "Setze MONO(Farbe Blau)[0,1]"
    exception = f"InvalidMoveException(mistake={text}, move={blamed})"
    error = f"Ungueltiger Zug von 'A'.\n{exception}"
    packet = f"sc.api.plugins.exceptions.GameLogicException: {exception}"
    assert TEXTS.illegal("A", mistake, move, random_game(0)[0]) == MoveRefusal(
        text + suffix, error, error, packet, m.MoveData(move)
    )


@pytest.mark.parametrize(("seconds", "number"), [(10.0, "10"), (2.5, "2,5"), (0.0015, "0,002")])
def test_limits_are_written_as_german_numbers(seconds: float, number: str) -> None:
    expected = f"Der Spieler hat innerhalb von {number} Sekunden nach Aufforderung keinen Zug gesendet"
    assert TEXTS.soft_timeout_reason(seconds) == TEXTS.hard_timeout_reason(seconds) == expected


@pytest.mark.parametrize(
    ("expected", "data", "error"),
    [
        (None, m.MoveData(SkipMove(Color.GREEN)), "expected: null, got Team 1(Eins) (msg was Farbe Grün setzt aus)."),
        (1, m.UnreadableData("foo.Bar", "x"), "expected: Team 2(Zwei), got Team 1(Eins) (msg was foo.Bar)."),
        (1, m.UnreadableData(None, "x"), "expected: Team 2(Zwei), got Team 1(Eins) (msg was null)."),
    ],
)
def test_data_of_any_type_out_of_turn(expected: Seat | None, data: m.RoomData, error: str) -> None:
    assert TEXTS.out_of_turn(expected, 1, 0, NAMES, data).error == f"It's not your turn yet; {error}"


@pytest.mark.parametrize(
    ("data", "described"),
    [
        (None, "null"),
        (m.WelcomeMessage(1), "WelcomeMessage(color=TWO)"),
        (m.MoveRequest(), "sc.framework.plugins.protocol.MoveRequest"),
        (m.Paused(is_paused=True), "GamePaused(paused=true)"),
        (
            m.ErrorMessage("m", m.MoveData(SkipMove(Color.RED))),
            "ErrorMessage(originalMessage=Farbe Rot setzt aus, message=m)",
        ),
        (m.ErrorMessage("m"), "ErrorMessage(originalMessage=null, message=m)"),
        (m.Memento(random_game(0)[0]), "MementoMessage(state=GameState 1/0, perspective=null)"),
    ],
)
def test_data_as_the_official_server_describes_it(data: m.RoomData | None, described: str) -> None:
    assert TEXTS.describe_data(data) == described


def test_a_result_as_the_official_server_describes_it() -> None:
    assert TEXTS.describe_data(data_of("result_left")) == (
        "GameResult(winner=[Team 1(Eins)], scores=["
        "Player1(cause=REGULAR, reason='', parts=[Gewinner=2, ∅ Punkte=15]), "
        "Player2(cause=LEFT, reason='Der Spieler hat das Spiel verlassen', parts=[Gewinner=0, ∅ Punkte=10])])"
    )


@pytest.mark.parametrize(
    ("request_", "described"),
    [
        (m.CancelRequest("r"), "CancelRequest(roomId=r)"),
        (m.PauseRequest("r", is_paused=True), "PauseGameRequest(roomId=r, pause=true)"),
        (m.StepRequest("r", is_forced=True), "StepRequest(roomId=r, forced=true)"),
        (m.ScoreForPlayerRequest("A"), "PlayerScoreRequest(displayName=A)"),
        (m.TestModeRequest(is_enabled=False), "TestModeRequest(testMode=false)"),
        (m.StatusRequest(), "StatusRequest()"),
        (m.FeedRequest(), "FeedRequest()"),
        (m.MetricsRequest(), "MetricsRequest()"),
        (m.JoinRequest("g"), "JoinGameRequest(gameType=g)"),
        (
            m.PrepareRequest(None, (m.Slot(None, can_timeout=False, is_reserved=False),), is_paused=True),
            (
                "PrepareGameRequest(gameType=null, slotDescriptors=[SlotDescriptor(displayName=null, canTimeout=false, "
                "reserved=false)], pause=true)"
            ),
        ),
        (m.AuthenticateRequest("geheim"), "AuthenticateRequest()"),
    ],
)
def test_requests_as_the_official_server_describes_them(request_: m.Message, described: str) -> None:
    assert TEXTS.describe_request(request_) == described
    assert TEXTS.unauthenticated(request_) == (
        f"sc.server.network.UnauthenticatedException: Request {described} requires authentication"
    )
