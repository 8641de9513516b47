"""Hase und Igel, the game of 2018: a race between two players who pay carrots for every step.

The names below are the public interface. `HASE_UND_IGEL_2018` is the game as `spielleiter.game.api.Game` describes it;
it makes positions (`HaseUndIgelState`), in which moves (`HaseUndIgelMove`, a sequence of actions) are checked,
generated and played.

>>> import random
>>> state = HASE_UND_IGEL_2018.new_state(random.Random(1))
>>> print(state.board)
SHH2HCC1CCLICCHI2C1I2CLCICH2CCIHCCH21ICH2CLIH1C2CCICCHC2ILHCHC1CG
>>> for move in state.generate_legal_moves():
...     if len(move.actions) == 1:
...         print(move)
advance(3)
advance(5)
advance(6)
advance(7)
advance(8)
advance(9)
advance(10)
>>> after = state.play(HaseUndIgelMove((Advance(3),)))
>>> after.players[0].index, after.players[0].carrots
(3, 62)
>>> after = state.play(HaseUndIgelMove((Advance(1), Card(CardType.TAKE_OR_DROP_CARROTS, 20, order=1))))
>>> after.players[0].index, after.players[0].carrots
(1, 87)
>>> state.check(HaseUndIgelMove((Skip(),)))
<HaseUndIgelMistake.SKIP: 'something else can be done'>
"""

from __future__ import annotations

from spielleiter.game.hase_und_igel.board import (
    GOAL_INDEX,
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
    Player,
    PlayerColor,
    Skip,
    generate_board,
)
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake, advance_cost
from spielleiter.game.hase_und_igel.state import (
    GOAL,
    HASE_UND_IGEL_2018,
    ROUND_LIMIT_REACHED,
    HaseUndIgelGame,
    HaseUndIgelState,
)

__all__ = [
    "GOAL",
    "GOAL_INDEX",
    "HASE_UND_IGEL_2018",
    "ROUND_LIMIT_REACHED",
    "Action",
    "Advance",
    "Board",
    "Card",
    "CardType",
    "EatSalad",
    "ExchangeCarrots",
    "FallBack",
    "FieldType",
    "HaseUndIgelGame",
    "HaseUndIgelMistake",
    "HaseUndIgelMove",
    "HaseUndIgelState",
    "Player",
    "PlayerColor",
    "Skip",
    "advance_cost",
    "generate_board",
]
