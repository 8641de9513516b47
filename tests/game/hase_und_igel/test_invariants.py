"""In random games, the generated moves are those that are found by trying all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import pytest

from spielleiter.game.hase_und_igel import (
    HASE_UND_IGEL_2018,
    Action,
    Advance,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMistake,
    HaseUndIgelMove,
    HaseUndIgelState,
    Skip,
)

CARDS: Final = (
    *((CardType.TAKE_OR_DROP_CARROTS, value) for value in (20, 0, -20)),
    *((card, 0) for card in (CardType.EAT_SALAD, CardType.HURRY_AHEAD, CardType.FALL_BACK)),
)
FIRST_ACTIONS: Final[tuple[Action, ...]] = (
    *(Advance(distance) for distance in range(1, 65)),
    *(Card(card, value) for card, value in CARDS),
    ExchangeCarrots(10),
    ExchangeCarrots(-10),
    EatSalad(),
    FallBack(),
    Skip(),
)

SKIP: Final = HaseUndIgelMove((Skip(),))


def positions(seed: int) -> Iterator[HaseUndIgelState]:
    """Every position of a game. The type of the first action is drawn first: most moves are advances with cards."""
    rng = random.Random(seed)
    state = HASE_UND_IGEL_2018.new_state(rng)
    while state.outcome() is None:
        yield state
        moves = list(state.generate_legal_moves())
        kind = rng.choice(sorted({type(move.first_action).__name__ for move in moves}))
        state = state.play(rng.choice([move for move in moves if type(move.first_action).__name__ == kind]))


def legal_by_trial(state: HaseUndIgelState) -> set[HaseUndIgelMove]:
    """Every legal move, found by checking one after another; a move is extended only if it requires a card."""
    legal = set()
    trials: list[tuple[Action, ...]] = [(action,) for action in FIRST_ACTIONS]
    while trials:
        actions = trials.pop()
        move = HaseUndIgelMove(actions)
        mistake = state.check(move)
        if mistake is None:
            legal.add(move)
        elif mistake is HaseUndIgelMistake.CARD_REQUIRED:
            trials.extend((*actions, Card(card, value, len(actions))) for card, value in CARDS)
    return legal


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_generated_moves_are_those_found_by_trial(seed: int) -> None:
    for state in positions(seed):
        moves = list(state.generate_legal_moves())
        assert len(moves) == len(set(moves)) > 0
        assert set(moves) == legal_by_trial(state)
        assert moves == [SKIP] or SKIP not in moves
