"""The dialect of Hase und Igel 2018 against the recordings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.game.hase_und_igel import (
    Action,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    FieldType,
    HaseUndIgelMistake,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    Skip,
)
from spielleiter.protocol import messages as m
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialects.hase_und_igel_2018 import (
    HASE_UND_IGEL_2018,
    TEXTS,
    describe_mistake,
)
from spielleiter.protocol.errors import LocalProtocolError, RemoteProtocolError
from tests.game.hase_und_igel.oracle import DATA, parse_move, parse_state, read_lines
from tests.protocol import strategies
from tests.protocol.streams import data_of, decode, samples

RECORDED: Final = samples("hase-und-igel-2018")
NAMES: Final = ("Alice", "Bob")
STATE: Final = parse_state(next(iter(read_lines(DATA / "games.jsonl.gz"))))


def check_verdicts(path: Path) -> int:
    checked = 0
    for line in read_lines(path):
        probes = line.get("probes", [])
        if not probes:
            continue
        state = parse_state(line)
        for text, verdict, *_ in probes:
            move = parse_move(text)
            mistake = state.check(move)
            assert verdict == ("OK" if mistake is None else describe_mistake(mistake, move)), (line, text)
            checked += mistake is not None
    return checked


@pytest.mark.parametrize("name", ["games.jsonl.gz", "special.jsonl.gz"])
def test_verdicts_have_the_texts_of_the_release(name: str) -> None:
    assert check_verdicts(DATA / name) > 50


def error_of(name: str) -> Any:
    return data_of(HASE_UND_IGEL_2018, RECORDED[name])


def test_an_illegal_move_is_refused_as_recorded() -> None:
    refusal = TEXTS.illegal("Alice", HaseUndIgelMistake.ADVANCE, HaseUndIgelMove((Advance(60),)), STATE)
    assert m.ErrorMessage(refusal.error, refusal.shown) == error_of("error_illegal_move")
    assert m.ErrorMessage(refusal.observer_error, refusal.shown) == error_of("error_illegal_move_observer")
    assert refusal.reason == "Vorwärtszug um 60 Felder ist nicht möglich"
    assert refusal.packet is None


def test_a_move_out_of_turn_is_refused_as_recorded() -> None:
    refusal = TEXTS.out_of_turn(0, 0, 1, NAMES, m.MoveData(HaseUndIgelMove((Skip(),))))
    assert m.ErrorMessage(refusal.error, refusal.shown) == error_of("error_not_your_turn")
    assert refusal.reason == "Der Spieler hat das Spiel verlassen"


FIRST: Final = RECORDED["memento_turn0"].decode()
LATER: Final = RECORDED["memento_lastmove_card"].decode()


def move_of(actions: str, notes: list[str] | None = None) -> Any:
    return data_of(HASE_UND_IGEL_2018, f'<room roomId="r"><data class="move">{actions}</data></room>', notes)


def encode(data: m.RoomData) -> bytes:
    return HASE_UND_IGEL_2018.encode(m.RoomMessage("r", data))


def problem_of(data: m.RoomData) -> str:
    assert isinstance(data, m.UnreadableData), data
    return data.problem


# -- moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "move"),
    [
        ('<advance order="0" distance="6"/>', (Advance(6),)),
        (
            '<advance order="0" distance="6"/><card order="1" type="TAKE_OR_DROP_CARROTS" value="-20"/>',
            (Advance(6), Card(CardType.TAKE_OR_DROP_CARROTS, -20, 1)),
        ),
        ('<card type="FALL_BACK" order="1"/><advance distance="2"/>', (Card(CardType.FALL_BACK, 0, 1), Advance(2))),
        ('<exchangeCarrots order="0" value="-10"/>', (ExchangeCarrots(-10),)),
        ('<eatSalad order="0"/>', (EatSalad(),)),
        ("<fallBack/>", (FallBack(),)),
        ('<skip order="3"/>', (Skip(3),)),
        ('<skip order=" -1 "/>', (Skip(-1),)),
        ("", None),
    ],
)
def test_a_move_is_read(actions: str, move: tuple[Action, ...] | None) -> None:
    assert move_of(actions) == m.MoveData(HaseUndIgelMove(move))


def test_unknown_children_of_a_move_are_noted() -> None:
    notes: list[str] = []
    assert move_of('<skip order="0"><why/></skip><jump/><hint><x/></hint>', notes) == m.MoveData(
        HaseUndIgelMove((Skip(),)), ("",)
    )
    assert notes == ["<why> in <skip>", "<jump> in <data>", "<x> in <hint>"]


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        (
            "<jump/>",
            "eine Aktion jump gibt es nicht; erlaubt: advance, card, exchangeCarrots, eatSalad, fallBack, skip",
        ),
        ('<advance order="0"/>', "im Element advance fehlt das Attribut distance (eine ganze Zahl)"),
        ('<advance order="x" distance="1"/>', 'advance order="x" ist keine ganze Zahl'),
        ('<advance distance="99999999999"/>', 'advance distance="99999999999" liegt nicht zwischen'),
        ('<exchangeCarrots order="0"/>', "im Element exchangeCarrots fehlt das Attribut value"),
        ('<card order="0" value="0"/>', "im Element card fehlt das Attribut type; erlaubt: TAKE_OR_DROP_CARROTS,"),
        ('<card type="JOKER"/>', 'card type="JOKER" gibt es nicht; erlaubt: TAKE_OR_DROP_CARROTS, EAT_SALAD,'),
        ('<card type="EAT_SALAD" value="viel"/>', 'card value="viel" ist keine ganze Zahl'),
    ],
)
def test_a_move_that_cannot_be_read_says_why(actions: str, problem: str) -> None:
    assert problem_of(move_of(actions)).startswith(problem)


@pytest.mark.parametrize(
    "data", [m.MoveData(SkipMove()), m.Memento(BLOKUS_2021.new_state(random.Random(0)))], ids=["move", "position"]
)
def test_data_of_another_game_cannot_be_written(data: m.RoomData) -> None:
    with pytest.raises(LocalProtocolError, match=r"not a HaseUndIgel(Move|State): "):
        encode(data)


# -- positions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state", "position", "im Element data fehlt das Element state"),
        ("blue", "green", "im Element state fehlt das Element blue"),
        ("board>", "track>", "im Element state fehlt das Element board"),
        ('turn="1"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
        ('<fields index="7" type="HARE"/>', "", "im Element board fehlt ein Feld"),
        ('<fields index="7" type="HARE"/>', '<fields index="7" type="DOG"/>', 'fields type="DOG" gibt es nicht'),
        ('carrots="42"', "", "im Element red fehlt das Attribut carrots"),
        ('color="BLUE"', 'color="GREEN"', 'blue color="GREEN" gibt es nicht; erlaubt: RED, BLUE'),
        ("<type>EAT_SALAD<", "<type>EAT<", '"EAT" im Element type gibt es nicht'),
        ('class="card"', 'class="joker"', 'lastNonSkipAction class="joker" gibt es nicht; erlaubt: advance, card,'),
        ("<lastMove>", "<lastMove><advance/>", "im Element advance fehlt das Attribut distance"),
    ],
)
def test_an_unreadable_position_says_why(old: str, new: str, problem: str) -> None:
    assert old in LATER
    assert problem_of(data_of(HASE_UND_IGEL_2018, LATER.replace(old, new))).startswith(problem)


ORDERS: Final = st.integers(-3, 9)
ACTIONS: Final[st.SearchStrategy[Action]] = st.one_of(
    st.builds(Advance, strategies.int32s, ORDERS),
    st.builds(Card, st.sampled_from(CardType), strategies.int32s, ORDERS),
    st.builds(ExchangeCarrots, strategies.int32s, ORDERS),
    st.builds(EatSalad, ORDERS),
    st.builds(FallBack, ORDERS),
    st.builds(Skip, ORDERS),
)
MOVES: Final = st.builds(HaseUndIgelMove, st.none() | st.lists(ACTIONS, min_size=1, max_size=4).map(tuple))
PLAYERS: Final = st.builds(
    Player,
    strategies.int32s,
    strategies.int32s,
    strategies.int32s,
    st.lists(st.sampled_from(CardType), max_size=4).map(tuple),
    st.none() | ACTIONS,
)
STATES: Final = st.builds(
    HaseUndIgelState,
    st.builds(Board, st.lists(st.sampled_from(FieldType), max_size=3).map(tuple)),
    st.tuples(PLAYERS, PLAYERS),
    st.integers(0, 60),
    st.none() | MOVES,
)


@settings(max_examples=40)
@given(STATES, strategies.names)
def test_every_written_position_is_read_as_it_was(state: HaseUndIgelState, names: tuple[str, str]) -> None:
    assert data_of(HASE_UND_IGEL_2018, encode(m.Memento(state, names))) == m.Memento(state, names)


# -- the result -------------------------------------------------------------------------------------------------------


def test_a_result_is_written_as_recorded() -> None:
    """The recorded packet follows from the last position and the scores."""
    last = decode(HASE_UND_IGEL_2018, RECORDED["memento_last"])
    assert isinstance(last, m.RoomMessage)
    assert isinstance(last.data, m.Memento)
    state = last.data.state
    outcome = state.outcome()
    assert outcome is not None
    reason = HASE_UND_IGEL_2018.texts.regular_reason(outcome, ("", ""))
    result = m.Result(
        HASE_UND_IGEL_2018.score_definition,
        tuple(m.Score(m.Cause.REGULAR, reason, (part, *state.points(seat))) for seat, part in ((0, 2), (1, 0))),
        (0,),
        last.data.names,
        HASE_UND_IGEL_2018.player_details(state),
    )
    assert HASE_UND_IGEL_2018.encode(m.RoomMessage(last.room_id, result)) == RECORDED["result_goal"]


def test_a_result_without_a_winner_needs_no_details() -> None:
    scores = (m.Score(m.Cause.REGULAR, "", (0, 3, 60)), m.Score(m.Cause.REGULAR, "", (0, 5, 50)))
    result = m.Result(HASE_UND_IGEL_2018.score_definition, scores, (), ("", ""))
    assert data_of(HASE_UND_IGEL_2018, HASE_UND_IGEL_2018.encode(m.RoomMessage("r", result))) == result
    with pytest.raises(LocalProtocolError, match="the result shows nothing of its winner: None"):
        HASE_UND_IGEL_2018.encode(m.RoomMessage("r", structs.replace(result, winners=(1,))))


# -- requests ---------------------------------------------------------------------------------------------------------


def test_the_password_is_a_passphrase() -> None:
    assert HASE_UND_IGEL_2018.encode(m.AuthenticateRequest("p")) == b'\n  <authenticate passphrase="p"/>'
    assert decode(HASE_UND_IGEL_2018, '<authenticate passphrase="p"/>') == m.AuthenticateRequest("p", "passphrase")
    assert decode(HASE_UND_IGEL_2018, '<authenticate password="p"/>') == m.AuthenticateRequest("p")


def test_a_preparation_is_read_as_documented() -> None:
    text = (
        '<prepare gameType="swc_2018_hase_und_igel"><slot displayName="p1" canTimeout="false" shouldBePaused="true"/>'
        '<slot displayName="p2"/></prepare>'
    )
    request = decode(HASE_UND_IGEL_2018, text)
    assert isinstance(request, m.PrepareRequest)
    assert HASE_UND_IGEL_2018.with_defaults(request) == m.PrepareRequest(
        "swc_2018_hase_und_igel", (m.Slot("p1", can_timeout=False, should_be_paused=True), m.Slot("p2"))
    )


def test_a_paused_game_is_requested_by_its_slots() -> None:
    request = m.PrepareRequest(
        "g", (m.Slot("a", can_timeout=False), m.Slot("b", should_be_paused=True)), is_paused=True
    )
    assert HASE_UND_IGEL_2018.encode(request) == (
        b'\n  <prepare gameType="g">\n'
        b'    <slot displayName="a" canTimeout="false" shouldBePaused="true"/>\n'
        b'    <slot displayName="b" canTimeout="true" shouldBePaused="true"/>\n'
        b"  </prepare>"
    )
    assert b'shouldBePaused="false"' in HASE_UND_IGEL_2018.encode(m.PrepareRequest("g", (m.Slot("a"),)))


def test_time_limits_are_switched_for_a_slot() -> None:
    assert (
        HASE_UND_IGEL_2018.encode(m.TimeoutRequest("r", 0, is_active=True))
        == b'\n  <timeout roomId="r" activate="true" slot="0"/>'
    )
    with pytest.raises(RemoteProtocolError, match="im Element timeout fehlt das Attribut slot"):
        decode(HASE_UND_IGEL_2018, '<timeout roomId="r"/>')
    assert HASE_UND_IGEL_2018.texts.unauthenticated(m.TimeoutRequest("r", 0, is_active=True)).endswith(
        "Request ControlTimeoutRequest(roomId=r, activate=true, slot=0) requires authentication"
    )


# -- events -----------------------------------------------------------------------------------------------------------


def test_an_empty_score_means_that_nobody_of_that_name_has_played() -> None:
    connection = Connection(Role.CLIENT, HASE_UND_IGEL_2018)
    connection.receive_data(b"<protocol>" + HASE_UND_IGEL_2018.encode(m.PlayerScore("", 0, ())))
    assert connection.next_event() == m.PlayerScore("", 0, ())


def test_a_refused_request_is_explained() -> None:
    error = m.ErrorPacket("no", m.AuthenticateRequest("x", "passphrase"))
    packet = HASE_UND_IGEL_2018.encode(error)
    assert packet == (
        b'\n  <error message="no">\n    <originalRequest class="authenticate" passphrase="x"/>\n  </error>'
    )
    assert decode(HASE_UND_IGEL_2018, packet) == error
    assert HASE_UND_IGEL_2018.encode(m.ErrorPacket("no")) == b'\n  <error message="no"/>'
