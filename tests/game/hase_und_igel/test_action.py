"""Moves as values: the order of their actions, and their short notation."""

from __future__ import annotations

import pytest

from spielleiter.game.hase_und_igel import (
    Advance,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMove,
    Skip,
)

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


@pytest.mark.parametrize("move", [HaseUndIgelMove(None), HaseUndIgelMove(())])
def test_a_move_without_actions_has_no_first_one(move: HaseUndIgelMove) -> None:
    assert move.in_order == ()
    assert move.first_action is None


def test_moves_differ_if_anything_that_was_sent_differs() -> None:
    assert HaseUndIgelMove(None) != HaseUndIgelMove(())
    assert HaseUndIgelMove((EAT, Advance(3))) != HaseUndIgelMove((Advance(3), EAT))
    assert HaseUndIgelMove((Advance(3, order=1),)) != HaseUndIgelMove((Advance(3),))
    assert len({HaseUndIgelMove((Advance(3),)), HaseUndIgelMove((Advance(3, order=0),))}) == 1
