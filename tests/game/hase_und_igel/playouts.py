"""Random games, and the legal moves of a position found by trying all moves.

Invariants: the same seed gives the same game. `legal_by_trial` does not depend on the move generator.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

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
    (CardType.TAKE_OR_DROP_CARROTS, 20),
    (CardType.TAKE_OR_DROP_CARROTS, 0),
    (CardType.TAKE_OR_DROP_CARROTS, -20),
    (CardType.EAT_SALAD, 0),
    (CardType.HURRY_AHEAD, 0),
    (CardType.FALL_BACK, 0),
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

MOST_ACTIONS: Final = 4


def play_out(seed: int) -> Iterator[tuple[HaseUndIgelState, HaseUndIgelMove, HaseUndIgelState]]:
    """A whole game: each position, the move, and the position after it.

    The type of the first action is drawn before the move. Otherwise nearly every move would be an advance with cards.
    """
    rng = random.Random(seed)
    state = HASE_UND_IGEL_2018.new_state(rng)
    while state.outcome() is None:
        moves = list(state.generate_legal_moves())
        kind = rng.choice(sorted({type(move.first_action).__name__ for move in moves}))
        move = rng.choice([move for move in moves if type(move.first_action).__name__ == kind])
        after = state.play(move)
        yield state, move, after
        state = after


def positions(seed: int) -> Iterator[HaseUndIgelState]:
    return (state for state, _, _ in play_out(seed))


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


def legal_by_every_trial(state: HaseUndIgelState) -> set[HaseUndIgelMove]:
    """The same by brute force: all sequences of up to four actions in which only cards follow the first one."""
    moves = (
        HaseUndIgelMove((first, *(Card(card, value, place) for place, (card, value) in enumerate(cards, start=1))))
        for count in range(MOST_ACTIONS)
        for first in FIRST_ACTIONS
        for cards in itertools.product(CARDS, repeat=count)
    )
    return {move for move in moves if state.check(move) is None}
