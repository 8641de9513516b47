"""Every packet of release 27.0.4 is understood, and written again with the same bytes; the German texts agree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from spielleiter.game.api import Mistake, Outcome
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2027 as GAME
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CloseConnection,
    Departure,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinedGameRoom,
    Memento,
    MoveData,
    MoveRequest,
    ObserveRequest,
    PlayerScore,
    PrepareRequest,
    RoomMessage,
    ScoreForPlayerRequest,
    Slot,
    Testing,
    TestModeRequest,
    UnreadableData,
)
from tests.protocol.seasons import decode, packets, samples, transcripts
from tests.shared import needs_shared

RECORDED: Final = samples("blokus-2027")
TEXTS: Final = BLOKUS_2027.texts
NAMES: Final = ("Alice", "Bob")
START: Final = BlokusState(GAME.rules, Shape.PENTO_V)
MEMENTO: Final = b'class="memento"'


def data_of(packet: bytes | str) -> object:
    message = decode(BLOKUS_2027, packet)
    assert isinstance(message, RoomMessage)
    return message.data


def state_of(packet: bytes | str) -> BlokusState:
    data = data_of(packet)
    assert isinstance(data, Memento), data
    assert isinstance(data.state, BlokusState)
    return data.state


@pytest.mark.parametrize("name", RECORDED)
def test_every_packet_is_written_as_it_was_read(name: str) -> None:
    notes: list[str] = []
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, RECORDED[name], notes)) == RECORDED[name]
    assert notes == []


@pytest.mark.parametrize("seed", range(4))
def test_every_written_position_of_a_game_is_read_as_it_was(seed: int) -> None:
    rng = random.Random(seed)
    state = GAME.new_state(rng)
    while state.outcome() is None:
        assert state_of(BLOKUS_2027.encode(RoomMessage("r", Memento(state)))) == state
        state = state.play(rng.choice(list(state.generate_legal_moves())))


# -- texts ------------------------------------------------------------------------------------------------------------


def error_of(name: str) -> ErrorMessage:
    message = decode(BLOKUS_2027, RECORDED[name], is_from_server=True)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, ErrorMessage)
    return message.data


def test_an_illegal_move_is_refused_as_recorded() -> None:
    move = SetMove(Color.BLUE, Shape.PENTO_V, Rotation.NONE, False, 5, 5)
    refusal = TEXTS.illegal("Alice", BlokusMistake.NOT_ON_BORDER, move, START)
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_illegal_move")
    assert refusal.observer_error == refusal.error
    assert refusal.packet is None
    assert f"Regelverletzung von Alice: {refusal.reason}" in reason_of("result_rule_violation")


def test_a_piece_placed_twice_is_refused_as_recorded() -> None:
    move = SetMove(Color.BLUE, Shape.PENTO_Z, Rotation.NONE, False, 10, 10)
    refusal = TEXTS.illegal("Alice", BlokusMistake.DUPLICATE_SHAPE, move, START)
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_illegal_move_duplicate")
    assert refusal.reason == "Der gewählte Stein wurde bereits gesetzt"


@pytest.mark.parametrize(
    ("mistake", "move", "reason"),
    [
        (
            BlokusMistake.WRONG_COLOR,
            SetMove(Color.YELLOW, Shape.PENTO_L, Rotation.NONE, False, 0, 0),
            "Nur eigene Spielfiguren können gezogen werden bei 'Setze PENTO_L(Farbe Gelb)[0,0]'",
        ),
        (
            BlokusMistake.SKIP_FIRST_TURN,
            SkipMove(Color.BLUE),
            "Der erste Zug muss einen Stein setzen bei 'Farbe Blau setzt aus'",
        ),
        (
            BlokusMistake.OUT_OF_BOUNDS,
            SetMove(Color.BLUE, Shape.PENTO_R, Rotation.NONE, False, 18, 18),
            "Der Spielstein passt nicht vollständig auf das Spielfeld bei 'Setze PENTO_R(Farbe Blau)[18,18]'",
        ),
    ],
)
def test_a_reason_names_the_move(mistake: Mistake, move: SetMove | SkipMove, reason: str) -> None:
    assert TEXTS.illegal("Alice", mistake, move, START).reason == reason


def test_a_move_out_of_turn_is_refused_as_recorded() -> None:
    sent = MoveData(SkipMove(Color.BLUE))
    refusal = TEXTS.out_of_turn(0, 0, 1, NAMES, sent)
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_out_of_turn")
    assert f"Missachtung des Spielablaufs von Bob: {refusal.reason}" == reason_of("result_out_of_turn")
    assert TEXTS.out_of_turn(None, 0, 1, NAMES, sent) == refusal, "whose turn it is counts, not who was asked"


def test_a_move_that_was_not_requested_is_refused_as_recorded() -> None:
    refusal = TEXTS.out_of_turn(None, 0, 0, NAMES, MoveData(SkipMove(Color.BLUE)))
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_not_requested")
    assert f"Missachtung des Spielablaufs von Alice: {refusal.reason}" == reason_of("result_not_requested")
    assert refusal.packet is None


def test_a_move_that_cannot_be_read_is_refused_in_the_same_style() -> None:
    refusal = TEXTS.unreadable("Alice", UnreadableData("x", "data fehlt"))
    assert refusal.reason == "Der Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.error.startswith("Ungueltiger Zug von 'Alice'.\nInvalidMoveException(mistake=Der Zug konnte nicht")
    assert refusal.packet is None


def reason_of(name: str) -> str:
    text = RECORDED[name].decode().partition(' regular="')[2].partition(' reason="')[2].partition('"/>')[0]
    return text.replace("&apos;", "'")


@pytest.mark.parametrize(
    ("departure", "name"),
    [
        (Departure.LOST_CONNECTION, "result_left_fin"),
        (Departure.RECEIVED_DISCONNECT, "result_left_close"),
        (Departure.PROTOCOL_ERROR, "result_left_malformed"),
    ],
)
def test_the_reason_of_a_departure_is_as_recorded(departure: Departure, name: str) -> None:
    assert reason_of(name) == f"Alice {TEXTS.departure_reason(departure)}"


def test_the_reasons_of_timeouts_are_as_recorded() -> None:
    assert f"Alice {TEXTS.soft_timeout_reason(2)}" == reason_of("result_soft_timeout")
    assert f"Alice {TEXTS.hard_timeout_reason(2)}" == reason_of("result_hard_timeout")
    assert "10 Sekunden" in TEXTS.hard_timeout_reason(10)
    assert "laenger als 2,5 Sekunden" in TEXTS.soft_timeout_reason(2.5)


def test_a_regular_end_needs_no_reason() -> None:
    assert TEXTS.regular_reason(Outcome(0, "points")) == ""


ROOM: Final = "c6d90406-d09e-409b-ac67-b9baee845f5d"
PREPARE: Final = PrepareRequest("swc_2027_blokus", (Slot("a"), Slot("b", can_timeout=False, is_reserved=False)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("errorpacket_not_member", TEXTS.not_member(ROOM)),
        ("errorpacket_room_full", TEXTS.room_full(ROOM)),
        ("errorpacket_server_packet", TEXTS.server_packet(Joined("x"))),
        ("errorpacket_unauthenticated_observe", TEXTS.unauthenticated(ObserveRequest("x"))),
        ("errorpacket_unauthenticated_prepare", TEXTS.unauthenticated(PREPARE)),
        ("errorpacket_unknown_reservation", TEXTS.unknown_reservation),
        ("errorpacket_unknown_room", TEXTS.unknown_room("x")),
        ("errorpacket_wrong_password", TEXTS.wrong_password),
    ],
)
def test_requests_are_refused_as_recorded(name: str, text: str) -> None:
    packet = decode(BLOKUS_2027, RECORDED[name])
    assert isinstance(packet, ErrorPacket)
    assert packet.message == text


def test_a_room_packet_without_a_move_is_refused() -> None:
    text = TEXTS.non_move(RoomMessage("r", MoveRequest()))
    assert text.endswith("non-move packet: RoomPacket(roomId=r, data=sc.protocol.room.MoveRequest)")


# -- differences to the season before ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tag", ["testMode", "testing", "scoreForPlayer", "playerScore", "foo", "sc.protocol.responses.CloseConnection"]
)
def test_some_packets_are_no_longer_known(tag: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2027, f"<{tag}/>")
    assert error.value.refusal is Refusal.UNKNOWN_PACKET


@pytest.mark.parametrize("kind", [TestModeRequest, Testing, ScoreForPlayerRequest, PlayerScore])
def test_removed_packets_cannot_be_written(kind: type) -> None:
    assert BLOKUS_2021_R3.has_packet(kind)
    assert not BLOKUS_2027.has_packet(kind)


def test_close_and_joined_game_room() -> None:
    assert BLOKUS_2027.encode(CloseConnection()) == b"\n  <close/>"
    for tag in ("close", "sc.protocol.CloseConnection"):
        assert decode(BLOKUS_2027, f"<{tag}/>") == CloseConnection()
    notice = JoinedGameRoom("17b3d87c-b792-494c-b984-9ddf01887304", 1, is_existing=False)
    assert BLOKUS_2027.encode(notice) == RECORDED["joinedGameRoom"]


@pytest.mark.parametrize(
    "class_name", ["sc.plugin2021.SetMove", "sc.plugin2021.SkipMove", "move", "setmove", "sc.framework.plugins.Move"]
)
def test_a_move_of_another_season_is_named(class_name: str) -> None:
    refusal = refusal_of(f'<room roomId="r"><data class="{class_name}"><color>BLUE</color></data></room>')
    problem = f'data class="{class_name}" gibt es nicht; erlaubt: sc.plugin2027.SetMove, sc.plugin2027.SkipMove'
    assert str(refusal) == f"<room> cannot be read: {problem}"
    assert refusal.original == RoomMessage("r", UnreadableData(class_name, problem))


@pytest.mark.parametrize(
    ("data", "refusal", "problem"),
    [
        (
            '<piece color="BLUE" kind="PENTO_I"><position x="0" y="0"/></piece>',
            Refusal.INCOMPLETE_PACKET,
            "im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, MIRROR, LEFT",
        ),
        (
            '<piece color="BLUE" kind="PENTO_I" rotation="NONE"><position x="a" y="0"/></piece>',
            Refusal.UNREADABLE_PACKET,
            'position x="a" ist keine ganze Zahl',
        ),
        (
            '<piece color="BLUE" kind="PENTO_R" rotation="NONE"/>',
            Refusal.INCOMPLETE_PACKET,
            "im Element piece fehlt das Element position",
        ),
    ],
)
def test_a_move_that_cannot_be_read_says_why(data: str, refusal: Refusal, problem: str) -> None:
    error = refusal_of(f'<room roomId="r"><data class="sc.plugin2027.SetMove">{data}</data></room>')
    assert (error.refusal, str(error)) == (refusal, f"<room> cannot be read: {problem}")


def refusal_of(packet: str) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2027, packet)
    return error.value


def test_an_attribute_of_a_slot_of_another_season_is_ignored() -> None:
    request = decode(
        BLOKUS_2027, '<prepare><slot displayName="a"/><slot displayName="b" shouldBePaused="true"/></prepare>'
    )
    assert isinstance(request, PrepareRequest)
    slots = BLOKUS_2027.with_defaults(request).slots
    assert slots == tuple(Slot(name, can_timeout=False, is_reserved=False) for name in "ab")


def test_a_paused_slot_is_written_as_a_paused_game() -> None:
    request = PrepareRequest("g", (Slot("a"), Slot("b", should_be_paused=True)))
    text = BLOKUS_2027.encode(request).decode()
    assert text.startswith('\n  <prepare gameType="g" pause="true">\n    <slot displayName="a" canTimeout="true"')
    assert "shouldBePaused" not in text


def test_a_password_is_written_in_the_attribute_password() -> None:
    assert BLOKUS_2027.encode(AuthenticateRequest("p")) == b'\n  <authenticate password="p"/>'


# -- whole conversations ----------------------------------------------------------------------------------------------

GAMES: Final = transcripts("blokus-2027", "*.gz")
CASES: Final = transcripts("blokus-2027", "cases/*.txt")


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_whole_games_are_written_as_they_were_read(game: Path) -> None:
    recorded = [packet for _, packet in packets(game, is_to_server=False)]
    assert len(recorded) > 150
    for packet in recorded:
        assert BLOKUS_2027.encode(decode(BLOKUS_2027, packet)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_what_players_sent_is_written_as_it_was_read(game: Path) -> None:
    sent = [packet for who, packet in packets(game, is_to_server=True) if who != "admin"]
    assert len(sent) > 50
    for packet in sent:
        assert BLOKUS_2027.encode(decode(BLOKUS_2027, packet)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_the_rules_lead_from_position_to_position(game: Path) -> None:
    """Playing the recorded moves gives the recorded positions, byte for byte."""
    recorded = [packet for who, packet in packets(game, is_to_server=False) if who == "p1" and MEMENTO in packet]
    assert len(recorded) > 50
    message = decode(BLOKUS_2027, recorded[0])
    assert isinstance(message, RoomMessage)
    state = state_of(recorded[0])
    for packet in recorded[1:]:
        move = state_of(packet).last_move
        assert move is not None
        state = state.play(move)
        assert BLOKUS_2027.encode(RoomMessage(message.room_id, Memento(state))) == packet
    assert state.outcome() is not None


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_answer_of_a_special_case_is_written_as_it_was_read(case: Path) -> None:
    for _, packet in packets(case, is_to_server=False):
        assert BLOKUS_2027.encode(decode(BLOKUS_2027, packet)) == packet
