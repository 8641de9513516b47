"""The dialect of Blokus 2027 and its results against the recordings."""

from __future__ import annotations

from typing import Any, Final

import pytest

from spielleiter.game.api import Mistake
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2027 as GAME
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from tests.protocol.streams import data_of, decode, samples

RECORDED: Final = samples("blokus-2027")
REGULAR: Final = m.Score(m.Cause.REGULAR, "", (2, 7))
TEMPLATE: Final = RECORDED["result_rule_violation"].decode()


def result_of(packet: bytes | str) -> Any:
    return data_of(BLOKUS_2027, packet)


def problem_of(packet: str) -> Any:
    data = data_of(BLOKUS_2027, packet, is_from_server=True)
    return data.problem


def encode(result: m.Result) -> str:
    return BLOKUS_2027.encode(m.RoomMessage("r", result)).decode()


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
            ("A", "B"),
            (REGULAR, m.Score(m.Cause.UNKNOWN, "Der Blitz schlug ein", (0, 0))),
            (0,),
            '<winner team="ONE" regular="false" reason="Der Blitz schlug ein"/>',
        ),
        (
            ("A", "B"),
            (m.Score(m.Cause.REGULAR, "A hat gewonnen.", (2, 1)), m.Score(m.Cause.REGULAR, "A hat gewonnen.", (0, 0))),
            (0,),
            '<winner team="ONE" regular="true" reason="A hat gewonnen."/>',
        ),
        (
            ("A", "B"),
            (m.Score(m.Cause.REGULAR, "Remis", (1, 1)), m.Score(m.Cause.REGULAR, "Remis", (1, 1))),
            (0, 1),
            '<winner regular="true" reason="Remis"/>',
        ),
    ],
)
def test_a_written_verdict_is_read_as_it_was(
    names: tuple[str, str], scores: tuple[m.Score, m.Score], winners: tuple[int, ...], verdict: str
) -> None:
    result = m.Result(BLOKUS_2027.score_definition, scores, winners, names)
    text = encode(result)
    assert f"</scores>\n      {verdict}\n    </data>" in text
    assert encode(result_of(text)) == text


def test_an_unknown_sentence_is_kept_word_for_word() -> None:
    text = TEMPLATE.replace("Regelverletzung von Alice: Der", "Unheil: Der")
    result = result_of(text)
    assert result.scores[0].cause is m.Cause.UNKNOWN
    assert result.scores[0].reason.startswith("Unheil: Der erste Zug")
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, text)).decode() == text


@pytest.mark.parametrize(
    ("score", "winners", "verdict"),
    [
        (
            m.Score(m.Cause.REGULAR, "", (1, 0)),
            (0, 1),
            '<winner regular="true" reason="Beide Spieler sind gleichauf"/>',
        ),
        (
            m.Score(m.Cause.LEFT, "hat das Spiel verlassen: LOST_CONNECTION", (0, 0)),
            (),
            '<winner regular="false" reason="Alle Spieler hat das Spiel verlassen: LOST_CONNECTION"/>',
        ),
        (m.Score(m.Cause.REGULAR, "", (1, 0)), (), ">"),
        (m.Score(m.Cause.REGULAR, "", (1, 0)), (1,), '<winner team="TWO" regular="true" reason="TWO hat am meisten'),
    ],
)
def test_a_result_may_have_the_first_players_score_only(score: m.Score, winners: tuple[int, ...], verdict: str) -> None:
    result = m.Result(BLOKUS_2027.score_definition, (score,), winners, ("A", ""))
    text = encode(result)
    assert text.count("<entry>") == 1
    assert verdict in text
    assert result_of(text) == result
    assert [result.score_of(seat) for seat in (0, 1, None)] == [score, None, None]


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


TEXTS: Final = BLOKUS_2027.texts
NAMES: Final = ("Alice", "Bob")
START: Final = BlokusState(GAME.rules, Shape.PENTO_V)


# -- texts ------------------------------------------------------------------------------------------------------------


def error_of(name: str) -> Any:
    return data_of(BLOKUS_2027, RECORDED[name], is_from_server=True)


@pytest.mark.parametrize(
    ("mistake", "move", "error", "reason"),
    [
        (
            BlokusMistake.NOT_ON_BORDER,
            SetMove(Color.BLUE, Shape.PENTO_V, Rotation.NONE, False, 5, 5),
            "error_illegal_move",
            "Der erste Zug muss an den Rand gesetzt werden bei 'Setze PENTO_V(Farbe Blau)[5,5]'",
        ),
        (
            BlokusMistake.DUPLICATE_SHAPE,
            SetMove(Color.BLUE, Shape.PENTO_Z, Rotation.NONE, False, 10, 10),
            "error_illegal_move_duplicate",
            "Der gewählte Stein wurde bereits gesetzt",
        ),
        (
            BlokusMistake.WRONG_COLOR,
            SkipMove(Color.YELLOW),
            None,
            "Nur eigene Spielfiguren können gezogen werden bei 'Farbe Gelb setzt aus'",
        ),
    ],
)
def test_an_illegal_move_is_refused_as_recorded(
    mistake: Mistake, move: SetMove | SkipMove, error: str | None, reason: str
) -> None:
    refusal = TEXTS.illegal("Alice", mistake, move, START)
    assert (refusal.reason, refusal.observer_error, refusal.packet) == (reason, refusal.error, None)
    if error is not None:
        assert m.ErrorMessage(refusal.error, refusal.shown) == error_of(error)
    if mistake is BlokusMistake.NOT_ON_BORDER:
        assert f"Regelverletzung von Alice: {reason}" in reason_of("result_rule_violation")


def test_a_move_out_of_turn_is_refused_as_recorded() -> None:
    sent = m.MoveData(SkipMove(Color.BLUE))
    refusal = TEXTS.out_of_turn(0, 0, 1, NAMES, sent)
    assert m.ErrorMessage(refusal.error, refusal.shown) == error_of("error_out_of_turn")
    assert f"Missachtung des Spielablaufs von Bob: {refusal.reason}" == reason_of("result_out_of_turn")
    assert TEXTS.out_of_turn(None, 0, 1, NAMES, sent) == refusal, "whose turn it is counts, not who was asked"


def test_a_move_that_was_not_requested_is_refused_as_recorded() -> None:
    refusal = TEXTS.out_of_turn(None, 0, 0, NAMES, m.MoveData(SkipMove(Color.BLUE)))
    assert m.ErrorMessage(refusal.error, refusal.shown) == error_of("error_not_requested")
    assert f"Missachtung des Spielablaufs von Alice: {refusal.reason}" == reason_of("result_not_requested")
    assert refusal.packet is None


def reason_of(name: str) -> str:
    text = RECORDED[name].decode().partition(' regular="')[2].partition(' reason="')[2].partition('"/>')[0]
    return text.replace("&apos;", "'")


@pytest.mark.parametrize(
    ("departure", "name"),
    [
        (m.Departure.LOST_CONNECTION, "result_left_fin"),
        (m.Departure.RECEIVED_DISCONNECT, "result_left_close"),
        (m.Departure.PROTOCOL_ERROR, "result_left_malformed"),
    ],
)
def test_the_reason_of_a_departure_is_as_recorded(departure: m.Departure, name: str) -> None:
    assert reason_of(name) == f"Alice {TEXTS.departure_reason(departure)}"


def test_the_reasons_of_timeouts_are_as_recorded() -> None:
    assert f"Alice {TEXTS.soft_timeout_reason(2)}" == reason_of("result_soft_timeout")
    assert f"Alice {TEXTS.hard_timeout_reason(2)}" == reason_of("result_hard_timeout")
    assert "10 Sekunden" in TEXTS.hard_timeout_reason(10)
    assert "laenger als 2,5 Sekunden" in TEXTS.soft_timeout_reason(2.5)


ROOM: Final = "c6d90406-d09e-409b-ac67-b9baee845f5d"
PREPARE: Final = m.PrepareRequest("swc_2027_blokus", (m.Slot("a"), m.Slot("b", can_timeout=False, is_reserved=False)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("errorpacket_not_member", TEXTS.not_member(ROOM)),
        ("errorpacket_room_full", TEXTS.room_full(ROOM)),
        ("errorpacket_server_packet", TEXTS.server_packet(m.Joined("x"))),
        ("errorpacket_unauthenticated_observe", TEXTS.unauthenticated(m.ObserveRequest("x"))),
        ("errorpacket_unauthenticated_prepare", TEXTS.unauthenticated(PREPARE)),
        ("errorpacket_unknown_reservation", TEXTS.unknown_reservation),
        ("errorpacket_unknown_room", TEXTS.unknown_room("x")),
        ("errorpacket_wrong_password", TEXTS.wrong_password),
    ],
)
def test_requests_are_refused_as_recorded(name: str, text: str) -> None:
    packet = decode(BLOKUS_2027, RECORDED[name])
    assert isinstance(packet, m.ErrorPacket)
    assert packet.message == text


# -- differences to the season before ---------------------------------------------------------------------------------


def test_an_attribute_of_a_slot_of_another_season_is_ignored() -> None:
    request = decode(
        BLOKUS_2027, '<prepare><slot displayName="a"/><slot displayName="b" shouldBePaused="true"/></prepare>'
    )
    assert isinstance(request, m.PrepareRequest)
    slots = BLOKUS_2027.with_defaults(request).slots
    assert slots == tuple(m.Slot(name, can_timeout=False, is_reserved=False) for name in "ab")


def test_a_paused_slot_is_written_as_a_paused_game() -> None:
    request = m.PrepareRequest("g", (m.Slot("a"), m.Slot("b", should_be_paused=True)))
    text = BLOKUS_2027.encode(request).decode()
    assert text.startswith('\n  <prepare gameType="g" pause="true">\n    <slot displayName="a" canTimeout="true"')
    assert "shouldBePaused" not in text
