"""Each rule: whether a move is legal, which mistake is reported, and what the move changes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from spielleiter.game.hase_und_igel import (
    GOAL_INDEX,
    Board,
    CardType,
    HaseUndIgelMistake,
    HaseUndIgelState,
    Player,
)
from tests.game.hase_und_igel.oracle import parse_action, parse_move

BOARD = Board.from_letters("SHCHC1CC2HLICHCI12CIC2LCIHCCC2IHCH12CICCH2LICCCH12IHCCC2ILCCC1HHG")
"""Hare fields at 1 3 9 13 25 31 33 40 47 51 62 63."""

ALL = ("TAKE_OR_DROP_CARROTS", "EAT_SALAD", "HURRY_AHEAD", "FALL_BACK")
TAKE, EAT, HURRY, FALL = ALL

Mistake = HaseUndIgelMistake


def at(index: int, carrots: int = 68, salads: int = 5, cards: Sequence[str] = ALL, last: str = "advance(1)") -> Player:
    return Player(index, carrots, salads, tuple(CardType[card] for card in cards), parse_action(last))


def state_of(mover: Player, other: Player) -> HaseUndIgelState:
    """A position with `mover` to move. It is BLUE if the other one is in the goal: RED would not have a move then."""
    if other.index == GOAL_INDEX:
        return HaseUndIgelState(BOARD, (other, mover), turn=13)
    return HaseUndIgelState(BOARD, (mover, other), turn=12)


Case = tuple[Player, Player, str, HaseUndIgelMistake | None]
"""The player to move, the other one, the move, and the mistake that is reported."""

ADVANCES: list[Case] = [
    (Player(), Player(), "advance(2)", None),
    (Player(), Player(), "advance(0)", Mistake.ADVANCE),
    (Player(), Player(), "advance(-1)", Mistake.ADVANCE),
    # The cost: 1 for the first field, 2 for the second, and so on.
    (at(2, 15), at(40), "advance(5)", None),
    (at(2, 14), at(40), "advance(5)", Mistake.ADVANCE),
    (at(2), at(4), "advance(2)", Mistake.ADVANCE),
    (at(2), at(40), "advance(9)", Mistake.ADVANCE),
    (at(2), at(40), "advance(8)", None),
    (at(2, salads=0), at(40), "advance(8)", Mistake.ADVANCE),
    (at(60), at(40), "advance(5)", Mistake.ADVANCE),
    (at(60), at(40), "advance(1000000000000)", Mistake.ADVANCE),
    # The goal: ten carrots at most, no salad left; both players may be there.
    (at(60, 20, 0), at(40), "advance(4)", None),
    (at(60, 20, 0), at(64), "advance(4)", None),
    (at(60, 21, 0), at(40), "advance(4)", Mistake.ADVANCE),
    (at(60, 20, 1), at(40), "advance(4)", Mistake.ADVANCE),
    # On a salad field that the player has just entered, only eating is allowed.
    (at(10), at(40), "advance(2)", Mistake.ADVANCE),
    (at(10, last="card(HURRY_AHEAD,0)"), at(40), "advance(2)", Mistake.ADVANCE),
    (at(10, last="eatSalad"), at(40), "advance(2)", None),
]

HARES: list[Case] = [
    (at(2), at(40), "advance(1)", Mistake.CARD_REQUIRED),
    (at(2, cards=()), at(40), "advance(1)", Mistake.ADVANCE),
    (at(2), at(40), "advance(1)+card(EAT_SALAD,0)", None),
    (at(2), at(40), "advance(1)+card(EAT_SALAD,7)", None),
    (at(2, salads=0), at(40), "advance(1)+card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (at(2, cards=(TAKE,)), at(40), "advance(1)+card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (at(2, salads=0, cards=(EAT,)), at(40), "advance(1)", Mistake.ADVANCE),
    (at(2, 21), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,-20)", None),
    (at(2, 20), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,-20)", Mistake.CARD_TAKE_OR_DROP_CARROTS),
    (at(2, 1), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,20)", None),
    (at(2, 1), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,0)", None),
    (at(2), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,10)", Mistake.CARD_TAKE_OR_DROP_CARROTS),
    # No card can follow one that does not move the player, nor if the move has not led to a hare field.
    (at(2), at(40), "advance(1)+card(TAKE_OR_DROP_CARROTS,0)+card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (at(2), at(40), "advance(2)+card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (at(2), at(11), "advance(1)+card(HURRY_AHEAD,0)+card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    # HURRY_AHEAD moves the player in front of the other one; it must be behind.
    (at(2), at(4), "advance(1)+card(HURRY_AHEAD,0)", None),
    (at(2), Player(), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    (at(2), at(10), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    (at(2), at(9), "advance(1)+card(HURRY_AHEAD,0)", None),
    (at(2, salads=0), at(9), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    (at(2), at(64), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    (at(61, 11, 0), at(63), "advance(1)+card(HURRY_AHEAD,0)", None),
    (at(61, 12, 0), at(63), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    (at(61, 11, 1), at(63), "advance(1)+card(HURRY_AHEAD,0)", Mistake.CARD_HURRY_AHEAD),
    # FALL_BACK moves the player behind the other one; it must be in front, and cannot get to the start.
    (at(12), at(5), "advance(1)+card(FALL_BACK,0)", None),
    (at(12), at(40), "advance(1)+card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
    (at(16, last="fallBack"), at(12), "advance(9)+card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
    (at(12), at(11), "advance(1)+card(FALL_BACK,0)", None),
    (at(12, salads=0), at(11), "advance(1)+card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
    (at(2), at(1), "advance(1)+card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
    (at(2), Player(), "advance(1)+card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
    # The rules look ahead along a chain of cards: the opponent is between the hare fields 31 and 33.
    (at(29), at(32), "advance(2)+card(HURRY_AHEAD,0)", Mistake.CARD_REQUIRED),
    (at(29), at(32), "advance(2)+card(HURRY_AHEAD,0)+card(FALL_BACK,0)+card(EAT_SALAD,0)", None),
    (at(29, cards=(HURRY,)), at(32), "advance(2)+card(HURRY_AHEAD,0)", Mistake.ADVANCE),
    (at(29, cards=(HURRY, FALL)), at(32), "advance(2)", Mistake.ADVANCE),
    (at(29, cards=(HURRY, TAKE)), at(32), "advance(2)+card(HURRY_AHEAD,0)+card(TAKE_OR_DROP_CARROTS,0)", None),
    (at(29, cards=(HURRY,)), at(32), "advance(4)", Mistake.ADVANCE),
    # A turn that begins on a hare field must leave it; a card as the first action is refused.
    (at(3, last="card(EAT_SALAD,0)"), at(40), "card(TAKE_OR_DROP_CARROTS,0)", Mistake.CARD_TAKE_OR_DROP_CARROTS),
    (at(3, last="card(TAKE_OR_DROP_CARROTS,0)"), at(40), "card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (at(2), at(40), "card(EAT_SALAD,0)", Mistake.CARD_EAT_SALAD),
    (Player(), at(40), "card(FALL_BACK,0)", Mistake.CARD_FALL_BACK),
]

OTHERS: list[Case] = [
    (at(2), at(40), "exchangeCarrots(10)", None),
    (at(2, last="exchangeCarrots(10)"), at(40), "exchangeCarrots(10)", None),
    (at(2, 10), at(40), "exchangeCarrots(-10)", None),
    (at(2, 9), at(40), "exchangeCarrots(-10)", Mistake.EXCHANGE_CARROTS),
    (at(2), at(40), "exchangeCarrots(20)", Mistake.EXCHANGE_CARROTS),
    (at(5), at(40), "exchangeCarrots(10)", Mistake.EXCHANGE_CARROTS),
    (at(10), at(40), "eatSalad", None),
    (at(10, last="eatSalad"), at(40), "eatSalad", Mistake.EAT_SALAD),
    (at(10, salads=0), at(40), "eatSalad", Mistake.EAT_SALAD),
    (at(2), at(40), "eatSalad", Mistake.EAT_SALAD),
    (at(16), at(40), "fallBack", None),
    (at(15, last="fallBack"), at(40), "fallBack", None),
    (at(16), at(15), "fallBack", Mistake.FALL_BACK),
    (at(11, last="fallBack"), at(40), "fallBack", Mistake.FALL_BACK),
    (at(22), at(40), "fallBack", Mistake.FALL_BACK),
    (at(22, last="eatSalad"), at(40), "fallBack", None),
    # A skip is legal only if nothing else is.
    (at(2, 0), at(40), "skip", Mistake.SKIP),
    (at(16, 0), at(40), "skip", Mistake.SKIP),
    (at(16, 0), at(15), "skip", None),
    (at(16, 1), at(15), "skip", Mistake.SKIP),
    (at(10, 0), at(40), "skip", Mistake.SKIP),
    (at(11, 0, last="fallBack"), at(40), "skip", None),
]

FORMS: list[Case] = [
    (at(2), at(40), "null", Mistake.NO_ACTION_LIST),
    (at(2), at(40), "", Mistake.NO_ACTIONS),
    (at(2), at(40), "advance(2)@1", Mistake.WRONG_ORDER),
    (at(2), at(40), "advance(2)@-1", Mistake.WRONG_ORDER),
    (at(2), at(40), "card(EAT_SALAD,0)@1+advance(1)@0", None),
    (at(2), at(40), "advance(1)+card(EAT_SALAD,0)@0", Mistake.WRONG_ORDER),
    (at(2), at(40), "advance(1)+card(EAT_SALAD,0)@2", Mistake.WRONG_ORDER),
    (at(2), at(40), "advance(2)+advance(1)", Mistake.ONLY_CARDS_FOLLOW),
    (at(2), at(40), "advance(2)+skip", Mistake.ONLY_CARDS_FOLLOW),
    (at(2), at(40), "advance(2)+skip@7", Mistake.WRONG_ORDER),
    # The first mistake in the order of the actions is reported.
    (at(2), at(40), "advance(9)+skip", Mistake.ADVANCE),
]


@pytest.mark.parametrize(("mover", "other", "text", "mistake"), [*ADVANCES, *HARES, *OTHERS, *FORMS])
def test_check(mover: Player, other: Player, text: str, mistake: HaseUndIgelMistake | None) -> None:
    state = state_of(mover, other)
    move = parse_move(text)
    assert state.check(move) is mistake
    generated = {str(legal) for legal in state.generate_legal_moves()}
    if text.count("@") == 0 and "EAT_SALAD,7" not in text:
        assert (text in generated) is (mistake is None)


@pytest.mark.parametrize("index", [-5, 65, 10**9])
def test_a_player_off_the_board_causes_no_exception(index: int) -> None:
    """Positions may come from a peer, so the rules must accept any values in them."""
    state = state_of(at(index, 10**6), at(40))
    assert list(state.generate_legal_moves())
    for text in ("advance(1)", "fallBack", "eatSalad", "exchangeCarrots(10)", "card(FALL_BACK,0)", "skip"):
        state.check(parse_move(text))
