"""Moves, players and positions are read, and written again with the same bytes."""

from __future__ import annotations

import random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.game.hase_und_igel import (
    HASE_UND_IGEL_2018 as GAME,
)
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
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    Skip,
)
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Memento, MoveData, RoomData, RoomMessage, UnreadableData
from tests.protocol import strategies
from tests.protocol.seasons import decode, samples

RECORDED: Final = samples("hase-und-igel-2018")
FIRST: Final = RECORDED["memento_turn0"].decode()
LATER: Final = RECORDED["memento_lastmove_card"].decode()


def data_of(packet: bytes | str, notes: list[str] | None = None) -> RoomData:
    message = decode(HASE_UND_IGEL_2018, packet, notes)
    assert isinstance(message, RoomMessage)
    assert message.data is not None
    return message.data


def move_of(actions: str, notes: list[str] | None = None) -> RoomData:
    return data_of(f'<room roomId="r"><data class="move">{actions}</data></room>', notes)


def encode(data: RoomData) -> bytes:
    return HASE_UND_IGEL_2018.encode(RoomMessage("r", data))


def problem_of(data: RoomData) -> str:
    assert isinstance(data, UnreadableData), data
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
    assert move_of(actions) == MoveData(HaseUndIgelMove(move))


def test_hints_are_kept() -> None:
    data = move_of('<advance order="0" distance="1"/><hint content="Dies ist ein Hint."/><hint/>')
    assert data == MoveData(HaseUndIgelMove((Advance(1),)), ("Dies ist ein Hint.", ""))
    assert encode(data) == (
        b'\n  <room roomId="r">\n    <data class="move">\n      <advance order="0" distance="1"/>\n'
        b'      <hint content="Dies ist ein Hint."/>\n      <hint content=""/>\n    </data>\n  </room>'
    )


def test_a_move_with_only_hints_has_no_action() -> None:
    assert move_of('<hint content="?"/>') == MoveData(HaseUndIgelMove(None), ("?",))


def test_unknown_children_of_a_move_are_noted() -> None:
    notes: list[str] = []
    assert move_of('<skip order="0"><why/></skip><jump/><hint><x/></hint>', notes) == MoveData(
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


def test_a_move_of_another_season_is_named() -> None:
    data = data_of('<room roomId="r"><data class="sc.plugin2027.SkipMove"><color>BLUE</color></data></room>')
    assert problem_of(data) == 'data class="sc.plugin2027.SkipMove" gibt es nicht; erlaubt: move'


@pytest.mark.parametrize(
    "data", [MoveData(SkipMove()), Memento(BLOKUS_2021.new_state(random.Random(0)))], ids=["move", "position"]
)
def test_data_of_another_game_cannot_be_written(data: RoomData) -> None:
    with pytest.raises(LocalProtocolError, match=r"not a (move|position) of Hase und Igel: "):
        encode(data)


# -- positions --------------------------------------------------------------------------------------------------------


def test_a_position_is_read() -> None:
    data = data_of(LATER)
    assert isinstance(data, Memento)
    assert isinstance(data.state, HaseUndIgelState)
    assert data.names == ("Unknown", "Unknown")
    red, blue = data.state.players
    cards = (CardType.TAKE_OR_DROP_CARROTS, CardType.HURRY_AHEAD, CardType.FALL_BACK)
    assert red == Player(8, 42, 4, cards, Card(CardType.EAT_SALAD, 0, 1))
    assert blue == Player()
    assert data.state.turn == 1
    assert data.state.last_move == HaseUndIgelMove((Advance(8), Card(CardType.EAT_SALAD, 0, 1)))
    assert data.state.board.is_regular()


def test_hints_are_written_with_the_last_move() -> None:
    data = data_of(LATER.replace("</lastMove>", '  <hint content="so"/>\n        </lastMove>'))
    assert isinstance(data, Memento)
    assert data.hints == ("so",)
    assert b'value="0"/>\n          <hint content="so"/>\n        </lastMove>' in encode(data)


def test_the_fields_may_come_in_any_order() -> None:
    first, second = '<fields index="0" type="START"/>', '<fields index="1" type="CARROT"/>'
    swapped = FIRST.replace(first, "@").replace(second, first).replace("@", second)
    assert swapped != FIRST
    assert data_of(swapped) == data_of(FIRST)


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
    assert problem_of(data_of(LATER.replace(old, new))).startswith(problem)


def test_unknown_children_of_a_position_are_noted() -> None:
    notes: list[str] = []
    text = LATER.replace("<board>", "<board><a/>").replace("<cards>", "<cards><b/>").replace("<red ", "<c/><red ")
    assert data_of(text, notes) == data_of(LATER)
    assert notes == ["<c> in <state>", "<b> in <cards>", "<b> in <cards>", "<a> in <board>"]


@pytest.mark.parametrize("seed", range(6))
def test_every_written_position_of_a_game_is_read_as_it_was(seed: int) -> None:
    rng = random.Random(seed)
    state = GAME.new_state(rng)
    while state.outcome() is None:
        packet = encode(Memento(state, ("a", "b")))
        assert data_of(packet) == Memento(state, ("a", "b"))
        state = state.play(rng.choice(list(state.generate_legal_moves())))


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


@settings(max_examples=60)
@given(MOVES, st.lists(strategies.texts, max_size=2).map(tuple))
def test_every_written_move_is_read_as_it_was(move: HaseUndIgelMove, hints: tuple[str, ...]) -> None:
    assert data_of(encode(MoveData(move, hints))) == MoveData(move, hints)


@settings(max_examples=40)
@given(STATES, strategies.names)
def test_every_written_position_is_read_as_it_was(state: HaseUndIgelState, names: tuple[str, str]) -> None:
    assert data_of(encode(Memento(state, names))) == Memento(state, names)
