"""Every packet of release 18.2.6 is read, and written again with the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from msgspec import structs

from spielleiter.game.hase_und_igel import HaseUndIgelState, Player
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    Cause,
    CloseConnection,
    ErrorPacket,
    JoinedGameRoom,
    JoinRoomRequest,
    Memento,
    Message,
    Paused,
    PauseRequest,
    PlayerScore,
    PrepareRequest,
    Result,
    RoomMessage,
    Score,
    Slot,
    StepRequest,
    TimeoutRequest,
    UnreadableData,
    WelcomeMessage,
)
from tests.protocol.seasons import decode, packets, samples, transcripts
from tests.shared import needs_shared

RECORDED: Final = samples("hase-und-igel-2018")
MEMENTO: Final = b'class="memento"'


def message_of(packet: bytes | str) -> Message:
    return decode(HASE_UND_IGEL_2018, packet)


def data_of(packet: bytes | str) -> object:
    message = message_of(packet)
    assert isinstance(message, RoomMessage)
    return message.data


def state_of(packet: bytes | str) -> HaseUndIgelState:
    data = data_of(packet)
    assert isinstance(data, Memento), data
    assert isinstance(data.state, HaseUndIgelState)
    return data.state


def encode(message: Message) -> bytes:
    return HASE_UND_IGEL_2018.encode(message)


@pytest.mark.parametrize("name", RECORDED)
def test_every_packet_is_written_as_it_was_read(name: str) -> None:
    notes: list[str] = []
    assert encode(decode(HASE_UND_IGEL_2018, RECORDED[name], notes)) == RECORDED[name]
    assert notes == []


# -- the result -------------------------------------------------------------------------------------------------------


def test_a_result_is_written_as_recorded() -> None:
    """The recorded packet follows from the last position and the scores."""
    last = message_of(RECORDED["memento_last"])
    assert isinstance(last, RoomMessage)
    assert isinstance(last.data, Memento)
    state = last.data.state
    outcome = state.outcome()
    assert outcome is not None
    reason = HASE_UND_IGEL_2018.texts.regular_reason(outcome)
    result = Result(
        HASE_UND_IGEL_2018.score_definition,
        tuple(Score(Cause.REGULAR, reason, (part, *state.points(seat))) for seat, part in ((0, 2), (1, 0))),
        (0,),
        last.data.names,
        HASE_UND_IGEL_2018.player_details(state),
    )
    assert encode(RoomMessage(last.room_id, result)) == RECORDED["result_goal"]


def test_a_result_is_read() -> None:
    result = data_of(RECORDED["result_left"])
    assert isinstance(result, Result)
    assert [score.cause for score in result.scores] == [Cause.LEFT, Cause.REGULAR]
    assert [score.reason for score in result.scores] == ["Der Spieler hat das Spiel verlassen", ""]
    assert result.scores[1].parts == (2, 0, 68)
    assert result.winners == (1,)
    assert result.names == ("", "Bob")
    assert result.details == (None, Player())


def test_a_result_without_a_winner_needs_no_details() -> None:
    scores = (Score(Cause.REGULAR, "", (0, 3, 60)), Score(Cause.REGULAR, "", (0, 5, 50)))
    result = Result(HASE_UND_IGEL_2018.score_definition, scores, (), ("", ""))
    assert data_of(encode(RoomMessage("r", result))) == result
    with pytest.raises(LocalProtocolError, match="the result shows nothing of its winner: None"):
        encode(RoomMessage("r", structs.replace(result, winners=(1,))))


def test_an_unreadable_result_says_why() -> None:
    text = RECORDED["result_left"].decode()
    data = data_of(text.replace('color="BLUE"', 'color="TWO"'))
    assert isinstance(data, UnreadableData)
    assert data.problem == 'winner color="TWO" gibt es nicht; erlaubt: RED, BLUE'


def test_unknown_children_of_a_result_are_noted() -> None:
    notes: list[str] = []
    text = RECORDED["result_left"].decode().replace("<winner ", "<loser/><winner ")
    assert encode(decode(HASE_UND_IGEL_2018, text, notes)) == RECORDED["result_left"]
    assert notes == ["<loser> in <data>"]


# -- requests ---------------------------------------------------------------------------------------------------------


def test_the_password_is_a_passphrase() -> None:
    assert encode(AuthenticateRequest("p")) == b'\n  <authenticate passphrase="p"/>'
    assert message_of('<authenticate passphrase="p"/>') == AuthenticateRequest("p", "passphrase")
    assert message_of('<authenticate password="p"/>') == AuthenticateRequest("p")


def test_a_preparation_is_read_as_documented() -> None:
    text = (
        '<prepare gameType="swc_2018_hase_und_igel"><slot displayName="p1" canTimeout="false" shouldBePaused="true"/>'
        '<slot displayName="p2"/></prepare>'
    )
    request = message_of(text)
    assert isinstance(request, PrepareRequest)
    assert HASE_UND_IGEL_2018.with_defaults(request) == PrepareRequest(
        "swc_2018_hase_und_igel", (Slot("p1", can_timeout=False, should_be_paused=True), Slot("p2"))
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '<prepare><slot displayName="a" reserved="false"/></prepare>',
            "slot 1: hase-und-igel-2018 has no attribute reserved; it has displayName, canTimeout, shouldBePaused",
        ),
        (
            '<prepare pause="false"><slot displayName="a"/></prepare>',
            "prepare: hase-und-igel-2018 has no attribute pause; it has gameType",
        ),
    ],
)
def test_an_attribute_of_another_season_is_refused_by_name(text: str, problem: str) -> None:
    request = message_of(text)
    assert isinstance(request, PrepareRequest)
    with pytest.raises(RemoteProtocolError) as error:
        HASE_UND_IGEL_2018.with_defaults(request)
    assert (error.value.refusal, str(error.value)) == (Refusal.UNREADABLE_PACKET, problem)


def test_a_paused_game_is_requested_by_its_slots() -> None:
    request = PrepareRequest("g", (Slot("a", can_timeout=False), Slot("b", should_be_paused=True)), is_paused=True)
    assert encode(request) == (
        b'\n  <prepare gameType="g">\n'
        b'    <slot displayName="a" canTimeout="false" shouldBePaused="true"/>\n'
        b'    <slot displayName="b" canTimeout="true" shouldBePaused="true"/>\n'
        b"  </prepare>"
    )
    assert b'shouldBePaused="false"' in encode(PrepareRequest("g", (Slot("a"),)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<timeout roomId="r" slot="0" activate="false"/>', TimeoutRequest("r", 0, is_active=False)),
        ('<timeout slot="1" activate="true"/>', TimeoutRequest(None, 1, is_active=True)),
        ('<step roomId="r" forced="false"/>', StepRequest("r")),
        ('<pause roomId="r" pause="true"/>', PauseRequest("r", is_paused=True)),
    ],
)
def test_a_request_of_an_administrator_is_read_and_written(text: str, message: Message) -> None:
    assert message_of(text) == message
    assert message_of(encode(message)) == message


def test_time_limits_are_switched_for_a_slot() -> None:
    assert encode(TimeoutRequest("r", 0, is_active=True)) == b'\n  <timeout roomId="r" activate="true" slot="0"/>'
    with pytest.raises(RemoteProtocolError, match="im Element timeout fehlt das Attribut slot"):
        message_of('<timeout roomId="r"/>')
    assert HASE_UND_IGEL_2018.texts.unauthenticated(TimeoutRequest("r", 0, is_active=True)).endswith(
        "Request ControlTimeoutRequest(roomId=r, activate=true, slot=0) requires authentication"
    )


@pytest.mark.parametrize("tag", ["joinRoom", "errorpacket", "sc.protocol.requests.JoinGameRequest"])
def test_packets_of_later_seasons_are_unknown(tag: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        message_of(f"<{tag}/>")
    assert error.value.refusal is Refusal.UNKNOWN_PACKET


@pytest.mark.parametrize("kind", [JoinRoomRequest, Paused])
def test_some_messages_have_no_packet(kind: type) -> None:
    assert not HASE_UND_IGEL_2018.has_packet(kind)


# -- events -----------------------------------------------------------------------------------------------------------


def test_a_refused_request_is_explained() -> None:
    error = ErrorPacket("no", AuthenticateRequest("x", "passphrase"))
    packet = encode(error)
    assert packet == (
        b'\n  <error message="no">\n    <originalRequest class="authenticate" passphrase="x"/>\n  </error>'
    )
    assert message_of(packet) == error
    assert encode(ErrorPacket("no")) == b'\n  <error message="no"/>'


def test_welcome_and_joined_game_room() -> None:
    assert [data_of(RECORDED[name]) for name in ("welcome_red", "welcome_blue")] == [
        WelcomeMessage(0),
        WelcomeMessage(1),
    ]
    notice = JoinedGameRoom("51a54749-ff14-4661-ba15-019af17d1cd8", 1, is_existing=False)
    assert encode(notice) == RECORDED["joinedGameRoom_first"]
    assert HASE_UND_IGEL_2018.unnamed == "Unknown"


@pytest.mark.parametrize("tag", ["close", "sc.protocol.CloseConnection", "sc.protocol.responses.CloseConnection"])
def test_every_close_packet_is_read(tag: str) -> None:
    assert message_of(f"<{tag}/>") == CloseConnection()
    assert encode(CloseConnection()) == RECORDED["close"]


def test_an_unknown_player_has_an_empty_score() -> None:
    unknown = message_of(RECORDED["playerScore_unknown"])
    assert unknown == PlayerScore("", 0, ())
    assert encode(PlayerScore("X", 0, ())) == RECORDED["playerScore_unknown"]


# -- whole conversations ----------------------------------------------------------------------------------------------

GAMES: Final = transcripts("hase-und-igel-2018", "*.gz")
CASES: Final = transcripts("hase-und-igel-2018", "cases/*.txt")


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_whole_games_are_written_as_they_were_read(game: Path) -> None:
    recorded = [packet for _, packet in packets(game, is_to_server=False)]
    assert len(recorded) > 100
    for packet in recorded:
        assert encode(message_of(packet)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_what_players_sent_is_written_as_it_was_read(game: Path) -> None:
    sent = [packet for who, packet in packets(game, is_to_server=True) if who != "admin"]
    assert len(sent) > 40
    for packet in sent:
        assert encode(message_of(packet)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_the_rules_lead_from_position_to_position(game: Path) -> None:
    """Playing the recorded moves gives the recorded positions, byte for byte."""
    recorded = [packet for who, packet in packets(game, is_to_server=False) if who == "p1" and MEMENTO in packet]
    assert len(recorded) > 30
    first = message_of(recorded[0])
    assert isinstance(first, RoomMessage)
    assert isinstance(first.data, Memento)
    state = state_of(recorded[0])
    for packet in recorded[1:]:
        move = state_of(packet).last_move
        assert move is not None
        state = state.play(move)
        assert encode(RoomMessage(first.room_id, Memento(state, first.data.names))) == packet
    assert state.outcome() is not None


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_answer_of_a_special_case_is_written_as_it_was_read(case: Path) -> None:
    for _, packet in packets(case, is_to_server=False):
        assert encode(message_of(packet)) == packet
