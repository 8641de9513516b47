"""The dialect of Mississippi Queen 2024 against the recordings."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from spielleiter.game.api import Outcome
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.game.mississippi_queen import (
    FAR_AHEAD,
    GOAL,
    PASSENGERS,
    POINTS,
    STUCK,
    TIE,
    Accelerate,
    Advance,
    Direction,
    MississippiQueenMistake,
    MississippiQueenMove,
    MississippiQueenState,
    Push,
    Turn,
)
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialects.mississippi_queen_2024 import MISSISSIPPI_QUEEN_2024 as DIALECT
from spielleiter.protocol.errors import LocalProtocolError, RemoteProtocolError
from tests.protocol.streams import data_of, decode, samples

RECORDED: Final = samples("mississippi-queen-2024")


def state_of(name: str) -> MississippiQueenState:
    state = data_of(DIALECT, RECORDED[name], is_from_server=True).state
    assert isinstance(state, MississippiQueenState)
    return state


def move_of(actions: str, attributes: str = "") -> Any:
    return data_of(
        DIALECT, f'<room roomId="r"><data class="move"><actions{attributes}>{actions}</actions></data></room>'
    )


def test_a_recorded_move_leads_to_the_recorded_position() -> None:
    start, after = state_of("memento_start"), state_of("memento_move")
    assert (start.turn, start.seat_on_turn, start.last_move) == (0, 0, None)
    assert after.last_move == MississippiQueenMove((Accelerate(1), Turn(Direction.RIGHT), Advance(2)))
    assert start.play(after.last_move) == after


def test_refused_moves_have_the_recorded_texts() -> None:
    state = state_of("memento_move")
    illegal = DIALECT.texts.illegal(
        "Zwei", MississippiQueenMistake.PUSH_OFF_THE_RIVER, MississippiQueenMove((Push(Direction.LEFT),)), state
    )
    recorded = data_of(DIALECT, RECORDED["error_illegal_move"], is_from_server=True)
    assert m.ErrorMessage(illegal.error, illegal.shown) == recorded
    empty = DIALECT.texts.illegal("Eins", MississippiQueenMistake.NO_ACTIONS, MississippiQueenMove(()), state)
    assert m.ErrorMessage(empty.error, empty.shown) == data_of(
        DIALECT, RECORDED["error_no_actions"], is_from_server=True
    )
    moved = m.MoveData(MississippiQueenMove((Advance(1),)))
    early = DIALECT.texts.out_of_turn(0, 0, 1, ("Eins", "Zwei"), moved)
    assert m.ErrorMessage(early.error, early.shown) == data_of(
        DIALECT, RECORDED["error_out_of_turn"], is_from_server=True
    )


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(0, GOAL), "Eins hat das Ziel zuerst erreicht."),
        (Outcome(1, FAR_AHEAD), "Zwei liegt 3 Segmente vorne."),
        (Outcome(0, POINTS), "Eins hat mehr Punkte."),
        (Outcome(0, PASSENGERS), "EINS hat mehr Passagiere befördert."),
        (Outcome(0, STUCK), "Zwei kann sich nicht mehr bewegen."),
        (Outcome(None, TIE), "Beide Teams sind gleichauf"),
    ],
)
def test_sentences_about_outcomes(outcome: Outcome, text: str) -> None:
    assert DIALECT.texts.regular_reason(outcome, ("Eins", "Zwei")) == text
    winners = (0, 1) if outcome.winner is None else (outcome.winner,)
    scores = (m.Score(m.Cause.REGULAR, text, (1, 2, 3)), m.Score(m.Cause.REGULAR, text, (1, 2, 3)))
    result = m.Result(DIALECT.score_definition, scores, winners, ("Eins", "Zwei"))
    packet = DIALECT.encode(m.RoomMessage("r", result))
    assert f'regular="{"false" if outcome.reason == STUCK else "true"}"'.encode() in packet
    assert data_of(DIALECT, packet, is_from_server=True) == result


@pytest.mark.parametrize("attributes", ["", ' class="linked-list"', ' class="java.util.ArrayList"'])
def test_a_list_of_actions_may_have_a_class(attributes: str) -> None:
    assert move_of('<advance distance="1"/>', attributes).move == MississippiQueenMove((Advance(1),))


@pytest.mark.parametrize(
    ("actions", "move", "is_incomplete"),
    [
        ("", (), False),
        ('<acceleration acc="-1"/>', (Accelerate(-1),), False),
        ("<acceleration><acc>2</acc></acceleration>", (Accelerate(2),), False),
        ("<acceleration/><advance/>", (Accelerate(0), Advance(0)), False),
        ('<sc.plugin2024.actions.Turn direction="LEFT"/>', (Turn(Direction.LEFT),), False),
        ('<any class="push" direction="UP_LEFT"/>', (Push(Direction.UP_LEFT),), False),
        ("<turn/>", (Turn(None),), True),
        ("<push/>", (Push(None),), True),
        ("<null/>", (None,), True),
    ],
)
def test_actions(actions: str, move: tuple[Any, ...], is_incomplete: bool) -> None:
    data = move_of(actions)
    assert data.move == MississippiQueenMove(move)
    assert (data.problem is not None) is is_incomplete
    written = DIALECT.encode(m.RoomMessage("r", data))
    assert data_of(DIALECT, written).move == data.move


@pytest.mark.parametrize("inner", ["", '<actions class="null"/>'])
def test_a_move_without_actions(inner: str) -> None:
    data = data_of(DIALECT, f'<room roomId="r"><data class="move">{inner}</data></room>')
    assert data.move == MississippiQueenMove(None)
    assert data.problem is not None
    assert DIALECT.encode(m.RoomMessage("r", data)).endswith(b'<data class="move"/>\n  </room>')


@pytest.mark.parametrize(
    ("actions", "attributes", "problem"),
    [
        ("", ' class="tree-set"', 'actions class="tree-set" ist hier nicht erlaubt'),
        ("<jump/>", "", "eine Aktion jump gibt es nicht; erlaubt: acceleration, turn, advance, push"),
        ('<advance distance="x"/>', "", 'advance distance="x" ist keine ganze Zahl'),
        ('<turn direction="NORTH"/>', "", 'turn direction="NORTH" gibt es nicht'),
        ("<advance><far/></advance>", "", "unbekanntes Element <far> in <advance>"),
    ],
)
def test_unreadable_actions(actions: str, attributes: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError, match=problem):
        move_of(actions, attributes)


START: Final = RECORDED["memento_start"].decode()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state", "stat", "im Element data fehlt das Element state"),
        ("board", "bord", "im Element state fehlt das Element board"),
        ('team="TWO"', 'team="ONE"', "im Element state fehlt das Element ship für ONE oder TWO"),
        ('turn="0"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
        ('currentTeam="ONE"', 'currentTeam="RED"', "state currentTeam"),
        ("center", "centre", "im Element segment fehlt das Element center"),
        ("<island/>", "", "das Element segment hat nicht 4 mal 5 Felder"),
        ("<island/>", "<swamp/>", "ein Feld swamp gibt es nicht"),
        ('q="-1" r="-1" s="2"', 'q="-9" r="-1" s="10"', "liegt nicht auf dem Fluss"),
        ("position", "place", "im Element ship fehlt das Element position"),
        ('coal="6"', 'coal="-6"', 'ship coal="-6" ist kleiner als 0'),
        ('speed="1"', 'speed="7"', "ship speed liegt nicht zwischen 1 und 6"),
    ],
)
def test_unreadable_positions(old: str, new: str, problem: str) -> None:
    assert old in START
    data = data_of(DIALECT, START.replace(old, new), is_from_server=True)
    assert isinstance(data, m.UnreadableData)
    assert problem in data.problem


def test_unknown_elements_of_a_position_are_skipped() -> None:
    notes: list[str] = []
    packet = START.replace("</center>", "").replace("<board", "<wind/><board", 1)
    packet = packet.replace("</field-array>", "</field-array><rock/>", 1)
    read = decode(DIALECT, packet, notes, is_from_server=True)
    assert notes == ["<wind> in <state>", "<rock> in <segment>"]
    assert read == decode(DIALECT, START, is_from_server=True)


def test_what_belongs_to_another_game_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="not a MississippiQueenMove"):
        DIALECT.encode(m.RoomMessage("r", m.MoveData(SkipMove())))
    with pytest.raises(LocalProtocolError, match="not a MississippiQueenState"):
        DIALECT.encode(m.RoomMessage("r", m.Memento(BLOKUS_2027.new_state(random.Random(1)))))
    assert DIALECT.texts.describe_move(SkipMove()) == DIALECT.texts.describe_move(None) == "null"


def test_a_move_in_words() -> None:
    actions = (Turn(Direction.UP_LEFT), Push(Direction.RIGHT), Advance(3), None, Turn(None))
    assert DIALECT.texts.describe_move(MississippiQueenMove(actions)) == (
        "Zug[Drehe nach UP_LEFT, Dränge nach RIGHT ab, Gehe 3 Felder vor, null, Drehe nach null]"
    )
