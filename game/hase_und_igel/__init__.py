"""Hase und Igel, the game of 2018: a race of two hares that is paid for in carrots."""

from __future__ import annotations

from spielleiter.game.hase_und_igel.action import (
    Action,
    Advance,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMove,
    Skip,
)
from spielleiter.game.hase_und_igel.board import GOAL_INDEX, Board, FieldType, generate_board
from spielleiter.game.hase_und_igel.player import Player, PlayerColor
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake, advance_cost
from spielleiter.game.hase_und_igel.ruleset import HASE_UND_IGEL_2018, HaseUndIgelGame
from spielleiter.game.hase_und_igel.state import GOAL, ROUND_LIMIT_REACHED, HaseUndIgelState

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
