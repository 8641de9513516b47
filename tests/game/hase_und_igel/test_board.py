"""The board, the players and the actions."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.hase_und_igel import (
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMove,
    Skip,
    generate_board,
)

LETTERS = "SHCHC1CC2HLICHCI12CIC2LCIHCCC2IHCH12CICCH2LICCCH12IHCCC2ILCCC1HHG"

GROUPS = [
    (range(1, 10), "HHHCCCC12"),
    (range(12, 15), "CCH"),
    (range(16, 19), "12C"),
    ((20, 21, 23), "CC2"),
    (range(25, 30), "HCCC2"),
    (range(31, 37), "HH12CC"),
    (range(38, 42), "CCH2"),
    (range(44, 50), "CCCH12"),
    (range(51, 56), "HCCC2"),
    (range(58, 64), "HHCCC1"),
]


@given(st.integers())
@settings(max_examples=30)
def test_a_generated_board_has_the_layout(seed: int) -> None:
    board = generate_board(random.Random(seed))
    assert len(board.fields) == 65
    for group, fields in GROUPS:
        assert Counter(board.fields[index].value for index in group) == Counter(fields)
    assert board.is_regular()


def test_every_order_of_a_group_is_generated() -> None:
    rng = random.Random(0)
    seen = Counter(str(generate_board(rng))[16:19] for _ in range(300))
    assert set(seen) == {"12C", "1C2", "21C", "2C1", "C12", "C21"}
    assert min(seen.values()) > 30


def test_letters_and_fields_are_equivalent() -> None:
    board = Board.from_letters(LETTERS)
    assert str(board) == LETTERS
    assert board.is_regular()
    with pytest.raises(ValueError, match="'x' is not a valid FieldType"):
        Board.from_letters("SxG")


@pytest.mark.parametrize(
    "letters",
    [
        "",
        "SG",
        LETTERS + "G",
        LETTERS.replace("L", "C"),
        LETTERS[:12] + "CCC" + LETTERS[15:],
        "G" + LETTERS[1:-1] + "S",
        # Fields of two groups have been exchanged: none is missing, but two are in the wrong group.
        LETTERS[:14] + "1" + "IC2C" + LETTERS[19:],
    ],
)
def test_a_board_that_could_not_be_generated_is_not_regular(letters: str) -> None:
    assert not Board.from_letters(letters).is_regular()


EAT = Card(CardType.EAT_SALAD, order=1)


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (HaseUndIgelMove(None), "null"),
        (HaseUndIgelMove(()), ""),
        (HaseUndIgelMove((Advance(3), EAT)), "advance(3)+card(EAT_SALAD,0)"),
        (HaseUndIgelMove((EAT, Advance(3))), "card(EAT_SALAD,0)@1+advance(3)@0"),
        (HaseUndIgelMove((Advance(-3, order=-1),)), "advance(-3)@-1"),
        (HaseUndIgelMove((Card(CardType.TAKE_OR_DROP_CARROTS, -20),)), "card(TAKE_OR_DROP_CARROTS,-20)"),
        (HaseUndIgelMove((ExchangeCarrots(10),)), "exchangeCarrots(10)"),
        (HaseUndIgelMove((EatSalad(),)), "eatSalad"),
        (HaseUndIgelMove((FallBack(),)), "fallBack"),
        (HaseUndIgelMove((Skip(),)), "skip"),
    ],
)
def test_short_notation(move: HaseUndIgelMove, text: str) -> None:
    assert str(move) == text


def test_actions_are_sorted_by_order_and_equal_ones_keep_their_sequence() -> None:
    move = HaseUndIgelMove((EAT, Skip(), Advance(3), FallBack(order=-1)))
    assert move.in_order == (FallBack(order=-1), Skip(), Advance(3), EAT)
    assert move.first_action == FallBack(order=-1)
