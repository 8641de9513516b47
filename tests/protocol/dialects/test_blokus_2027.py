"""The dialect of Blokus 2027 and its results against the recordings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    Cause,
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
    Result,
    RoomMessage,
    Score,
    ScoreForPlayerRequest,
    Slot,
    Testing,
    TestModeRequest,
    UnreadableData,
)
from tests.protocol import strategies
from tests.protocol.streams import decode, packets, samples, transcripts
from tests.shared import needs_shared

RECORDED: Final = samples("blokus-2027")
REGULAR: Final = Score(Cause.REGULAR, "", (2, 7))
TEMPLATE: Final = RECORDED["result_rule_violation"].decode()


def result_of(packet: bytes | str) -> Result:
    message = decode(BLOKUS_2027, packet)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, Result), message.data
    return message.data


def problem_of(packet: str) -> str:
    message = decode(BLOKUS_2027, packet, is_from_server=True)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, UnreadableData), message.data
    return message.data.problem


def encode(result: Result) -> str:
    return BLOKUS_2027.encode(RoomMessage("r", result)).decode()


@pytest.mark.parametrize(
    ("name", "causes", "reason", "winners"),
    [
        ("result_regular", (Cause.REGULAR, Cause.REGULAR), "", (1,)),
        ("result_draw", (Cause.REGULAR, Cause.REGULAR), "", (0, 1)),
        (
            "result_rule_violation_skip",
            (Cause.RULE_VIOLATION, Cause.REGULAR),
            "Der erste Zug muss einen Stein setzen bei 'Farbe Blau setzt aus'",
            (1,),
        ),
        (
            "result_not_requested",
            (Cause.PROCESS_VIOLATION, Cause.REGULAR),
            "Move from ONE(Alice) has not been requested.",
            (1,),
        ),
        (
            "result_not_connected",
            (Cause.REGULAR, Cause.LEFT),
            "hat das Spiel verlassen: NOT_CONNECTED",
            (0,),
        ),
        ("result_nobody", (Cause.LEFT, Cause.LEFT), "hat das Spiel verlassen: NOT_CONNECTED", ()),
        (
            "result_soft_timeout",
            (Cause.SOFT_TIMEOUT, Cause.REGULAR),
            "hat fuer die Antwort auf die Zugaufforderung laenger als 2 Sekunden gebraucht.",
            (1,),
        ),
        (
            "result_hard_timeout",
            (Cause.HARD_TIMEOUT, Cause.REGULAR),
            "hat innerhalb von 2 Sekunden nach Aufforderung keinen Zug gesendet.",
            (1,),
        ),
    ],
)
def test_a_recorded_verdict_is_read(
    name: str, causes: tuple[Cause, Cause], reason: str, winners: tuple[int, ...]
) -> None:
    result = result_of(RECORDED[name])
    assert tuple(score.cause for score in result.scores) == causes
    assert {score.reason for score in result.scores if score.cause is not Cause.REGULAR} == ({reason} - {""})
    assert result.winners == winners


def test_a_result_contains_names_and_parts() -> None:
    result = result_of(RECORDED["result_regular_names"])
    assert result.names == ("Häschen & Co", "Zwei")
    assert [score.parts for score in result.scores] == [(0, 98), (2, 131)]
    assert result.definition == BLOKUS_2027.score_definition


@pytest.mark.parametrize(
    ("names", "scores", "winners", "verdict"),
    [
        (
            ("", "  "),
            (REGULAR, REGULAR),
            (1,),
            '<winner team="TWO" regular="true" reason="TWO hat am meisten Punkte erzielt."/>',
        ),
        (
            ("", "B"),
            (Score(Cause.SOFT_TIMEOUT, "schlief", (0, 0)), REGULAR),
            (1,),
            '<winner team="TWO" regular="false" reason="ONE schlief"/>',
        ),
        (
            ("A", "B"),
            (REGULAR, Score(Cause.UNKNOWN, "Der Blitz schlug ein", (0, 0))),
            (0,),
            '<winner team="ONE" regular="false" reason="Der Blitz schlug ein"/>',
        ),
        (
            ("A", "B"),
            (Score(Cause.REGULAR, "A hat gewonnen.", (2, 1)), Score(Cause.REGULAR, "A hat gewonnen.", (0, 0))),
            (0,),
            '<winner team="ONE" regular="true" reason="A hat gewonnen."/>',
        ),
        (
            ("A", "B"),
            (Score(Cause.REGULAR, "Remis", (1, 1)), Score(Cause.REGULAR, "Remis", (1, 1))),
            (0, 1),
            '<winner regular="true" reason="Remis"/>',
        ),
    ],
)
def test_a_written_verdict_is_read_as_it_was(
    names: tuple[str, str], scores: tuple[Score, Score], winners: tuple[int, ...], verdict: str
) -> None:
    result = Result(BLOKUS_2027.score_definition, scores, winners, names)
    text = encode(result)
    assert f"</scores>\n      {verdict}\n    </data>" in text
    assert encode(result_of(text)) == text


def test_an_unknown_sentence_is_kept_word_for_word() -> None:
    text = TEMPLATE.replace("Regelverletzung von Alice: Der", "Unheil: Der")
    result = result_of(text)
    assert result.scores[0].cause is Cause.UNKNOWN
    assert result.scores[0].reason.startswith("Unheil: Der erste Zug")
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, text)).decode() == text


@pytest.mark.parametrize(
    ("score", "winners", "verdict"),
    [
        (Score(Cause.REGULAR, "", (1, 0)), (0, 1), '<winner regular="true" reason="Beide Spieler sind gleichauf"/>'),
        (
            Score(Cause.LEFT, "hat das Spiel verlassen: LOST_CONNECTION", (0, 0)),
            (),
            '<winner regular="false" reason="Alle Spieler hat das Spiel verlassen: LOST_CONNECTION"/>',
        ),
        (Score(Cause.REGULAR, "", (1, 0)), (1,), '<winner team="TWO" regular="true" reason="TWO hat am meisten'),
    ],
)
def test_a_result_may_have_the_first_players_score_only(score: Score, winners: tuple[int, ...], verdict: str) -> None:
    result = Result(BLOKUS_2027.score_definition, (score,), winners, ("A", ""))
    text = encode(result)
    assert text.count("<entry>") == 1
    assert verdict in text
    assert result_of(text) == result
    assert [result.score_of(seat) for seat in (0, 1, None)] == [score, None, None]


def test_a_game_without_a_winner_has_no_verdict() -> None:
    result = Result(BLOKUS_2027.score_definition, (REGULAR, REGULAR), (), ("A", "B"))
    text = encode(result)
    assert "<winner" not in text
    assert result_of(text) == result


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("scores>", "points>", "im Element data fehlt das Element scores"),
        ('<player name="Bob" team="TWO"/>', "", "im Element entry fehlt player oder score"),
        ('<player name="Bob" team="TWO"/>', '<player team="RED"/>', 'player team="RED" gibt es nicht; erlaubt: ONE'),
        ('<player name="Bob" team="TWO"/>', '<player team="ONE"/>', "im Element scores steht ONE mehr als einmal"),
        ("entry>", "eintrag>", "im Element scores fehlt ein Spieler"),
        ('<player name="Alice" team="ONE"/>', '<player team="TWO"/>', "im Element scores steht TWO mehr als einmal"),
        ("<part>2</part>", "<part>zwei</part>", '"zwei" im Element part ist keine ganze Zahl'),
        ('<winner team="TWO"', '<winner team="two"', 'winner team="two" gibt es nicht; erlaubt: ONE, TWO'),
    ],
)
def test_an_unreadable_result_says_why(old: str, new: str, problem: str) -> None:
    assert problem_of(TEMPLATE.replace(old, new)).startswith(problem)


def test_unknown_children_are_noted() -> None:
    notes: list[str] = []
    text = (
        TEMPLATE.replace("<entry>", "<entry><a/>").replace("<score>", "<score><b/>").replace("<scores>", "<scores><c/>")
    )
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, text, notes, is_from_server=True)).decode() == TEMPLATE
    assert set(notes) == {"<a> in <entry>", "<b> in <score>", "<c> in <scores>"}


def test_a_result_may_leave_its_definition_out() -> None:
    before, _, rest = TEMPLATE.partition("<definition>")
    assert result_of(before + rest.partition("</definition>")[2]).definition == ()


FAULTS: Final = st.tuples(st.sampled_from([cause for cause in Cause if cause is not Cause.REGULAR]), strategies.words)


@settings(max_examples=150)
@given(strategies.names, FAULTS, st.sampled_from((0, 1, None)))
def test_every_verdict_is_written_as_it_was_read(
    names: tuple[str, str], fault: tuple[Cause, str], faulty: int | None
) -> None:
    bad = Score(*fault, (0, 0))
    scores = (bad, bad) if faulty is None else (bad, REGULAR) if faulty == 0 else (REGULAR, bad)
    winners = () if faulty is None else (1 - faulty,)
    text = encode(Result(BLOKUS_2027.score_definition, scores, winners, names))
    assert encode(result_of(text)) == text


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
